"""Torch's random generators, device and log output for a run."""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["device", "quiet_libraries", "quiet_loading", "seed_everything"]


def quiet_libraries() -> None:
    """Silence notices that no user of a run can act on.

    Bitsandbytes reports an optional kernel at every import of PEFT, and transformers 5.24 that TRL
    still uses the older name of a setting.
    """
    logging.getLogger("bitsandbytes").setLevel(logging.ERROR)
    older_name = r"`(is_)?gradient_checkpointing` is deprecated"
    warnings.filterwarnings("ignore", older_name, FutureWarning)


def seed_everything(seed: int) -> None:
    """Seed the generators that libraries draw from; the suite itself has no global generator."""
    from transformers import set_seed

    set_seed(seed)


@contextmanager
def quiet_loading() -> Iterator[None]:
    """Hide transformers' progress bar for weights unless standard error is a terminal."""
    from transformers.utils import logging as messages

    drawn = messages.is_progress_bar_enabled() and not sys.stderr.isatty()
    if drawn:
        messages.disable_progress_bar()
    try:
        yield
    finally:
        if drawn:
            messages.enable_progress_bar()


def device() -> str:
    """Return the device of models: the GPU if there is one."""
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"

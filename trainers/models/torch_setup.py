"""How a run uses torch: random generators, threads and device."""

from __future__ import annotations

import logging
import os

__all__ = ["device", "one_thread", "quiet_kernels", "seed_everything"]


def quiet_kernels() -> None:
    """Keep bitsandbytes from telling of an optional kernel whenever PEFT is imported."""
    logging.getLogger("bitsandbytes").setLevel(logging.ERROR)


def seed_everything(seed: int) -> None:
    """Seed the generators that libraries draw from; the suite itself has no global generator."""
    from transformers import set_seed

    set_seed(seed)


def one_thread() -> None:
    """Use one torch thread: on few shared cores, barriers cost small models more than they give."""
    import torch

    if not torch.cuda.is_available():
        torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))


def device() -> str:
    """Return where models live: on the GPU if there is one."""
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"

"""How a run uses torch: random generators, threads, device and precision."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

__all__ = ["device", "one_thread", "seed_everything", "weights_dtype"]


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


def weights_dtype(*, frozen: bool) -> torch.dtype:
    """Return bfloat16 for frozen weights on a GPU, else float32, in which small steps count."""
    import torch

    return torch.bfloat16 if frozen and torch.cuda.is_available() else torch.float32

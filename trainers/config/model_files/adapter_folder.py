"""A folder of adapters in PEFT's format, and their base model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

__all__ = ["base_of", "has_adapters"]

DEPTH = 8
"""Folders above a checkpoint in which its base is looked for."""
SAME_RUN = "warm-start"
"""Name of the only base model that always lies in the run of its adapters."""
LEAST_PARTS = 3
"""Last parts of the path of another base that must agree: ``RUN/checkpoints/merged``."""


def has_adapters(path: Path) -> bool:
    """Return whether a folder holds LoRA adapters, not a whole model."""
    return (path / "adapter_config.json").exists()


def base_of(checkpoint: Path) -> str:
    """Return the path or hub id of the base model of adapters.

    Adapters store the path of the base model that they were trained on. If their run was moved, its
    warm start is looked up inside the run, and a base from another run in the run of the same name
    beside it.
    """
    from peft import PeftConfig

    base = str(PeftConfig.from_pretrained(str(checkpoint)).base_model_name_or_path)
    if not Path(base).is_absolute() or Path(base).exists():
        return base
    return next((str(place) for place in _moved(Path(base), checkpoint.resolve())), base)


def _moved(base: Path, checkpoint: Path) -> Iterator[Path]:
    """Yield models at the places to which a checkpoint's base may have been moved."""
    parts = base.parts[1:]
    for above in checkpoint.parents[:DEPTH]:
        # Only the warm start can be identified by its name alone.
        same_run = base.name == SAME_RUN and above.name == base.parent.name
        least = 1 if same_run else LEAST_PARTS
        for size in range(len(parts), least - 1, -1):
            place = above.joinpath(*parts[-size:])
            if place.is_dir() and not has_adapters(place):
                yield place

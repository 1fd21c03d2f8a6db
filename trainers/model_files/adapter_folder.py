"""A folder of adapters in PEFT's format, and their base model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

__all__ = ["base_of", "has_adapters"]

DEPTH = 8
"""Folders above a checkpoint in which its base is looked for."""
SAME_RUN = "warm-start"
"""Name of the one base that always lies in the run of its adapters."""
LEAST_PARTS = 3
"""Last parts of the path of another base that must agree: ``RUN/checkpoints/merged``."""


def has_adapters(path: Path) -> bool:
    """Return whether a folder holds LoRA adapters, not a whole model."""
    return (path / "adapter_config.json").exists()


def base_of(checkpoint: Path) -> str:
    """Return the path or hub id of the base model of adapters.

    Adapters store the path of the warm start that they were trained on. If the run's folder was
    moved, it is found in the run that holds them; if it was moved with others, in the run of the
    same name beside it.
    """
    from peft import PeftConfig

    base = str(PeftConfig.from_pretrained(str(checkpoint)).base_model_name_or_path)
    if not Path(base).is_absolute() or Path(base).exists():
        return base
    return next((str(place) for place in _moved(Path(base), checkpoint.resolve())), base)


def _moved(base: Path, checkpoint: Path) -> Iterator[Path]:
    """Yield whole models that stand where the base of a checkpoint may have been moved to."""
    parts = base.parts[1:]
    for above in checkpoint.parents[:DEPTH]:
        # By its name alone only the warm start is known to be that of the same run.
        same_run = base.name == SAME_RUN and above.name == base.parent.name
        least = 1 if same_run else LEAST_PARTS
        for size in range(len(parts), least - 1, -1):
            place = above.joinpath(*parts[-size:])
            if place.is_dir() and not has_adapters(place):
                yield place

"""Find the checkpoints of a run, and the one that stands for the run."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from agentgym.errors import ConfigurationError
from trainers.output.roles import WARM_START
from trainers.output.run_folder import MERGED

__all__ = [
    "CONFIG",
    "FINISHED",
    "WEIGHTS",
    "checkpoint_names",
    "chosen_checkpoint",
    "has_weights",
    "run_of",
    "step_of",
]

logger = logging.getLogger(__name__)

CONFIG = "config.yaml"
"""File that identifies the folder of a run."""
FINISHED = WARM_START
"""Name of the checkpoint that a warm start results in."""
DEPTH = 3
"""Maximum depth of a checkpoint below its run: ``checkpoints/rl/checkpoint-6``."""
WEIGHTS = ("model.safetensors", "model.safetensors.index.json", "adapter_model.safetensors")
"""Files of which one identifies a checkpoint."""


def run_of(folder: Path) -> Path | None:
    """Return the run that a folder is, or lies in."""
    folder = folder.resolve()
    above = [folder, *folder.parents[:DEPTH]]
    return next((place for place in above if (place / CONFIG).is_file()), None)


def has_weights(folder: Path) -> bool:
    """Return whether a folder is a checkpoint."""
    return any((folder / name).exists() for name in WEIGHTS)


def checkpoint_names(run: Path) -> list[str]:
    """Return the names of the folders with weights, below ``checkpoints``."""
    root = run / "checkpoints"
    folders = [path for pattern in ("*", "*/*") for path in root.glob(pattern) if has_weights(path)]
    return sorted(path.relative_to(root).as_posix() for path in folders if path.name[0] != ".")


def chosen_checkpoint(run: Path, path: Path, checkpoint: str | None = None) -> Path:
    """Return the checkpoint of the policy to play.

    Args:
        run: The folder of a run.
        path: The same, or the folder of a checkpoint in it.
        checkpoint: Name of the checkpoint; None: the one in the path, or the one that the run
            compared.

    Raises:
        ConfigurationError: There is no such checkpoint, or two are named.
    """
    root = run / "checkpoints"
    if path.resolve() != run:
        if checkpoint is not None:
            raise ConfigurationError(
                f"expected a run's folder with checkpoint={checkpoint!r}, got the checkpoint "
                f"{path}; leave out one of them"
            )
        checkpoint = path.resolve().relative_to(root.resolve()).as_posix()
    names = checkpoint_names(run)
    name = next(_candidates(run, names)) if checkpoint is None else checkpoint
    if name not in names:
        raise ConfigurationError(
            f"expected a checkpoint of {run} among {', '.join(names)}; got {name!r}"
        )
    return root / name


def step_of(run: Path, checkpoint: Path) -> dict[str, Any]:
    """Return the step after which a policy was saved, and whether the run compared it."""
    name = checkpoint.relative_to(run / "checkpoints").as_posix()
    policy = (_json(run / "summary.json").get("chosen")) or {}
    if policy.get("checkpoint") == name:
        return {"step": policy["step"], "compared": True}
    validated = _json(checkpoint / "validation.json")
    return {"step": validated.get("step"), "compared": False}


def _candidates(run: Path, names: list[str]) -> Iterator[str]:
    """Yield the policies that stand for a run, first the one that it compared."""
    summary = _json(run / "summary.json")
    if (run / MERGED).is_file():
        yield "trained"
    if summary:
        yield (summary.get("chosen") or {}).get("checkpoint", "trained")
    logger.warning(
        "the run in %s has not ended: its best policy so far plays, by validation, or else its "
        "newest", run,
    )  # fmt: skip
    yield from (name for name in ("best", "trained") if name in names)
    # Sorted by number: as text, checkpoint-10 would precede checkpoint-9.
    steps = [name for name in names if name.startswith("rl/checkpoint-")]
    yield from sorted(steps, key=lambda name: -int(name.rsplit("-", 1)[1]))
    yield from names


def _json(path: Path) -> dict[str, Any]:
    """Read a file of the run; empty if it is missing or being written."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}

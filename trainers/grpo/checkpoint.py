"""Files of a checkpoint besides TRL's, so that a resumed run continues exactly."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import torch

__all__ = ["Stateful", "load_batch", "load_state", "save_batch", "save_state", "state_of"]

STATE_FILE = "multi_turn_state.json"
"""File of a checkpoint with the state of schedule and task source."""
BATCH_FILE = "multi_turn_batch_{}.pt"
"""File of a checkpoint with the unfinished batch of a process, by rank."""


@runtime_checkable
class Stateful(Protocol):
    """A schedule or task source that is not a function of the step alone."""

    def state_dict(self) -> dict[str, Any]:
        """JSON-safe state."""
        ...

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what ``state_dict`` returned."""
        ...


def state_of(parts: Mapping[str, object]) -> dict[str, Any]:
    """Return the state of all stateful parts, by name."""
    return {name: part.state_dict() for name, part in parts.items() if isinstance(part, Stateful)}


def save_state(folder: Path, parts: Mapping[str, object]) -> None:
    """Write the state of the parts, if any, into a folder, which is created."""
    state = state_of(parts)
    if state:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / STATE_FILE).write_text(json.dumps(state), encoding="utf-8")


def load_state(folder: Path, parts: Mapping[str, object]) -> None:
    """Restore what ``save_state`` wrote; parts without stored state stay unchanged."""
    path = folder / STATE_FILE
    state = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    for name, part in parts.items():
        if name in state and isinstance(part, Stateful):
            part.load_state_dict(state[name])


def save_batch(
    folder: Path, rank: int, step: int, batches: Sequence[Mapping[str, torch.Tensor]]
) -> None:
    """Write the micro-batches that a process still has to train on, and the number already used."""
    folder.mkdir(parents=True, exist_ok=True)
    torch.save({"step": step, "batches": batches}, folder / BATCH_FILE.format(rank))


def load_batch(
    folder: Path, rank: int, device: torch.device
) -> tuple[int, list[dict[str, torch.Tensor]]] | None:
    """Return what ``save_batch`` wrote, or None if the checkpoint was between two batches."""
    path = folder / BATCH_FILE.format(rank)
    if not path.exists():
        return None
    # Checkpoints are exchanged: without this flag a file could run code.
    stored = torch.load(path, map_location=device, weights_only=True)
    return stored["step"], stored["batches"]

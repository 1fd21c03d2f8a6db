"""One household game: what an engine needs to play it, and nothing else."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

TASK_TYPES = (
    "pick_and_place_simple",
    "look_at_obj_in_light",
    "pick_clean_then_place_in_recep",
    "pick_heat_then_place_in_recep",
    "pick_cool_then_place_in_recep",
    "pick_two_obj_and_place",
)
"""The six task types of ALFWorld, by their names in ALFRED."""


@dataclass(frozen=True, slots=True)
class Game:
    """One ALFWorld game, generated or read from a file.

    The PDDL domain and the text grammar are the same for every game, so a game is its problem and
    its sentence.
    """

    id: str
    """Stable name, unique in its task set."""
    task_type: str
    """One of :data:`TASK_TYPES`."""
    scene: str
    """Floor plan of the room, for example ``"FloorPlan305"``."""
    goal: str
    """The instruction, exactly as it stands in the game after ``"Your task is to: "``."""
    problem: str
    """Text of the PDDL problem."""


def digest(text: str) -> str:
    """Return the SHA-256 (hex) of a text, such as a PDDL problem."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

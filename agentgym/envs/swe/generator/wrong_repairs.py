"""Repairs with an error in them: what a search that tries token after token would submit.

A visible suite accepts some of them. Whoever makes held-out questions takes those as further
faults, so that each is told apart, or is known not to be.
"""

from __future__ import annotations

from collections.abc import Mapping

from agentgym.envs.swe.edits import apply_edits
from agentgym.envs.swe.generator.mutation import is_fault, mutations_of

NEAREST, MOST = 16, 6
"""Edits next to the fault that are looked at, and how many of them become repairs."""


def wrong_repairs(
    sound: Mapping[str, bytes | None], faulty: Mapping[str, bytes | None]
) -> list[dict[str, bytes | None]]:
    """Return sound files with another fault next to where the task's own was.

    Args:
        sound: The files of the solution.
        faulty: The same files with the fault of the task.

    Returns:
        Files of each repair that differ from the solution; none where the fault is no edit of a
        Python file.
    """
    found: list[dict[str, bytes | None]] = []
    for path in sorted(faulty):
        right, wrong = sound.get(path), faulty[path]
        if right is None or wrong is None or not path.endswith(".py"):
            continue
        place = _first_difference(right, wrong)
        near = sorted(mutations_of(right, path), key=lambda one: abs(one.edit.start - place))
        made = 0
        for mutation in near[:NEAREST]:
            changed = apply_edits(right, [mutation.edit])
            if made < MOST and changed != wrong and is_fault(right, mutation):
                found.append({path: changed})
                made += 1
    return found


def _first_difference(left: bytes, right: bytes) -> int:
    """Return where two files differ first."""
    size = min(len(left), len(right))
    return next((place for place in range(size) if left[place] != right[place]), size)

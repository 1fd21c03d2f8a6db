"""Faulty repairs: the submissions of a token-by-token search.

A visible suite accepts some of them. The makers of held-out questions treat those as further
faults, so that each is detected, or known not to be. They lie next to the fault of a task, or
anywhere in its library.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from agentgym.envs.swe.edits import apply_edits
from agentgym.envs.swe.making.held_out.building import Mutant
from agentgym.envs.swe.making.mutation import is_fault, mutations_of
from agentgym.envs.swe.parsed_source import ParsedSource
from agentgym.envs.swe.syntax import DEFINITIONS
from agentgym.support.random_stream import Stream

NEAREST, MOST = 16, 6
"""Edits next to the fault that are looked at, and how many of them become repairs."""
MOST_EDITS = 240
"""Edits of a library that are looked at, wherever its tasks have their faults."""


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
    repairs: list[dict[str, bytes | None]] = []
    for path in sorted(faulty):
        sound_text, faulty_text = sound.get(path), faulty[path]
        if sound_text is None or faulty_text is None or not path.endswith(".py"):
            continue
        place = _first_difference(sound_text, faulty_text)
        near = sorted(
            mutations_of(sound_text, path), key=lambda mutation: abs(mutation.edit.start - place)
        )
        count = 0
        for mutation in near[:NEAREST]:
            changed = apply_edits(sound_text, [mutation.edit])
            if count < MOST and changed != faulty_text and is_fault(sound_text, mutation):
                repairs.append({path: changed})
                count += 1
    return repairs


def edits_anywhere(sources: Mapping[str, bytes], stream: Stream) -> list[Mutant]:
    """Return edits of a library, comparisons first where there are more than :data:`MOST_EDITS`.

    Args:
        sources: The Python files of the sound library.
        stream: Where the draws come from.
    """
    mutations = [
        mutation for path in sorted(sources) for mutation in mutations_of(sources[path], path)
    ]
    first = {kind: rank for rank, kind in enumerate(_COMPARING)}
    pool = sorted(
        stream.shuffled(mutations), key=lambda mutation: first.get(mutation.kind, len(first))
    )
    mutants: list[Mutant] = []
    wrecked: dict[str, dict[str, bytes | None]] = {}
    for mutation in pool:
        path = mutation.edit.path
        place = f"{path}::{mutation.place}"
        if len(mutants) < MOST_EDITS and is_fault(sources[path], mutation):
            if place not in wrecked:
                wrecked[place] = {path: _wrecked(sources[path], mutation.place)}
            files = {path: apply_edits(sources[path], [mutation.edit])}
            mutants.append(Mutant(place, files, wrecked[place]))
    return mutants


_COMPARING = ("boundary", "comparison")


def _wrecked(content: bytes, place: str) -> bytes:
    """Return a file whose function only raises; unchanged if that is impossible."""
    source = ParsedSource(content)
    nodes: Sequence[ast.AST] = [source.tree]
    for name in place.split("."):
        nodes = [
            part for node in nodes for part in ast.walk(node)
            if isinstance(part, DEFINITIONS) and part.name == name
        ]  # fmt: skip
    for node in nodes[:1]:
        assert isinstance(node, DEFINITIONS)
        start = source.start(node.body[0])
        head = content[source.line_start(start) : start]
        end = b"; " if head.strip() else b"\n" + head
        return content[:start] + b"raise RuntimeError" + end + content[start:]
    return content


def _first_difference(left: bytes, right: bytes) -> int:
    """Return where two files differ first."""
    size = min(len(left), len(right))
    return next((place for place in range(size) if left[place] != right[place]), size)

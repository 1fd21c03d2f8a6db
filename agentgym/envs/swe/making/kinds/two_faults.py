"""Two faults in different files, each of which some test notices."""

from __future__ import annotations

from collections.abc import Iterator

from agentgym.envs.swe.making.kinds.candidate import Candidate, LibrarySource
from agentgym.envs.swe.making.mutation import Mutation, diverse, is_fault, mutations
from agentgym.support.random_stream import Stream

DRAWN = 12
"""Faults that are drawn for each task that is asked for."""


def two_faults(library: LibrarySource, stream: Stream, count: int) -> Iterator[Candidate]:
    """Yield pairs of faults of one place each; no fault stands in two of them.

    Args:
        library: The library.
        stream: Where the draws come from.
        count: Tasks that are asked for.
    """
    faults = mutations(library.folder, list(library.sources))
    waiting: list[Mutation] = []
    for entry in diverse(faults, stream, count * DRAWN):
        if not is_fault(library.sources[entry.edit.path].content, entry):
            continue
        partner = next(
            (mutation for mutation in waiting if mutation.edit.path != entry.edit.path), None
        )
        if partner is None:
            waiting.append(entry)
            continue
        waiting.remove(partner)
        yield Candidate(
            "two faults",
            f"{partner.place}, {entry.place}",
            ((partner.edit,), (entry.edit,)),
        )

"""One fault at one place: mostly one token of one file."""

from __future__ import annotations

from collections.abc import Iterator

from agentgym.envs.swe.making.kinds.candidate import Candidate, LibrarySource
from agentgym.envs.swe.making.mutation import diverse, mutations
from agentgym.support.random_stream import Stream


def one_token(library: LibrarySource, stream: Stream, count: int) -> Iterator[Candidate]:
    """Yield faults of one place each, different ones first.

    Args:
        library: The library.
        stream: Where the draws come from.
        count: Tasks that are asked for.
    """
    faults = mutations(library.folder, list(library.sources))
    for entry in diverse(faults, stream, count * 20):
        yield Candidate(entry.kind, entry.place, ((entry.edit,),))

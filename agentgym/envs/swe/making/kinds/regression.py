"""A regression between two releases: what worked in the last one, and broke when it was rewritten.

Such a fault is no change of a token: it is what somebody overlooked. So it is not drawn but written
down, as a patch that puts it into the sound later release.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from agentgym.envs.swe.diffs import apply_diff
from agentgym.envs.swe.edits import edits_between
from agentgym.envs.swe.instance import Edit
from agentgym.envs.swe.making.kinds.candidate import Candidate, LibrarySource
from agentgym.errors import DataError
from agentgym.support.random_stream import Stream


def regression(library: LibrarySource, stream: Stream, count: int) -> Iterator[Candidate]:
    """Yield what the patches of a library put into it; nothing where it has none.

    Args:
        library: The library.
        stream: Where the order comes from.
        count: Tasks that are asked for; all patches are yielded.

    Raises:
        DataError: A patch does not fit the library.
    """
    if library.regressions is None:
        return
    release = library.folder.name.rpartition("-")[2]
    for file in stream.shuffled(sorted(library.regressions.glob("*.patch"))):
        edits = _edits(library, file)
        releases = (library.release_before, release)
        yield Candidate("regression", _place(library, edits[0]), (edits,), releases=releases)


def _edits(library: LibrarySource, file: Path) -> tuple[Edit, ...]:
    """Read a patch."""
    sound = {path: source.content for path, source in library.sources.items()}
    patched = apply_diff(file.read_bytes().decode(), sound.get)
    if not patched or not patched.keys() <= sound.keys() or None in patched.values():
        raise DataError(
            f"expected {file} to change Python files of {library.folder.name} in place, got "
            f"{', '.join(sorted(patched)) or 'no file'}"
        )
    edits = (edits_between(path, sound[path], content or b"") for path, content in patched.items())
    return tuple(edit for file_edits in edits for edit in file_edits)


def _place(library: LibrarySource, edit: Edit) -> str:
    """Return the innermost function that an edit lies in; else the file."""
    source = library.sources[edit.path]
    around = [
        (source.end(node) - source.start(node), name)
        for path, name, node in library.functions()
        if path == edit.path and source.start(node) <= edit.start + 1 <= source.end(node)
    ]
    return min(around)[1] if around else edit.path

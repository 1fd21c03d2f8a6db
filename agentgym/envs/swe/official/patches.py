"""Diffs of published sets: the files that they touch, and their reverse."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from agentgym.envs.swe.diffs import NOWHERE, FileDiff, Hunk, read_diff
from agentgym.envs.swe.git_names import write_name

NO_NEWLINE = "\\ No newline at end of file\n"


def touched_files(patch: str) -> tuple[str, ...]:
    """Return the paths that a diff creates, changes or deletes, in its order.

    Raises:
        DataError: The text is not a diff.
    """
    paths = (
        path for diff in read_diff(patch, binary=True) for path in (diff.old_path, diff.new_path)
    )
    return tuple(dict.fromkeys(filter(None, paths)))


def remaining_files(patch: str) -> tuple[str, ...]:
    """Return the paths that a diff creates or changes, without deleted files, in its order.

    Raises:
        DataError: The text is not a diff.
    """
    files = (diff.new_path for diff in read_diff(patch, binary=True))
    return tuple(dict.fromkeys(filter(None, files)))


def reversed_diff(patch: str) -> str:
    """Return the diff that undoes a diff.

    SWE-smith publishes the diff of the fault; its reverse is the reference solution.

    Raises:
        DataError: The text is not a diff, or it changes binary files.
    """
    return "".join(line for diff in read_diff(patch) for line in _reversed(diff))


def _reversed(diff: FileDiff) -> Iterator[str]:
    old_path, new_path = diff.new_path, diff.old_path
    old, new = write_name(f"a/{old_path or new_path}"), write_name(f"b/{new_path or old_path}")
    yield f"diff --git {old} {new}\n"
    if not old_path:
        yield "new file mode 100644\n"
    elif not new_path:
        yield "deleted file mode 100644\n"
    elif old_path != new_path:
        yield f"rename from {write_name(old_path)}\nrename to {write_name(new_path)}\n"
    if diff.hunks:
        yield f"--- {old if old_path else NOWHERE}\n"
        yield f"+++ {new if new_path else NOWHERE}\n"
    shift = 0
    for hunk in diff.hunks:
        start = hunk.start + shift
        yield f"@@ -{_span(start, hunk.new)} +{_span(hunk.start, hunk.old)} @@\n"
        yield from _lines(hunk)
        shift += len(hunk.new) - len(hunk.old)


def _span(start: int, lines: tuple[str, ...]) -> str:
    """Format a range of a hunk header: lines count from 1, an empty range from 0."""
    return f"{start + bool(lines)},{len(lines)}"


def _lines(hunk: Hunk) -> Iterator[str]:
    """Yield the lines of the reversed hunk."""
    matcher = difflib.SequenceMatcher(None, hunk.new, hunk.old, autojunk=False)
    for kind, start, end, new_start, stop in matcher.get_opcodes():
        if kind == "equal":
            yield from (_line(" ", line) for line in hunk.new[start:end])
            continue
        yield from (_line("-", line) for line in hunk.new[start:end])
        yield from (_line("+", line) for line in hunk.old[new_start:stop])


def _line(sign: str, line: str) -> str:
    return f"{sign}{line}" if line.endswith("\n") else f"{sign}{line}\n{NO_NEWLINE}"

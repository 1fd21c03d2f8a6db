"""Unified diffs: read them, and apply them to files in memory, where no ``git`` may be had."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from agentgym.envs.swe.git_names import read_name
from agentgym.errors import DataError
from agentgym.support.text_lines import split_lines

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
NOWHERE = "/dev/null"
"""What stands for the name of a file that is not there."""

Files = Callable[[str], "bytes | None"]
"""Returns the content of a file by its path; None where there is none."""


@dataclass(frozen=True)
class Hunk:
    """Lines of a file and what stands there instead; lines keep their line breaks."""

    start: int
    """First line, from 0; in a new file 0."""
    old: tuple[str, ...]
    """The lines as they are, those around the change included."""
    new: tuple[str, ...]
    """What replaces them."""


@dataclass
class FileDiff:
    """What a diff does to one file."""

    before: str
    """Its path, empty for a new file."""
    after: str
    """Its path afterwards, empty for one that is deleted."""
    hunks: list[Hunk] = field(default_factory=list)
    """The changes, from top to bottom."""


def read_diff(text: str, *, binary: bool = False) -> list[FileDiff]:
    """Read a unified diff, as ``diff -u`` and ``git diff`` write it.

    Args:
        text: The diff.
        binary: Let binary files stand, without hunks.

    Raises:
        DataError: It is none, or it changes binary files.
    """
    diffs: list[FileDiff] = []
    lines = split_lines(text, keep_ends=True)
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        if line.startswith("diff --git "):
            diffs.append(FileDiff(*_git_paths(line)))
        elif line.startswith(("Binary files ", "GIT binary patch")) and not binary:
            raise DataError(f"expected a diff of text files, got {line.strip()!r:.200}")
        elif line.startswith(("rename from ", "copy from ")):
            diffs[-1].before = _name(line.split(" ", 2)[2])
        elif line.startswith(("rename to ", "copy to ")):
            diffs[-1].after = _name(line.split(" ", 2)[2])
        elif line.startswith("new file mode"):
            diffs[-1].before = ""
        elif line.startswith("deleted file mode"):
            diffs[-1].after = ""
        elif line.startswith("--- ") and at < len(lines) and lines[at].startswith("+++ "):
            paths = _path(line[4:]), _path(lines[at][4:])
            at += 1
            if not diffs or diffs[-1].hunks or not _git_opened(diffs[-1], paths):
                diffs.append(FileDiff(*paths))
            else:
                diffs[-1].before, diffs[-1].after = paths
        elif line.startswith("@@ "):
            if not diffs:
                raise DataError(f"expected the name of a file before {line.strip()!r:.80}")
            at = _read_hunk(lines, at - 1, diffs[-1])
    if not diffs and text.strip():
        raise DataError(f"expected a unified diff, got {text[:80]!r}")
    return diffs


def changed_lines(text: str) -> int:
    """Return the number of lines that a diff adds and removes."""
    return sum(
        line[:1] in ("+", "-") and not line.startswith(("+++ ", "--- "))
        for line in split_lines(text)
    )


def apply_diff(text: str, files: Files) -> dict[str, bytes | None]:
    """Apply a unified diff.

    Args:
        text: The diff.
        files: The files that it is applied to.

    Returns:
        The files that it changes with their new content; None for what it deletes.

    Raises:
        DataError: It is no diff, or does not fit the files.
    """
    result: dict[str, bytes | None] = {}
    for diff in read_diff(text):
        content = ""
        if diff.before:
            data = result[diff.before] if diff.before in result else files(diff.before)
            if data is None:
                raise DataError(f"expected the file {diff.before} that the diff changes")
            content = data.decode("utf-8", "surrogateescape")
        changed = apply_hunks(diff, content)
        if diff.before and diff.before != diff.after:
            result[diff.before] = None
        if diff.after:
            result[diff.after] = changed.encode("utf-8", "surrogateescape")
    return result


def apply_hunks(diff: FileDiff, content: str) -> str:
    """Apply what a diff does to the text of one file.

    Where a hunk fits but for its line ends, new lines get those of the file.

    Raises:
        DataError: A hunk fits nowhere.
    """
    lines, shift = split_lines(content, keep_ends=True), 0
    for hunk in diff.hunks:
        at, new = _find(lines, hunk.old, hunk.start + shift), hunk.new
        if at is None:
            at = _find(
                [_bare(line) for line in lines],
                tuple(map(_bare, hunk.old)),
                hunk.start + shift,
            )
            new = () if at is None else _in_line_ends_of(lines[at : at + len(hunk.old)], hunk)
        if at is None:
            raise DataError(
                f"expected line {hunk.start + 1} of {diff.before or diff.after} to be as the diff "
                f"says, {''.join(hunk.old)[:80]!r}: it is made for other files"
            )
        lines[at : at + len(hunk.old)] = new
        shift = at - hunk.start + len(hunk.new) - len(hunk.old)
    return "".join(lines)


def _name(text: str) -> str:
    """Read a name that takes the rest of a line, quoted or not."""
    return read_name(text.rstrip("\r\n"))[0]


def _path(text: str) -> str:
    """Read a path of a header; a time may follow it after a tab."""
    line = text.rstrip("\r\n")
    name = read_name(line)[0] if line.startswith('"') else line.split("\t")[0]
    return "" if name == NOWHERE else _without_prefix(name)


def _without_prefix(name: str) -> str:
    return name[2:] if name.startswith(("a/", "b/")) else name


def _git_paths(line: str) -> tuple[str, str]:
    """Read the two paths of ``diff --git``; they are equal unless a later line says otherwise."""
    rest = line[len("diff --git ") :].rstrip("\r\n")
    old, behind = read_name(rest)
    if behind:  # the first is quoted, and the second may be
        return _without_prefix(old), _path(behind.removeprefix(" "))
    half = len(rest) // 2
    if rest[half : half + 1] == " " and rest[2:half] == rest[half + 3 :]:
        return rest[2:half], rest[half + 3 :]
    old, quote, new = rest.partition(' "b/')
    if quote:  # the second alone is quoted
        return _path(old), _path(f'"b/{new}')
    old, _, new = rest.partition(" b/")
    return _path(old), new


def _git_opened(diff: FileDiff, paths: tuple[str, str]) -> bool:
    """Return whether the last ``diff --git`` line has announced these paths."""
    return bool({diff.before, diff.after} & {path for path in paths if path})


def _read_hunk(lines: list[str], at: int, diff: FileDiff) -> int:
    """Read a hunk into a diff; return the index of the line behind it."""
    head = _HUNK.match(lines[at])
    if head is None:
        raise DataError(f"expected a hunk such as '@@ -1,3 +1,4 @@', got {lines[at]!r:.80}")
    start, size, _, other = (int(number or 1) for number in head.groups("1"))
    size = int(head[2]) if head[2] is not None else 1
    other = int(head[4]) if head[4] is not None else 1
    old: list[str] = []
    new: list[str] = []
    at += 1
    while at < len(lines) and (len(old) < size or len(new) < other or lines[at][0] == "\\"):
        sign, line = lines[at][0], lines[at][1:]
        if sign == "\\":
            previous = lines[at - 1][0]
            for side, signs in ((old, " -"), (new, " +")):
                if previous in signs and side:
                    side[-1] = side[-1].removesuffix("\n")
        elif lines[at] in ("\n", "\r\n"):  # an empty line whose leading space was lost
            old.append(lines[at])
            new.append(lines[at])
        elif sign in " -+":
            if sign != "+":
                old.append(line)
            if sign != "-":
                new.append(line)
        else:
            break
        at += 1
    if (len(old), len(new)) != (size, other):
        raise DataError(
            f"expected a hunk of {size} old and {other} new lines in {diff.after or diff.before}, "
            f"got {len(old)} and {len(new)}"
        )
    diff.hunks.append(Hunk(max(0, start - 1) if size else start, tuple(old), tuple(new)))
    return at


def _find(lines: list[str], old: tuple[str, ...], expected: int) -> int | None:
    """Return where the old lines of a hunk stand, as near as possible to where they should."""
    for at in _near(expected, len(lines) - len(old)):
        if tuple(lines[at : at + len(old)]) == old:
            return at
    return None


def _bare(line: str) -> str:
    """Return a line that ends, if it ends, with a line feed alone."""
    return line.removesuffix("\n").removesuffix("\r") + "\n" * line.endswith("\n")


def _in_line_ends_of(lines: list[str], hunk: Hunk) -> tuple[str, ...]:
    """Return the new lines of a hunk with the line ends of the lines that it replaces."""
    old, new = list(map(_bare, hunk.old)), list(map(_bare, hunk.new))
    end = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
    replacement: list[str] = []
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for kind, start, stop, first, last in matcher.get_opcodes():
        if kind == "equal":
            replacement += lines[start:stop]
        else:
            replacement += [
                line[:-1] + end if line.endswith("\n") else line for line in new[first:last]
            ]
    return tuple(replacement)


def _near(middle: int, last: int) -> Iterator[int]:
    """Yield 0 to ``last``, the nearest to ``middle`` first."""
    yield from sorted(range(last + 1), key=lambda at: (abs(at - middle), at))

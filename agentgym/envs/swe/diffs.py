"""Parse unified diffs and apply them to files in memory, because ``git`` may not be installed."""

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
"""The name that diffs give to the missing side of a new or deleted file."""

Files = Callable[[str], "bytes | None"]
"""Returns the content of the file at a path, or None if there is no such file."""


@dataclass(frozen=True)
class Hunk:
    """Consecutive lines of a file and their replacement; lines include their line breaks."""

    start: int
    """Index of the first line, from 0; 0 in a new file."""
    old: tuple[str, ...]
    """The lines before the change, including context lines."""
    new: tuple[str, ...]
    """The lines after the change, including context lines."""


@dataclass
class FileDiff:
    """The part of a diff that changes one file."""

    old_path: str
    """Path before the change; empty for a new file."""
    new_path: str
    """Path after the change; empty for a deleted file."""
    hunks: list[Hunk] = field(default_factory=list)
    """The changes, in the order of the file."""


def read_diff(text: str, *, binary: bool = False) -> list[FileDiff]:
    """Parse a unified diff, as ``diff -u`` and ``git diff`` write it.

    Args:
        text: The diff.
        binary: Accept binary files; they get no hunks.

    Raises:
        DataError: The text is not a unified diff, or it changes binary files and ``binary`` is
            false.
    """
    diffs: list[FileDiff] = []
    lines = split_lines(text, keep_ends=True)
    index = 0
    while index < len(lines):
        line = lines[index]
        index += 1
        if line.startswith("diff --git "):
            diffs.append(FileDiff(*_git_paths(line)))
        elif line.startswith(("Binary files ", "GIT binary patch")) and not binary:
            raise DataError(f"expected a diff of text files, got {line.strip()!r:.200}")
        elif line.startswith(("rename from ", "copy from ")):
            diffs[-1].old_path = _name(line.split(" ", 2)[2])
        elif line.startswith(("rename to ", "copy to ")):
            diffs[-1].new_path = _name(line.split(" ", 2)[2])
        elif line.startswith("new file mode"):
            diffs[-1].old_path = ""
        elif line.startswith("deleted file mode"):
            diffs[-1].new_path = ""
        elif line.startswith("--- ") and index < len(lines) and lines[index].startswith("+++ "):
            paths = _path(line[4:]), _path(lines[index][4:])
            index += 1
            if not diffs or diffs[-1].hunks or not _git_opened(diffs[-1], paths):
                diffs.append(FileDiff(*paths))
            else:
                diffs[-1].old_path, diffs[-1].new_path = paths
        elif line.startswith("@@ "):
            if not diffs:
                raise DataError(f"expected the name of a file before {line.strip()!r:.80}")
            index = _read_hunk(lines, index - 1, diffs[-1])
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
        files: Returns the current content of a file.

    Returns:
        Path of every changed file -> its new content, or None if it is deleted.

    Raises:
        DataError: The text is not a diff, or it does not apply to the files.
    """
    result: dict[str, bytes | None] = {}
    for diff in read_diff(text):
        content = ""
        if diff.old_path:
            data = result[diff.old_path] if diff.old_path in result else files(diff.old_path)
            if data is None:
                raise DataError(f"expected the file {diff.old_path} that the diff changes")
            content = data.decode("utf-8", "surrogateescape")
        changed = apply_hunks(diff, content)
        if diff.old_path and diff.old_path != diff.new_path:
            result[diff.old_path] = None
        if diff.new_path:
            result[diff.new_path] = changed.encode("utf-8", "surrogateescape")
    return result


def apply_hunks(diff: FileDiff, content: str) -> str:
    """Apply the hunks of one file to its text.

    A hunk that matches except for line endings is applied with the file's line endings.

    Raises:
        DataError: A hunk does not match anywhere.
    """
    lines, shift = split_lines(content, keep_ends=True), 0
    for hunk in diff.hunks:
        index, new = _find(lines, hunk.old, hunk.start + shift), hunk.new
        if index is None:
            index = _find(
                [_bare(line) for line in lines],
                tuple(map(_bare, hunk.old)),
                hunk.start + shift,
            )
            new = (
                ()
                if index is None
                else _in_line_ends_of(lines[index : index + len(hunk.old)], hunk)
            )
        if index is None:
            raise DataError(
                f"expected line {hunk.start + 1} of {diff.old_path or diff.new_path} to be as the "
                f"diff says, {''.join(hunk.old)[:80]!r}: it is made for other files"
            )
        lines[index : index + len(hunk.old)] = new
        shift = index - hunk.start + len(hunk.new) - len(hunk.old)
    return "".join(lines)


def _name(text: str) -> str:
    """Parse a name, quoted or not, that takes the rest of a line."""
    return read_name(text.rstrip("\r\n"))[0]


def _path(text: str) -> str:
    """Parse the path of a ``---`` or ``+++`` line; ``diff -u`` adds a tab and a timestamp."""
    line = text.rstrip("\r\n")
    name = read_name(line)[0] if line.startswith('"') else line.split("\t")[0]
    return "" if name == NOWHERE else _without_prefix(name)


def _without_prefix(name: str) -> str:
    return name[2:] if name.startswith(("a/", "b/")) else name


def _git_paths(line: str) -> tuple[str, str]:
    """Parse the two paths of ``diff --git``.

    Unquoted names may contain spaces, so the line alone is ambiguous. The paths are equal unless
    the file is renamed or copied, and then a later line names both.
    """
    paths_text = line[len("diff --git ") :].rstrip("\r\n")
    old, behind = read_name(paths_text)
    if behind:  # the first is quoted, and the second may be
        return _without_prefix(old), _path(behind.removeprefix(" "))
    half = len(paths_text) // 2
    if paths_text[half : half + 1] == " " and paths_text[2:half] == paths_text[half + 3 :]:
        return paths_text[2:half], paths_text[half + 3 :]
    old, quote, new = paths_text.partition(' "b/')
    if quote:  # the second alone is quoted
        return _path(old), _path(f'"b/{new}')
    old, _, new = paths_text.partition(" b/")
    return _path(old), new


def _git_opened(diff: FileDiff, paths: tuple[str, str]) -> bool:
    """Return whether these paths belong to the last ``diff --git`` line."""
    return bool({diff.old_path, diff.new_path} & {path for path in paths if path})


def _read_hunk(lines: list[str], index: int, diff: FileDiff) -> int:
    """Parse a hunk, append it to ``diff``, and return the index of the line after it."""
    head = _HUNK.match(lines[index])
    if head is None:
        raise DataError(f"expected a hunk such as '@@ -1,3 +1,4 @@', got {lines[index]!r:.80}")
    start, size, _, new_size = (int(number or 1) for number in head.groups("1"))
    size = int(head[2]) if head[2] is not None else 1
    new_size = int(head[4]) if head[4] is not None else 1
    old: list[str] = []
    new: list[str] = []
    index += 1
    while index < len(lines) and (
        len(old) < size or len(new) < new_size or lines[index][0] == "\\"
    ):
        sign, line = lines[index][0], lines[index][1:]
        if sign == "\\":  # "\ No newline at end of file" refers to the line before it
            previous = lines[index - 1][0]
            for side, signs in ((old, " -"), (new, " +")):
                if previous in signs and side:
                    side[-1] = side[-1].removesuffix("\n")
        elif lines[index] in ("\n", "\r\n"):  # editors strip the space of an empty context line
            old.append(lines[index])
            new.append(lines[index])
        elif sign in " -+":
            if sign != "+":
                old.append(line)
            if sign != "-":
                new.append(line)
        else:
            break
        index += 1
    if (len(old), len(new)) != (size, new_size):
        raise DataError(
            f"expected a hunk of {size} old and {new_size} new lines in "
            f"{diff.new_path or diff.old_path}, got {len(old)} and {len(new)}"
        )
    diff.hunks.append(Hunk(max(0, start - 1) if size else start, tuple(old), tuple(new)))
    return index


def _find(lines: list[str], old: tuple[str, ...], expected: int) -> int | None:
    """Return the index nearest to ``expected`` at which the old lines occur, or None."""
    for start in _near(expected, len(lines) - len(old)):
        if tuple(lines[start : start + len(old)]) == old:
            return start
    return None


def _bare(line: str) -> str:
    r"""Return a line with ``\r\n`` replaced by ``\n``."""
    return line.removesuffix("\n").removesuffix("\r") + "\n" * line.endswith("\n")


def _in_line_ends_of(lines: list[str], hunk: Hunk) -> tuple[str, ...]:
    """Return the new lines of a hunk with the line endings of the lines that it replaces.

    Lines that the hunk does not change stay as they are in the file, even if its line endings are
    mixed; hence the comparison line by line.
    """
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
    """Yield the integers from 0 to ``last``, those nearest to ``middle`` first."""
    yield from sorted(range(last + 1), key=lambda start: (abs(start - middle), start))

"""Reading diffs."""

from __future__ import annotations

import re

from hunkwise.model import Hunk, Line, Patch, split_lines

HEADER = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@.*\n?")


class PatchSyntaxError(ValueError):
    """The text is no unified diff."""


def parse_patch(text: str) -> list[Patch]:
    """Read a unified diff of one or more files; lines before and between files are passed over.

    Raises:
        PatchSyntaxError: A hunk is damaged or stands before the names of its file.
    """
    lines = split_lines(text)
    patches: list[Patch] = []
    position = 0
    while position < len(lines):
        line = lines[position]
        following = lines[position + 1] if position + 1 < len(lines) else ""
        if line.startswith("--- ") and following.startswith("+++ "):
            patches.append(Patch(_name(line), _name(following)))
            position += 2
        elif line.startswith("@@ "):
            if not patches:
                raise PatchSyntaxError(f"line {position + 1}: a hunk before the names of its file")
            hunk, position = _hunk(lines, position)
            patches[-1].hunks.append(hunk)
        else:
            position += 1
    return patches


def _name(line: str) -> str:
    """The name in a line of the head, without the time that may follow a tab."""
    return line[4:].rstrip("\n").split("\t")[0]


def _hunk(lines: list[str], position: int) -> tuple[Hunk, int]:
    """Read a hunk from its header; return it and the position behind it."""
    match = HEADER.fullmatch(lines[position])
    if match is None:
        raise PatchSyntaxError(f"line {position + 1}: cannot read {lines[position].strip()!r}")
    old_left = int(match[2] or 1)
    new_left = int(match[4] or 1)
    body: list[Line] = []
    position += 1
    while position < len(lines):
        line = lines[position]
        if line.startswith("\\") and body:
            body[-1] = Line(body[-1].mark, body[-1].text.removesuffix("\n"))
        elif old_left == 0 and new_left == 0:
            break
        else:
            mark, content = (" ", line) if line == "\n" else (line[0], line[1:])
            if mark not in " -+":
                raise PatchSyntaxError(f"line {position + 1}: a hunk has no line {line.strip()!r}")
            body.append(Line(mark, content))
            old_left -= mark != "+"
            new_left -= mark != "-"
        position += 1
    if old_left or new_left:
        raise PatchSyntaxError(f"the hunk {match[0].strip()!r} has another number of lines")
    return Hunk(int(match[1]), int(match[3]), tuple(body)), position

"""Edits by byte offsets: apply them to files, compute them, and write unified diffs."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence

from agentgym.envs.swe.diffs import NOWHERE
from agentgym.envs.swe.git_names import write_name
from agentgym.envs.swe.instance import Edit
from agentgym.errors import DataError
from agentgym.support.text_lines import split_lines


def apply_edits(content: bytes, edits: Iterable[Edit]) -> bytes:
    """Return ``content`` with the edits applied.

    Args:
        content: The file.
        edits: Edits of this file, in any order; all offsets refer to ``content``.

    Raises:
        DataError: ``old`` is not at the offset of an edit (the edit was made for other content), or
            edits overlap.
    """
    pieces: list[bytes] = []
    end = 0
    for edit in sorted(edits, key=lambda entry: entry.start):
        old = edit.old.encode()
        if edit.start < end or content[edit.start : edit.start + len(old)] != old:
            raise DataError(
                f"expected {edit.old!r:.80} at byte {edit.start} of {edit.path}; the file is "
                "another one than the edit was made for"
            )
        pieces += content[end : edit.start], edit.new.encode()
        end = edit.start + len(old)
    return b"".join((*pieces, content[end:]))


def edited_files(read_file: Callable[[str], bytes], edits: Sequence[Edit]) -> dict[str, bytes]:
    """Return the new content of every edited file, by path.

    Args:
        read_file: Returns the content of the file at a path, without the edits.
        edits: Edits of any number of files.

    Raises:
        DataError: An edit does not match its file.
    """
    return {
        path: apply_edits(read_file(path), [edit for edit in edits if edit.path == path])
        for path in sorted({edit.path for edit in edits})
    }


def edits_between(path: str, old_content: bytes, new_content: bytes) -> tuple[Edit, ...]:
    """Return the edits, by whole lines, that turn ``old_content`` into ``new_content``."""
    old, new = (split_lines(side.decode(), keep_ends=True) for side in (old_content, new_content))
    starts = [0]
    for line in old:
        starts.append(starts[-1] + len(line.encode()))
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    return tuple(
        Edit(path, starts[i], "".join(old[i:j]), "".join(new[k:m]))
        for tag, i, j, k, m in matcher.get_opcodes()
        if tag != "equal"
    )


def write_diff(old_files: Mapping[str, bytes], new_files: Mapping[str, bytes]) -> str:
    """Return the unified diff, as git writes it, that turns one set of files into another.

    Args:
        old_files: Content by path; a path that is not in ``new_files`` is deleted.
        new_files: Content by path; a path that is not in ``old_files`` is created.

    Returns:
        The diff, without files that are not UTF-8 text.
    """
    parts = []
    for path in sorted({*old_files, *new_files}):
        old, new = old_files.get(path), new_files.get(path)
        if old != new:
            parts += _file_diff(path, old, new)
    return "".join(parts)


def _file_diff(path: str, old: bytes | None, new: bytes | None) -> list[str]:
    """Return the lines of the diff of one file."""
    try:
        old_lines, new_lines = (
            split_lines((side or b"").decode(), keep_ends=True) for side in (old, new)
        )
    except UnicodeDecodeError:
        return []
    names = write_name(f"a/{path}"), write_name(f"b/{path}")
    lines = [f"diff --git {names[0]} {names[1]}\n"]
    if old is None:
        lines.append("new file mode 100644\n")
    if new is None:
        lines.append("deleted file mode 100644\n")
    names = NOWHERE if old is None else names[0], NOWHERE if new is None else names[1]
    for line in difflib.unified_diff(old_lines, new_lines, *names):
        has_line_end = line.endswith("\n")
        lines.append(line if has_line_end else line + "\n\\ No newline at end of file\n")
    return lines

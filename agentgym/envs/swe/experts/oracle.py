"""The expert that applies the reference solution through the actions."""

from __future__ import annotations

import base64
import posixpath
import shlex
from collections.abc import Iterator, Mapping, Sequence

from agentgym.envs.swe.diffs import FileDiff, Hunk, apply_diff, apply_hunks, read_diff
from agentgym.envs.swe.engine.commands import (
    BASH,
    EDIT,
    SUBMIT,
    CommandFault,
    SWECommand,
    only_command,
)
from agentgym.envs.swe.engine.session import SWEState
from agentgym.envs.swe.experts.base import Expert
from agentgym.envs.swe.instance import FolderSource, Instance
from agentgym.envs.swe.trees import contents
from agentgym.support.caching import BoundedCache

LONGEST = 24_000
"""Maximum length of a command, in characters: less than that of an action."""
_HEREDOC = "AGENTGYM_PATCH"

Steps = Sequence[tuple[SWECommand, "bytes | None"]]
"""Commands that change a file, each with the file's content after it; None: deleted."""


class OracleExpert(Expert):
    """Applies the reference solution hunk by hunk with ``edit``, then submits.

    A repository in an image is patched with one ``git apply``. A file that the policy has changed
    in another way is rewritten as a whole.
    """

    def __init__(self) -> None:
        self._steps: BoundedCache[str, Mapping[str, Steps]] = BoundedCache(4096)

    def plan(self, instance: Instance, state: SWEState) -> Sequence[SWECommand] | None:
        """Return the remaining commands, including the submission."""
        submit = SWECommand(SUBMIT)
        if not isinstance(instance.source, FolderSource):
            patch = _git_apply(instance.patch)
            is_done = patch.write() in state.commands
            return [submit] if is_done else [patch, submit]
        remaining: list[SWECommand] = []
        steps, sources = self._of(instance), contents(instance.source)
        for path in sorted({*steps, *state.edits.counted}):
            file_steps = steps.get(path, ())
            content = state.edits.counted.get(path, sources.get(path))
            commands = _remaining(path, file_steps, sources.get(path), content)
            if commands is None:
                return None
            remaining += commands
        return [*remaining, submit]

    def _of(self, instance: Instance) -> Mapping[str, Steps]:
        """Return the steps of an instance, by file."""
        # The id alone is not a key: instances of other sets may have the same.
        steps = self._steps.get(instance.id + instance.patch)
        if steps is None:
            steps = self._steps.put(instance.id + instance.patch, dict(_steps(instance)))
        return steps


def _remaining(
    path: str, steps: Steps, original: bytes | None, current: bytes | None
) -> list[SWECommand] | None:
    """Return the remaining commands for one file; None if it would have to be too long."""
    states = [original, *(content for _, content in steps)]
    if current in states:
        done_count = len(states) - 1 - states[::-1].index(current)
        return [command for command, _ in steps[done_count:]]
    command = rewritten(path, states[-1])
    return None if command is None else [command]


def _steps(instance: Instance) -> Iterator[tuple[str, Steps]]:
    """Yield the path and steps of each file of the solution."""
    assert isinstance(instance.source, FolderSource)
    sources = contents(instance.source)
    patched = apply_diff(instance.patch, sources.get)
    diffs = {
        diff.new_path: diff for diff in read_diff(instance.patch) if diff.old_path == diff.new_path
    }
    for path, content in patched.items():
        file_steps = None
        if path in diffs and path in sources:
            file_steps = _edits(diffs[path], sources[path])
        elif content and path not in sources:
            file_steps = _create_file(path, content)
        if file_steps is None:
            command = rewritten(path, content)
            if command is None:
                continue  # Hardly source at this size; if it matters, the tests will fail.
            file_steps = [(command, content)]
        yield path, file_steps


def _edits(diff: FileDiff, content: bytes) -> Steps | None:
    """Convert the hunks of a diff to edits; None if a piece does not occur exactly once."""
    steps: list[tuple[SWECommand, bytes | None]] = []
    shift = 0
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return None
    for hunk in diff.hunks:
        moved = Hunk(hunk.start + shift, hunk.old, hunk.new)
        old, new = _narrowed(moved, text)
        command = SWECommand(EDIT, diff.new_path, old, new)
        if not old or text.count(old) != 1 or not _writable(command):
            return None
        following = text.replace(old, new)
        if following != apply_hunks(FileDiff(diff.old_path, diff.new_path, [moved]), text):
            return None
        steps.append((command, following.encode()))
        text, shift = following, shift + len(hunk.new) - len(hunk.old)
    return steps


def _narrowed(hunk: Hunk, text: str) -> tuple[str, str]:
    """Reduce a hunk to the changed lines and the fewest context lines that make them unique.

    The trailing line break of both pieces is dropped, as a person would.
    """
    old, new = list(hunk.old), list(hunk.new)
    head = tail = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    for around in range(max(head, tail) + 1):
        first, last = max(0, head - around), max(0, tail - around)
        pieces = ["".join(side[first : len(side) - last]) for side in (old, new)]
        if all(piece.endswith("\n") for piece in pieces):
            pieces = [piece[:-1] for piece in pieces]
        if pieces[0].strip() and text.count(pieces[0]) == 1:
            return pieces[0], pieces[1]
    return "".join(old), "".join(new)


def _create_file(path: str, content: bytes) -> Steps | None:
    """Return the step that creates a file by an edit with an empty piece, or None."""
    try:
        command = SWECommand(EDIT, path, "", content.decode())
    except UnicodeDecodeError:
        return None
    return [(command, content)] if _writable(command) else None


def rewritten(path: str, content: bytes | None) -> SWECommand | None:
    """Return the command that writes or (None) deletes a file; None if it is too long."""
    if content is None:
        return SWECommand(BASH, f"rm -f -- {shlex.quote(path)}")
    text = base64.b64encode(content).decode()
    if len(text) > LONGEST:
        return None
    name, folder = shlex.quote(path), shlex.quote(posixpath.dirname(path) or ".")
    # Remove the file first: writing to a symbolic link would change its target.
    return SWECommand(
        BASH, f"rm -rf -- {name}; mkdir -p -- {folder}; echo {text} | base64 -d > {name}"
    )


def _git_apply(patch: str) -> SWECommand:
    """Return the command that applies a diff with git."""
    body = patch if patch.endswith("\n") else patch + "\n"
    return SWECommand(BASH, f"git apply --whitespace=nowarn - <<'{_HEREDOC}'\n{body}{_HEREDOC}")


def _writable(command: SWECommand) -> bool:
    """Return whether a command is short enough, and is parsed as itself."""
    text = command.write()
    if len(text) > LONGEST:
        return False
    try:
        return only_command(text) == (command, "")
    except CommandFault:
        return False

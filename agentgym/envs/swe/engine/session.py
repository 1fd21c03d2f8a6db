"""`SWESession`, one episode: a repository in a box, the commands of the agent, and the grade."""

from __future__ import annotations

import shlex
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

from agentgym.envs.swe.engine.commands import (
    BASH,
    EDIT,
    MARKERS,
    SUBMIT,
    VIEW,
    WIDER,
    SWECommand,
)
from agentgym.envs.swe.engine.file_text import FileText, read_file_text
from agentgym.envs.swe.engine.observation import LAST_TURN, clip, show
from agentgym.envs.swe.grading import FULL, Grade, Grader
from agentgym.envs.swe.grading.protection import Edits
from agentgym.envs.swe.grading.verdict import nothing_done
from agentgym.envs.swe.instance import FolderSource, ImageSource, Instance
from agentgym.envs.swe.instance_boxes import LARGEST_FILE, Boxes, changes_since
from agentgym.envs.swe.runtime import WORKDIR, runtime
from agentgym.errors import NotSupported
from agentgym.sandbox import Sandbox, SandboxDied, SandboxLost

MOST_LISTED = 50
"""Maximum length of a list in the details."""
ALWAYS = frozenset({"changed", "ignored", "timed_out"})
"""Details of every turn."""
DETAILS = ALWAYS | {
    "exit_code", "verdict", "fixed", "unfixed", "broken", "tampered", "suspicious", "grading",
    "evidence", "blinded", "held_out", "held_out_seed", "cheated",
}  # fmt: skip
"""Keys of :meth:`SWESession.details`: those of a turn, of a command, and of what was graded."""
NO_EDITS = Edits({}, ())
Found = TypeVar("Found")
DIED = "[the sandbox died of this command]"
"""Observation of a command that killed the box, which ends the episode."""


@dataclass(frozen=True, slots=True)
class Rules:
    """Settings of an environment that apply to every episode."""

    command_timeout: float = 30.0
    """Time limit of a command, in seconds."""
    max_observation_chars: int = 8000
    """Maximum number of characters of output in an observation."""
    progress: bool = False
    """Whether to run the tests after every turn that changed the source."""


class SWEState(NamedTuple):
    """The state of an episode, except for the files in its box."""

    commands: tuple[str, ...] = ()
    """The commands so far, in canonical form."""
    edits: Edits = NO_EDITS
    """The agent's changes so far: those that count and those that are ignored."""
    digest: str = ""
    """Hash of the changes that count; empty without any."""
    potential: float = 0.0
    """Share of fixed tests in the last run, from 0 to 1; 0 if a passing test broke."""
    grade: Grade | None = None
    """The grade of the submission; None before it."""
    over: bool = False
    """Whether the episode is over: submitted, or the box died."""
    died: bool = False
    """Whether a command killed the box."""


class SWETurn(NamedTuple):
    """The result of one turn."""

    observation: str
    """The observation."""
    valid: bool = True
    """Whether the action was executed."""
    exit_code: int | None = None
    """Exit code of a ``bash`` command; None for other actions."""
    timed_out: bool = False
    """Whether a command was killed at its time limit."""


class Refusal(Exception):
    """A command cannot be executed; the message is shown to the policy."""


class SWESession:
    """An episode: a repository that the agent repairs.

    The box is opened when a command first needs it, and discarded when the session is closed. A
    snapshot contains the box's files.

    Args:
        instance: The task.
        boxes: Opens boxes.
        grader: Grades the submission.
        rules: Settings of the environment.
    """

    def __init__(self, instance: Instance, boxes: Boxes, grader: Grader, rules: Rules) -> None:
        self.instance = instance
        self.state = SWEState()
        self._boxes, self._grader, self._rules = boxes, grader, rules
        self._box: Sandbox | None = None
        self._initial_changes: dict[str, bytes | None] = {}
        # Cached snapshot of the open box; None after anything may have changed.
        self._files: bytes | None = None
        # Files of the restored snapshot: the next box starts with them, or a stale one gets them.
        self._saved_files: bytes | None = None
        self._stale = False  # whether the open box has yet to be restored from _saved_files
        self._closing: weakref.finalize[..., SWESession] | None = None
        self._grades: dict[str, Grade] = {}

    def start(self, turns: int) -> str:
        """Start the episode; return the first observation.

        Args:
            turns: Turn budget of the episode.
        """
        source = self.instance.source
        folder = source.workdir if isinstance(source, ImageSource) else WORKDIR
        text = (
            f"{self.instance.statement.strip()}\n\n"
            f"The repository lies in {folder}. Repair it, then submit."
        )
        return self._with_notice(text, turns)

    @property
    def box(self) -> Sandbox:
        """The box with the current files; opened or restored if necessary.

        Raises:
            EnvFailure: The box cannot be opened or restored.
        """
        if self._box is not None and self._stale:
            self._return(self._box)
        if self._box is None:
            box = self._boxes.open(self.instance)
            # Close the box with the session even if nobody calls close.
            self._box, self._closing = box, weakref.finalize(self, box.close)
            if isinstance(self.instance.source, ImageSource):
                self._initial_changes = self._begun(box.changes)
            if self._saved_files is not None:
                self._return(box)
        return self._box

    def _return(self, box: Sandbox) -> None:
        """Restore the files of the snapshot in a box."""
        saved, self._stale = self._saved_files, False
        if saved is None:  # the snapshot precedes the first command: the next box starts afresh
            self.close()
        else:
            self._begun(lambda: box.restore(saved))

    def _begun(self, step: Callable[[], Found]) -> Found:
        """Prepare a box; turn its death into a SandboxLost, since no command can have caused it."""
        saved = self._saved_files
        try:
            return step()
        except BaseException as error:
            self.close()
            self._saved_files = saved
            if isinstance(error, SandboxDied):
                raise SandboxLost(str(error)) from error
            raise

    def act(self, command: SWECommand, turns_left: int) -> SWETurn:
        """Execute a command; one that kills the box ends the episode.

        Args:
            command: The command.
            turns_left: Number of turns after this one.

        Raises:
            EnvFailure: The box cannot be opened or reached.
        """
        self._count(commands=(*self.state.commands, command.write()))
        try:
            turn = _DOERS[command.name](self, command)
        except Refusal as refusal:
            turn = SWETurn(f"invalid: {refusal}", False)
        except SandboxLost:
            raise
        except SandboxDied:
            self.close()
            self._count(over=True, died=True)
            return SWETurn(DIED)
        if command.name == SUBMIT:
            return turn
        return turn._replace(observation=self._with_notice(turn.observation, turns_left))

    def refuse(self, reason: str, turns_left: int) -> SWETurn:
        """Return the turn of a text without a command; it counts as a turn.

        Args:
            reason: The whole message.
            turns_left: Number of turns after this one.
        """
        return SWETurn(self._with_notice(reason, turns_left), False)

    def details(self, turn: SWETurn) -> Mapping[str, Any]:
        """Return ``info["details"]`` of a turn, by the keys `DETAILS`; None if unknown."""
        grade = self.state.grade
        held_out = grade and grade.held_out
        return {
            "changed": list(self.state.edits.counted)[:MOST_LISTED],
            "ignored": list(self.state.edits.ignored)[:MOST_LISTED],
            "exit_code": turn.exit_code,
            "timed_out": turn.timed_out,
            "verdict": grade and grade.verdict,
            "fixed": grade and list(grade.fixed)[:MOST_LISTED],
            "unfixed": grade and list(grade.unfixed)[:MOST_LISTED],
            "broken": grade and list(grade.broken)[:MOST_LISTED],
            "tampered": grade and grade.tampered,
            "suspicious": grade and list(grade.suspicious),
            "grading": grade and grade.reason,
            "evidence": grade and grade.evidence,
            "blinded": grade and grade.blinded,
            "held_out": held_out and f"{held_out.wrong} of {held_out.questions} wrong",
            "held_out_seed": held_out and held_out.seed,
            "cheated": grade and grade.cheated,
        }

    @property
    def solved(self) -> bool:
        """Whether the submission was graded FULL."""
        return self.state.grade is not None and self.state.grade.verdict == FULL

    def snapshot(self) -> tuple[SWEState, bytes | None]:
        """Return the state and the files of the box; None instead of files before any command.

        Raises:
            NotSupported: The back end has no snapshots.
        """
        if self._box is None or self._stale:
            return self.state, self._saved_files
        if self._files is None:
            if "snapshot" not in self._box.capabilities:
                raise NotSupported(
                    f"expected a sandbox that can be forked, got {type(self._box).__name__}; use "
                    "another back end"
                )
            self._files = self._box.snapshot()
        return self.state, self._files

    def restore(self, snapshot: tuple[SWEState, bytes | None]) -> None:
        """Return to a state of :meth:`snapshot`, without executing commands again.

        The files of an open box are restored only when the next command needs them.
        """
        state, self._saved_files = snapshot
        self.state, self._files = SWEState(*state), None
        self._stale = self._box is not None

    def close(self) -> None:
        """Close the box, if one is open; may be called twice."""
        closing, self._closing = self._closing, None
        self._box, self._files, self._saved_files, self._stale = None, None, None, False
        if closing is not None:
            closing()

    # -- what commands do -----------------------------------------------------------------------

    def _run(self, command: SWECommand) -> SWETurn:
        """Run a command line."""
        time_limit = self._rules.command_timeout
        seconds = time_limit if command.timeout is None else min(time_limit, command.timeout)
        result = self.box.exec(command.text, timeout=seconds)
        if isinstance(self.instance.source, FolderSource):
            result = replace(result, output=runtime().renamed(result.output))
        self._look()
        text = show(result, seconds, self._rules.max_observation_chars)
        return SWETurn(text, exit_code=result.exit_code, timed_out=result.timed_out)

    def _view(self, command: SWECommand) -> SWETurn:
        """Show a file with line numbers, or list a folder."""
        path = command.text
        try:
            file = read_file_text(self._read_file(path))
        except FileNotFoundError:
            listed = self.box.exec(f"ls -1Ap -- {shlex.quote(path)}", timeout=10)
            if listed.exit_code:
                raise Refusal(f"there is no file or folder {path}") from None
            return SWETurn(clip(listed.text.rstrip(), self._rules.max_observation_chars))
        lines = file.lines()
        first = max(1, command.start or 1)
        last = len(lines) if command.end is None else command.end
        numbered_lines = [f"{n:6}\t{line}" for n, line in enumerate(lines, 1) if first <= n <= last]
        head = f"{path}, lines {first} to {min(last, len(lines))} of {len(lines)}{_notes(file)}"
        if not numbered_lines:
            raise Refusal(f"{path} has {len(lines)} lines, none of them from {first} to {last}")
        return SWETurn(
            f"{head}\n{clip(chr(10).join(numbered_lines), self._rules.max_observation_chars)}"
        )

    def _edit(self, command: SWECommand) -> SWETurn:
        """Replace the only occurrence of a piece in a file, or create a file."""
        path = command.text
        try:
            content = self._read_file(path)
        except FileNotFoundError:
            content = None
        file = read_file_text(content or b"")
        old, new = _choose_reading(command, path, file, content is not None)
        place = file.places(old)[0] if old else None
        text = file.replace(place, old, new) if place else new
        try:
            changed = text.encode(file.encoding)
        except UnicodeEncodeError as error:
            raise Refusal(
                f"{path} is encoded in {file.encoding}, which has no {text[error.start]!r}: "
                "write it in another way"
            ) from error
        try:
            self.box.write(path, changed)
        except SandboxDied:
            raise
        except OSError as error:
            raise Refusal(f"{path} cannot be written: {error.strerror or error}") from error
        self._look()
        if place is None:
            return SWETurn(f"[made {path}]")
        prefix = file.text[: place[0]]
        return SWETurn(f"[edited {path} at line {prefix.count(file.end[-1]) + 1}]")

    def _submit(self, command: SWECommand) -> SWETurn:
        """Grade the changes and end the episode."""
        grade = self._graded()
        if self.state.digest:
            grade = self._grader.ask(self.instance, self.state.edits, grade)
        self._count(grade=grade, potential=grade.potential, over=True)
        return SWETurn("[submitted]")

    # -- parts ----------------------------------------------------------------------------------

    def _count(self, **changes: Any) -> None:
        self.state = self.state._replace(**changes)

    def _read_file(self, path: str) -> bytes:
        """Read a file that a policy names.

        Raises:
            FileNotFoundError: The file does not exist.
            Refusal: The file is too large.
        """
        content = self.box.read(path, LARGEST_FILE + 1)
        if len(content) > LARGEST_FILE:
            raise Refusal(f"{path} is larger than {LARGEST_FILE >> 20} MiB")
        return content

    def _look(self) -> None:
        """Update the changes, and with ``rules.progress`` the potential."""
        self._files = None
        edits = self._grader.edits(self.instance, changes_since(self.box, self._initial_changes))
        digest = edits.digest
        if digest != self.state.digest:
            self._count(edits=edits, digest=digest)
            if self._rules.progress:
                self._count(potential=self._graded().potential)
        else:
            self._count(edits=edits)

    def _graded(self) -> Grade:
        """Return the grade of the current changes by the tests; cached by their digest."""
        digest = self.state.digest
        if not digest:
            grade = nothing_done(self.instance)
            return grade if not self.state.edits.ignored else _ignored(grade, self.state.edits)
        stored_grade = self._grades.get(digest)
        if stored_grade is None:
            stored_grade = self._grader.grade_tests(self.instance, self.state.edits)
            self._grades[digest] = stored_grade
        return _ignored(stored_grade, self.state.edits)

    def _with_notice(self, observation: str, turns_left: int) -> str:
        """Add the notice to the observation before the last turn."""
        return f"{observation}\n{LAST_TURN}" if turns_left == 1 else observation


_DOERS = {
    BASH: SWESession._run,
    VIEW: SWESession._view,
    EDIT: SWESession._edit,
    SUBMIT: SWESession._submit,
}


def _choose_reading(
    command: SWECommand, path: str, file: FileText, exists: bool
) -> tuple[str, str]:
    """Return the piece and replacement of an edit; of several readings, the only one that fits.

    A reading fits if its piece occurs exactly once in the file, or is empty and so is the file.

    Raises:
        Refusal: No reading fits, or several do.
    """
    if exists and file.text and len(command.readings) == 1 and not command.old:
        raise Refusal(f"{path} exists: say which piece of it is to be replaced")
    if not exists and all(old for old, _ in command.readings):
        raise Refusal(f"there is no file {path}")
    counts = [(len(file.places(old)) if old else int(not file.text)) for old, _ in command.readings]
    fitting = [
        reading for reading, count in zip(command.readings, counts, strict=True) if count == 1
    ]
    if len(fitting) == 1:
        return fitting[0]
    if len(command.readings) > 1:
        count_text = f"{len(fitting)} of them" if fitting else "none of them"
        raise Refusal(
            f"the block has several lines {MARKERS}, so that it can be read in "
            f"{len(command.readings)} ways, and the piece of {count_text} occurs exactly once in "
            f"{path}; {WIDER}"
        )
    if not counts[0]:
        raise Refusal(f"the piece is not in {path}; it has to occur exactly once")
    count = file.text.count(command.old)
    times = f"{count} times" if count > 1 else "more than once"
    raise Refusal(f"the piece occurs {times} in {path}; it has to occur exactly once")


def _notes(file: FileText) -> str:
    """Return notes on unusual line endings and encodings for the heading of a view."""
    ends = {"\n": "", "\r\n": r", lines end with \r\n", "\r": r", lines end with \r"}[file.end]
    return ends + ("" if file.encoding == "utf-8" else f", encoded in {file.encoding}")


def _ignored(grade: Grade, edits: Edits) -> Grade:
    """Return a grade with the ignored files."""
    return replace(grade, ignored=edits.ignored)

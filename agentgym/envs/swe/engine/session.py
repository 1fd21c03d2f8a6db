"""One episode: a repository in a box, commands that change it, and the grade of the result."""

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
"""Most entries of a list in the details."""
DETAILS = frozenset({
    "changed", "ignored", "exit_code", "timed_out", "verdict", "fixed", "unfixed", "broken",
    "tampered", "suspicious", "grading", "evidence", "blinded", "held_out", "held_out_seed",
    "cheated",
})  # fmt: skip
"""Keys of :meth:`SWESession.details`."""
NO_EDITS = Edits({}, ())
Found = TypeVar("Found")
DIED = "[the sandbox died of this command]"
"""What is shown of a command that ended the box and with it the episode."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What holds for every episode of an environment."""

    command_timeout: float = 30.0
    """Seconds that a command may take."""
    max_observation_chars: int = 8000
    """Most characters of output that are shown."""
    progress: bool = False
    """Whether the tests are run after every turn that changed the source."""


class SWEState(NamedTuple):
    """Everything about a session that can change, besides the files in its box."""

    commands: tuple[str, ...] = ()
    """Commands that were carried out, as they are written."""
    edits: Edits = NO_EDITS
    """What was changed so far, sorted into what counts and what does not."""
    digest: str = ""
    """Hash of what counts; empty while nothing does."""
    potential: float = 0.0
    """Share of the tests that were fixed when they were last run; 0 as soon as one is broken."""
    grade: Grade | None = None
    """The grade of what was submitted."""
    over: bool = False
    """Whether it was submitted, or the box died."""
    died: bool = False
    """Whether the box died of a command."""


class SWETurn(NamedTuple):
    """What one turn did."""

    observation: str
    """What the policy reads next."""
    valid: bool = True
    """Whether the action was carried out."""
    exit_code: int | None = None
    """How a command ended."""
    timed_out: bool = False
    """Whether a command was killed for taking too long."""


class Refusal(Exception):
    """Why a command was not carried out; the message is shown to the policy."""


class SWESession:
    """A repository that is being repaired.

    The box is opened when the first command needs it, and lost when the session is closed; a
    snapshot holds its files.

    Args:
        instance: What is to be repaired.
        boxes: How boxes are opened.
        grader: Grades what is submitted.
        rules: What holds for the episode.
    """

    def __init__(self, instance: Instance, boxes: Boxes, grader: Grader, rules: Rules) -> None:
        self.instance = instance
        self.state = SWEState()
        self._boxes, self._grader, self._rules = boxes, grader, rules
        self._box: Sandbox | None = None
        self._initial_changes: dict[str, bytes | None] = {}
        self._files: bytes | None = None  # of the box, as far as nothing has changed since
        # What the next box starts with, or this one goes back to.
        self._saved_files: bytes | None = None
        self._stale = False  # whether the box is yet to go back
        self._closing: weakref.finalize[..., SWESession] | None = None
        self._grades: dict[str, Grade] = {}

    def start(self, turns: int) -> str:
        """Begin the episode; return the first observation.

        Args:
            turns: Turns that the episode has.
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
        """The box, opened if it is not open.

        Raises:
            EnvFailure: It cannot be opened, or its files cannot be brought back.
        """
        if self._box is not None and self._stale:
            self._return(self._box)
        if self._box is None:
            box = self._boxes.open(self.instance)
            # A session that nobody closes takes its box with it.
            self._box, self._closing = box, weakref.finalize(self, box.close)
            if isinstance(self.instance.source, ImageSource):
                self._initial_changes = self._begun(box.changes)
            if self._saved_files is not None:
                self._return(box)
        return self._box

    def _return(self, box: Sandbox) -> None:
        """Bring the files of a box to what a snapshot holds."""
        saved, self._stale = self._saved_files, False
        if saved is None:  # of before the first command
            self.close()
        else:
            self._begun(lambda: box.restore(saved))

    def _begun(self, step: Callable[[], Found]) -> Found:
        """Take a step before any command; what fails then is no fault of one."""
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
        """Carry out a command; one of which the box dies ends the episode.

        Args:
            command: The command.
            turns_left: Turns after this one.

        Raises:
            EnvFailure: The box cannot be opened, or not be reached any more.
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
        """Answer a text in which there is no command; the turn is consumed.

        Args:
            reason: Why there is none, in full.
            turns_left: Turns after this one.
        """
        return SWETurn(self._with_notice(reason, turns_left), False)

    def details(self, turn: SWETurn) -> Mapping[str, Any]:
        """Describe a turn for ``info["details"]``; the same keys in every turn."""
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
        """Whether what was submitted is FULL."""
        return self.state.grade is not None and self.state.grade.verdict == FULL

    def snapshot(self) -> tuple[SWEState, bytes | None]:
        """Return the state and the files of the box.

        Raises:
            NotSupported: The box cannot tell.
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
        """Return to a state of :meth:`snapshot`; nothing is executed again.

        The files of a box that is open go back when the next command needs them.
        """
        state, self._saved_files = snapshot
        self.state, self._files = SWEState(*state), None
        self._stale = self._box is not None

    def close(self) -> None:
        """Close the box, if there is one; may be called twice."""
        closing, self._closing = self._closing, None
        self._box, self._files, self._saved_files, self._stale = None, None, None, False
        if closing is not None:
            closing()

    # -- what commands do -----------------------------------------------------------------------

    def _run(self, command: SWECommand) -> SWETurn:
        """Run a command line."""
        most = self._rules.command_timeout
        seconds = most if command.timeout is None else min(most, command.timeout)
        result = self.box.exec(command.text, timeout=seconds)
        if isinstance(self.instance.source, FolderSource):
            result = replace(result, output=runtime().renamed(result.output))
        self._look()
        text = show(result, seconds, self._rules.max_observation_chars)
        return SWETurn(text, exit_code=result.exit_code, timed_out=result.timed_out)

    def _view(self, command: SWECommand) -> SWETurn:
        """Show a file with line numbers, or what a folder holds."""
        path = command.text
        try:
            file = read_file_text(self._read(path))
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
        """Replace the one occurrence of a piece of a file, or make a file."""
        path = command.text
        try:
            content = self._read(path)
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
        before = file.text[: place[0]]
        return SWETurn(f"[edited {path} at line {before.count(file.end[-1]) + 1}]")

    def _submit(self, command: SWECommand) -> SWETurn:
        """Grade what was done."""
        grade = self._graded()
        if self.state.digest:
            grade = self._grader.ask(self.instance, self.state.edits, grade)
        self._count(grade=grade, potential=grade.potential, over=True)
        return SWETurn("[submitted]")

    # -- parts ----------------------------------------------------------------------------------

    def _count(self, **changes: Any) -> None:
        self.state = self.state._replace(**changes)

    def _read(self, path: str) -> bytes:
        """Read a file that a policy names.

        Raises:
            FileNotFoundError: There is none.
            Refusal: It is too large.
        """
        content = self.box.read(path, LARGEST_FILE + 1)
        if len(content) > LARGEST_FILE:
            raise Refusal(f"{path} is larger than {LARGEST_FILE >> 20} MiB")
        return content

    def _look(self) -> None:
        """Find out what has changed, and where it is wanted what that does to the tests."""
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
        """Run the tests on what has been changed so far, once for every state of the source."""
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
        """Announce the last turn."""
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
    """Return the piece and its replacement: what the command says, or all that it can mean here.

    Raises:
        Refusal: The piece does not occur exactly once, or nothing or several things can be meant.
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
    """Say what a file is like where that is not usual."""
    ends = {"\n": "", "\r\n": r", lines end with \r\n", "\r": r", lines end with \r"}[file.end]
    return ends + ("" if file.encoding == "utf-8" else f", encoded in {file.encoding}")


def _ignored(grade: Grade, edits: Edits) -> Grade:
    """Add the files that did not count to a grade."""
    return replace(grade, ignored=edits.ignored)

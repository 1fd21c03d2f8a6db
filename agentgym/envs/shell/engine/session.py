"""One episode: files in a box, commands, and whether it came out right.

What judges shares nothing with what runs in the box. Between two commands nothing runs there, and
what the files are is asked of the box's first process, which is no program of the box. They are
compared here, with what nobody in the box can know.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from agentgym.core.outcome import bounded
from agentgym.errors import EnvFailure
from agentgym.sandbox import (
    Sandbox,
    SandboxConfig,
    SandboxDied,
    SandboxLimits,
    SandboxLost,
    open_sandbox,
)

RUN, ANSWER = "run", "answer"
"""Names of the actions."""
WORKDIR = "/work"
NOT_RUN = (126, 127)
"""How a shell says that there is no such command."""
LIMITS = SandboxLimits(
    memory=512 << 20, processes=64, disk=32 << 20, files=5_000, file_size=4 << 20, output=4 << 20
)
"""What a box may use. No file is longer than what a box tells of the files that have changed."""


@dataclass(frozen=True)
class Problem:
    """A task: files, and what is asked of them."""

    text: str
    """The question, or the change that is to be made, in words."""
    kind: str
    """What kind of question or change it is."""
    files: Mapping[str, str]
    """Path below `WORKDIR` -> content."""
    answer: str = ""
    """The answer; empty of a change."""
    pattern: bool = False
    """Whether the answer is a regular expression, which is looked for."""
    expected: Mapping[str, str] | None = None
    """What all files are to be after a change, which may be none at all; None of a question."""
    example: str = ""
    """A command that prints the answer, where none is known: it is run in a box of its own."""
    setup: str = ""
    """A command that prepares the box, after the files were written."""
    image: str = ""
    """The container image that is the box's root, if any."""


class Step(NamedTuple):
    """A command that was carried out, and what it showed."""

    command: str
    """The command."""
    observation: str
    """What it showed."""
    exit_code: int
    """Its exit status."""


class ShellSession:
    """An episode of a task; its box starts with it.

    Args:
        problem: The task.
        sandbox: Back end of the box.
        seconds: Most seconds of a command.
        max_chars: Most characters of an observation.

    Raises:
        SandboxUnavailable: No box can run here.
        EnvFailure: It cannot be prepared.
    """

    def __init__(self, problem: Problem, sandbox: str, seconds: float, max_chars: int) -> None:
        self.problem = problem
        self._seconds, self._max_chars = seconds, max_chars
        self.steps: tuple[Step, ...] = ()
        self.answered: str | None = None
        self.solved = self.died = False
        self._sandbox = sandbox
        self._box = self._opened()

    def run(self, command: str) -> str:
        """Run a command and return what it prints."""
        try:
            done = self._box.exec(command, timeout=self._seconds)
        except SandboxLost:
            raise
        except SandboxDied:
            self.died = True
            return "the command ended the box"
        notes = [f"exit code {done.exit_code}"] if done.exit_code else []
        notes += ["the command took too long"] if done.timed_out else []
        text = "\n".join(part for part in (done.text.rstrip("\n"), *notes) if part) or "no output"
        self.steps += (Step(command, bounded(text, self._max_chars), done.exit_code),)
        return self.steps[-1].observation

    def answer(self, value: str) -> str:
        """Give the answer, which ends the episode."""
        self.answered, self.solved = value, self._is_solved(value)
        return "right" if self.solved else "wrong"

    @property
    def over(self) -> bool:
        """Whether the episode has ended."""
        return self.died or self.answered is not None

    def snapshot(self) -> Any:
        """Return a picklable copy of the state."""
        box = None if self.died else self._box.snapshot()
        return self.steps, self.answered, self.solved, self.died, box

    def restore(self, state: Any) -> None:
        """Return to a state of the same task."""
        steps, answered, solved, died, box = state
        if box is not None:
            self._box.restore(box)
        self.steps, self.answered, self.solved, self.died = steps, answered, solved, died

    def close(self) -> None:
        """End the box; may be called twice."""
        self._box.close()

    def _opened(self) -> Sandbox:
        """Return a box that is prepared for the task."""
        config = SandboxConfig(workdir=WORKDIR, image=self.problem.image, limits=LIMITS)
        box = open_sandbox(config, self._sandbox).start()
        try:
            self._prepare(box)
        except BaseException:
            box.close()
            raise
        return box

    def _prepare(self, box: Sandbox) -> None:
        for path, text in self.problem.files.items():
            box.write(path, text.encode())
        if self.problem.setup:
            done = box.exec(self.problem.setup, timeout=self._seconds)
            if done.exit_code:
                raise EnvFailure(
                    f"expected the box of {self.problem.text!r:.80} to be prepared, but its "
                    f"command ended with {done.exit_code}: {done.text:.200}"
                )

    def _is_solved(self, value: str) -> bool:
        problem = self.problem
        if problem.example:
            return same_answer(value, self._told(problem.example))
        if problem.expected is None:
            return same_answer(value, problem.answer, problem.pattern)
        try:
            found = self._box.changes()
        except SandboxLost:
            raise
        except SandboxDied:
            self.died = True
            return False
        wanted = {path: text.encode() for path, text in problem.expected.items()}
        return {path: held for path, held in found.items() if held is not None} == wanted

    def _told(self, example: str) -> str:
        """Return what the command of a row prints in a box in which nobody has been."""
        with self._opened() as box:
            done = box.exec(example, timeout=self._seconds)
        if done.timed_out or done.exit_code in NOT_RUN or not done.text.strip():
            raise EnvFailure(
                f"expected the example of {self.problem.text!r:.80} to print the answer, but it "
                f"ended with {done.exit_code}: {done.text:.200}"
            )
        return done.text


def same_answer(given: str, expected: str, pattern: bool = False) -> bool:
    """Return whether an answer is the expected one.

    Blanks around it do not count, nor does ``./`` or `WORKDIR` before a path; whole numbers are
    equal however they are written.

    Args:
        given: What the policy has answered.
        expected: What is right.
        pattern: Whether that is a regular expression, of the task and not of the policy.
    """
    mine, wanted = _relative(given.strip().strip("'\"`")), _relative(expected.strip())
    if pattern:
        return re.search(expected, given.strip()) is not None
    if re.fullmatch(r"[0-9]{1,18}", mine) and re.fullmatch(r"[0-9]{1,18}", wanted):
        return int(mine) == int(wanted)
    return mine == wanted


def _relative(path: str) -> str:
    return path.removeprefix(f"{WORKDIR}/").removeprefix("./")

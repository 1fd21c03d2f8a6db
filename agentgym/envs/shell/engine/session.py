"""One episode: files in a sandbox, commands, and the judge.

The judge shares nothing with the programs in the sandbox. Between two commands nothing runs there,
and the files are read by the sandbox's first process, which is not a program of the sandbox. They
are compared on the host with a solution that the sandbox never contains.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from agentgym.core.outcome import bounded
from agentgym.envs.shell.engine.patterns import matches
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
"""Exit status and text of a shell for an unknown command."""
LIMITS = SandboxLimits(
    memory=512 << 20, processes=64, disk=32 << 20, files=5_000, file_size=4 << 20, output=4 << 20
)
"""Limits of a sandbox. No file is longer than what a sandbox reports about changed files."""


@dataclass(frozen=True)
class Problem:
    """A task: files, and a question about them or a change to make."""

    text: str
    """The question, or the change to make, in words."""
    kind: str
    """Kind of question or change."""
    files: Mapping[str, str]
    """Path below `WORKDIR` -> content."""
    answer: str = ""
    """The answer; empty for a change."""
    pattern: bool = False
    """Whether the answer is a regular expression, which has to match the whole answer."""
    expected: Mapping[str, str] | None = None
    """All files expected after a change (possibly none); None for a question."""
    example: str = ""
    """A command that prints the answer if it is not known; it runs in a separate sandbox."""
    setup: str = ""
    """A command that prepares the sandbox after the files are written."""
    image: str = ""
    """The container image that is the sandbox's root, if any."""


class ShellStep(NamedTuple):
    """A command that ran, and its output."""

    command: str
    """The command."""
    observation: str
    """Its observation."""
    exit_code: int
    """Its exit status."""


class ShellSession:
    """An episode of a task; it starts a sandbox.

    Args:
        problem: The task.
        sandbox: Sandbox back end.
        seconds: Maximum duration of a command, in seconds.
        max_chars: Maximum length of an observation, in characters.

    Raises:
        SandboxUnavailable: No sandbox can run here.
        EnvFailure: The sandbox cannot be prepared.
    """

    def __init__(self, problem: Problem, sandbox: str, seconds: float, max_chars: int) -> None:
        self.problem = problem
        self._seconds, self._max_chars = seconds, max_chars
        self.steps: tuple[ShellStep, ...] = ()
        self.answered: str | None = None
        self.solved = self.died = False
        self._sandbox = sandbox
        self._box = self._opened()

    def run(self, command: str) -> str:
        """Run a command and return what it prints."""
        try:
            result = self._box.exec(command, timeout=self._seconds)
        except SandboxLost:
            raise
        except SandboxDied:
            self.died = True
            return "the command ended the box"
        notes = [f"exit code {result.exit_code}"] if result.exit_code else []
        notes += ["the command took too long"] if result.timed_out else []
        text = "\n".join(part for part in (result.text.rstrip("\n"), *notes) if part) or "no output"
        self.steps += (ShellStep(command, bounded(text, self._max_chars), result.exit_code),)
        return self.steps[-1].observation

    def answer(self, value: str) -> str:
        """Submit the answer, which ends the episode."""
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
        """Close the sandbox; may be called twice."""
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
            result = box.exec(self.problem.setup, timeout=self._seconds)
            if result.exit_code:
                raise EnvFailure(
                    f"expected to prepare the sandbox of {self.problem.text!r:.80}, but its "
                    f"command exited with {result.exit_code}: {result.text:.200}"
                )

    def _is_solved(self, value: str) -> bool:
        problem = self.problem
        if problem.example:
            return same_answer(value, self._run_example(problem.example))
        if problem.expected is None:
            return same_answer(value, problem.answer, problem.pattern)
        try:
            changes = self._box.changes()
        except SandboxLost:
            raise
        except SandboxDied:
            self.died = True
            return False
        expected = {path: text.encode() for path, text in problem.expected.items()}
        return {
            path: content for path, content in changes.items() if content is not None
        } == expected

    def _run_example(self, example: str) -> str:
        """Return what the command of a row prints in a box in which nobody has been."""
        with self._opened() as box:
            result = box.exec(example, timeout=self._seconds)
        if result.timed_out or result.exit_code in NOT_RUN or not result.text.strip():
            raise EnvFailure(
                f"expected the example of {self.problem.text!r:.80} to print the answer, but it "
                f"exited with {result.exit_code}: {result.text:.200}"
            )
        return result.text


def same_answer(answer: str, expected: str, pattern: bool = False) -> bool:
    """Return whether an answer is the expected one.

    All white space is the same, and around an answer none counts; nor does ``./`` or `WORKDIR`
    before a path. Integers are compared by value.

    Args:
        answer: The policy's answer.
        expected: The right answer.
        pattern: Whether ``expected`` is a regular expression; it comes from the task.
    """
    if pattern:
        return matches(expected, answer.strip())
    answer_text = _relative(" ".join(answer.strip().strip("'\"`").split()))
    expected_text = _relative(" ".join(expected.split()))
    if re.fullmatch(r"[0-9]{1,18}", answer_text) and re.fullmatch(r"[0-9]{1,18}", expected_text):
        return int(answer_text) == int(expected_text)
    return answer_text == expected_text


def _relative(path: str) -> str:
    return path.removeprefix(f"{WORKDIR}/").removeprefix("./")

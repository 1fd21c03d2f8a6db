"""Python as a tool: a model's code runs in a sandbox, never on the host."""

from __future__ import annotations

import math
from typing import Any

from agentgym.core.env import OBSERVATION_LENGTH
from agentgym.core.outcome import bounded
from agentgym.errors import EnvFailure
from agentgym.sandbox import Sandbox, SandboxConfig, SandboxDied, SandboxLost, open_sandbox
from agentgym.sandbox.base import LONGEST, ExecResult, check_timeout
from agentgym.support.text_lines import split_lines

SCRIPT = "script.py"
SILENT = "nothing was printed"
PYTHON = "python3"
"""What runs a script."""
SECONDS = 10.0
"""Processor time that a script may take."""
SLACK = 15.0
"""By the clock it may take so many seconds more. With :data:`SECONDS` it ends before an environment
of tools, a worker or a server would stop waiting for the call."""
STOPPED = (-24, 128 + 24)
"""Exit codes of a script that has used up its processor time: of Linux's signal ``SIGXCPU``."""


class PythonTool:
    """Tools of an episode that runs Python in its own sandbox.

    Pass the class as ``tools=``, or derive from it and add methods. The sandbox starts at the first
    call. Files stay for the episode, variables do not: a script that fails or hangs leaves nothing
    broken behind, and an episode is forked and copied by its files alone.

    Args:
        sandbox: A back end, see `agentgym.sandbox.open_sandbox`.
        seconds: Processor time that each process of a script may take, rounded up to whole
            seconds; :data:`SLACK` more by the clock, for a machine with other work.
        longest: Most characters that are shown of what it prints.
        error_lines: Lines that are shown of a script that failed, the last ones; None: all.
    """

    def __init__(
        self,
        *,
        sandbox: str = "auto",
        seconds: float = SECONDS,
        longest: int = OBSERVATION_LENGTH,
        error_lines: int | None = None,
    ) -> None:
        self._kind, self._seconds = sandbox, check_timeout(seconds)
        self._clock = min(seconds + SLACK, LONGEST)
        self._longest, self._error_lines = longest, error_lines
        self._box: Sandbox | None = None
        self._files: bytes | None = None

    def run_python(self, code: str) -> str:
        """Run a Python script and return what it prints.

        Args:
            code: The script.
        """
        box = self._started()
        try:
            box.write(SCRIPT, code.encode("utf-8", "replace"))
            result = box.exec(self._command(), timeout=self._clock)
        except SandboxLost:
            raise
        except SandboxDied:
            # What a script kills is its own doing: it must not void the episode.
            box.reset()
            return "error: the script ended its sandbox, which was started anew"
        return self._describe_result(result)

    def snapshot(self) -> bytes | None:
        """Return the files of the episode."""
        return self._files if self._box is None else self._box.snapshot()

    def restore(self, state: bytes | None) -> None:
        """Return to files that `snapshot` returned."""
        if self._box is None:
            self._files = state
        elif state is None:
            self._box.reset()
        else:
            self._box.restore(state)

    def close(self) -> None:
        """End the sandbox."""
        box, self._box = self._box, None
        if box is not None:
            box.close()

    def _command(self) -> str:
        """Return the command that runs the script within its processor time."""
        whole_seconds = math.ceil(self._seconds)
        # A second later the kernel kills what does not heed the signal.
        bounds = f"ulimit -S -t {whole_seconds}; ulimit -H -t {whole_seconds + 1}"
        return f"{{ {bounds}; }} 2>/dev/null; exec {PYTHON} {SCRIPT}"

    def _describe_result(self, result: ExecResult) -> str:
        """Return what is told of a script: its output, of a failure the end of it and why."""
        if result.timed_out or result.exit_code in STOPPED:
            output = bounded(result.text, self._longest)
            seconds = f"{self._seconds:g} seconds"
            if result.timed_out:
                seconds = f"{self._clock:g} seconds by the clock"
            return f"{output}\nerror: the script took longer than {seconds}"
        if result.exit_code == 0:
            return bounded(result.text, self._longest) or SILENT
        text = result.text
        if self._error_lines is not None:
            text = "\n".join(split_lines(text.rstrip("\n"))[-self._error_lines :])
            text = text[-self._longest :]
        return f"{bounded(text, self._longest)}\nexit code {result.exit_code}"

    def _started(self) -> Sandbox:
        """Return the sandbox of the episode.

        Raises:
            EnvFailure: None can run here, or it has no Python.
        """
        if self._box is None:
            box = None
            try:
                box = open_sandbox(SandboxConfig(workdir="/work"), self._kind).start()
                absent = box.lacks(PYTHON)
            except Exception as error:
                if box is not None:
                    box.close()
                raise EnvFailure(f"expected a sandbox to run Python in: {error}") from error
            if absent:
                box.close()
                raise EnvFailure(
                    f"expected {PYTHON} in the sandbox {self._kind!r}, got none; install it where "
                    "the sandbox takes its programs from, or name another with sandbox="
                )
            self._box = box
            if self._files is not None:
                self._box.restore(self._files)
        return self._box

    def __getstate__(self) -> dict[str, Any]:
        """Travel as files: the sandbox stays with the process that started it."""
        return {**self.__dict__, "_box": None, "_files": self.snapshot()}

"""Python as a tool: a model's code runs in a sandbox, never on the host."""

from __future__ import annotations

from agentgym.errors import EnvFailure
from agentgym.sandbox import Sandbox, SandboxConfig, SandboxDied, SandboxLost, open_sandbox

SCRIPT = "script.py"
SECONDS = 10.0
"""Time that a script may take."""


class PythonTool:
    """Tools of an episode that runs Python in a sandbox of its own.

    Pass the class as ``tools=``, or derive from it and add methods. The sandbox starts at the first
    call. Files stay for the episode, variables do not.

    Args:
        sandbox: A back end, see `agentgym.sandbox.open_sandbox`.
        seconds: Time that a script may take.
    """

    def __init__(self, *, sandbox: str = "auto", seconds: float = SECONDS) -> None:
        self._kind, self._seconds = sandbox, seconds
        self._box: Sandbox | None = None

    def run_python(self, code: str) -> str:
        """Run a Python script and return what it prints.

        Args:
            code: The script.
        """
        box = self._started()
        try:
            box.write(SCRIPT, code.encode("utf-8", "replace"))
            done = box.exec(f"python3 {SCRIPT}", timeout=self._seconds)
        except SandboxLost:
            raise
        except SandboxDied:
            # What a script kills is its own doing: it must not void the episode.
            box.reset()
            return "error: the script ended its sandbox, which was started anew"
        if done.timed_out:
            return f"{done.text}\nerror: the script took longer than {self._seconds:g} seconds"
        return done.text if done.exit_code == 0 else f"{done.text}\nexit code {done.exit_code}"

    def snapshot(self) -> bytes | None:
        """Return the files of the episode."""
        return None if self._box is None else self._box.snapshot()

    def restore(self, state: bytes | None) -> None:
        """Return to files that `snapshot` returned."""
        if state is not None:
            self._started().restore(state)

    def close(self) -> None:
        """End the sandbox."""
        box, self._box = self._box, None
        if box is not None:
            box.close()

    def _started(self) -> Sandbox:
        """Return the sandbox of the episode.

        Raises:
            EnvFailure: None can run here.
        """
        if self._box is None:
            try:
                self._box = open_sandbox(SandboxConfig(workdir="/work"), self._kind).start()
            except Exception as error:
                raise EnvFailure(f"expected a sandbox to run Python in: {error}") from error
        return self._box

"""``blind-mutation``: a baseline that mutates single tokens and never reads the issue."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from agentgym.envs.swe.engine.commands import BASH, SUBMIT, SWECommand

SCRIPT = Path(__file__).with_name("token_search.py")
"""The script that runs in the box."""
FOUND = "all tests pass"
"""Output of the script when all tests pass."""
SPARE_SECONDS = 5
"""Part of a command's time limit, in seconds, reserved for finishing the trial in progress."""
_PLACE = "/tmp/token_search.py"
_END = "AGENTGYM_SCRIPT"


class BlindMutation:
    """Change single tokens such that more tests pass, until all do; then submit.

    It uses ordinary ``bash`` actions, and reads nothing but the output of its own script and the
    number of turns left. A turn is a fixed amount of time, so its success depends on the speed of
    the machine. If a command is killed, the next turn continues the search.

    Args:
        write: Writes a native action in the grammar of the environment.
        seconds: Time limit of a command, in seconds.
    """

    def __init__(self, write: Callable[[str], str], seconds: float = 30.0) -> None:
        self._write = write
        self._budget = max(1.0, seconds - SPARE_SECONDS)

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        """Continue the search, or submit if all tests pass or no other turn is left."""
        turn, last = int(info["turn"]), int(info["horizon"]) - 1
        if turn >= last or (turn and FOUND in observation):
            return self._write(SWECommand(SUBMIT).write())
        search = f"python3 {_PLACE} {self._budget:g}"
        if not turn:
            text = SCRIPT.read_text("utf-8")
            search = f"cat > {_PLACE} <<'{_END}'\n{text}{_END}\n{search}"
        return self._write(SWECommand(BASH, search).write())

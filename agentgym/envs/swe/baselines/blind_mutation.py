"""``blind-mutation``: a search over tokens, which never reads the issue."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from agentgym.envs.swe.engine.commands import BASH, SUBMIT, SWECommand

SCRIPT = Path(__file__).with_name("token_search.py")
"""What it runs in the box."""
FOUND = "all tests pass"
"""What the script prints when it is done."""
SPARE_SECONDS = 5
"""Seconds of a command that are kept for the trial that is running when its time is over."""
_PLACE = "/tmp/token_search.py"
_END = "AGENTGYM_SCRIPT"


class BlindMutation:
    """Search for a token whose change makes more tests pass, until all do; then submit.

    It types ordinary ``bash`` actions. Of what the environment says it reads the last line that its
    own script prints, and how many turns are left. How far it comes depends on how fast the machine
    is: a turn is so many seconds of the processor. A command that is killed before goes on in the
    next turn.

    Args:
        write: Writes a native action in the grammar of the environment.
        seconds: Seconds that a command may take.
    """

    def __init__(self, write: Callable[[str], str], seconds: float = 30.0) -> None:
        self._write = write
        self._budget = max(1.0, seconds - SPARE_SECONDS)

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        """Search on, or submit what was found."""
        turn, last = int(info["turn"]), int(info["horizon"]) - 1
        if turn >= last or (turn and FOUND in observation):
            return self._write(SWECommand(SUBMIT).write())
        search = f"python3 {_PLACE} {self._budget:g}"
        if not turn:
            text = SCRIPT.read_text("utf-8")
            search = f"cat > {_PLACE} <<'{_END}'\n{text}{_END}\n{search}"
        return self._write(SWECommand(BASH, search).write())

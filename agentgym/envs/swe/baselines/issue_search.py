"""``issue-search`` and ``issue-repairs``: searches guided by the examples in the issue."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from agentgym.envs.swe.baselines.blind_mutation import FOUND, SCRIPT, SPARE_SECONDS
from agentgym.envs.swe.engine.commands import BASH, SUBMIT, SWECommand

FOLDER = "/tmp/issue_search"
"""Folder of the scripts in the box."""
MOST_READ = 6_000
"""Maximum number of characters of the issue: all files have to fit into one action."""
_END = "AGENTGYM_SCRIPT"
_HERE = Path(__file__).parent
_FILES = (SCRIPT, *(_HERE / f"issue_{name}.py" for name in ("examples", "repairs", "run")))


class IssueSearch:
    """Convert the issue's examples to tests, then search for a change that makes all tests pass.

    It uses ordinary ``bash`` actions. The examples determine which functions to try first and when
    the search ends, so it works with hidden tests, but not for issues without examples. With
    ``repairs`` it first tries changes that the issue suggests, before mutations of single tokens: a
    new name of a parameter, missing imports, and checks of arguments.

    Args:
        write: Writes a native action in the grammar of the environment.
        seconds: Time limit of a command, in seconds.
        repairs: Whether to try other changes than single tokens.
    """

    def __init__(
        self, write: Callable[[str], str], seconds: float = 30.0, *, repairs: bool = False
    ) -> None:
        self._write = write
        self._budget = max(1.0, seconds - SPARE_SECONDS)
        self._repairs = repairs

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        """Continue the search, or submit if all tests pass or no other turn is left."""
        turn, last = int(info["turn"]), int(info["horizon"]) - 1
        if turn >= last or (turn and FOUND in observation):
            return self._write(SWECommand(SUBMIT).write())
        method = "repairs" if self._repairs else "tokens"
        search = f"python3 {FOLDER}/issue_run.py {self._budget:g} {method}"
        if not turn:
            search = "\n".join((f"mkdir -p {FOLDER}", *_brought(observation), search))
        return self._write(SWECommand(BASH, search).write())


def _brought(issue: str) -> Iterator[str]:
    """Yield the commands that write the scripts and the issue into the box."""
    texts = {file.name: file.read_text("utf-8") for file in _FILES}
    for name, text in {**texts, "issue.md": issue[:MOST_READ] + "\n"}.items():
        yield f"cat > {FOLDER}/{name} <<'{_END}'\n{text}{_END}"

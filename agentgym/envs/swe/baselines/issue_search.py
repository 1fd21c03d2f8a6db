"""``issue-search`` and ``issue-repairs``: searches that read the issue and know no solution."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from agentgym.envs.swe.baselines.blind_mutation import FOUND, SCRIPT, SPARE_SECONDS
from agentgym.envs.swe.engine.commands import BASH, SUBMIT, SWECommand

FOLDER = "/tmp/issue_search"
"""Where its files lie in the box."""
MOST_READ = 6_000
"""Characters of an issue that are read: the files have to fit into one action."""
_END = "AGENTGYM_SCRIPT"
_HERE = Path(__file__).parent
_FILES = (SCRIPT, *(_HERE / f"issue_{name}.py" for name in ("examples", "repairs", "run")))


class IssueSearch:
    """Write the issue's examples down as tests, then search for what makes all tests pass.

    It types ordinary ``bash`` actions. The examples decide which functions come first and what
    counts as repaired, so hidden tests do not stop it; an issue in words alone does. Where
    ``repairs`` is set it tries what the issue suggests before single tokens: a new name of a
    parameter, imports that are missing, and checks of arguments.

    Args:
        write: Writes a native action in the grammar of the environment.
        seconds: Seconds that a command may take.
        repairs: Whether repairs of other kinds than one token are tried.
    """

    def __init__(
        self, write: Callable[[str], str], seconds: float = 30.0, *, repairs: bool = False
    ) -> None:
        self._write = write
        self._budget = max(1.0, seconds - SPARE_SECONDS)
        self._repairs = repairs

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        """Search on, or submit what was found."""
        turn, last = int(info["turn"]), int(info["horizon"]) - 1
        if turn >= last or (turn and FOUND in observation):
            return self._write(SWECommand(SUBMIT).write())
        how = "repairs" if self._repairs else "tokens"
        search = f"python3 {FOLDER}/issue_run.py {self._budget:g} {how}"
        if not turn:
            search = "\n".join((f"mkdir -p {FOLDER}", *_brought(observation), search))
        return self._write(SWECommand(BASH, search).write())


def _brought(issue: str) -> Iterator[str]:
    """Yield the commands that write the files which the search needs, the issue among them."""
    texts = {file.name: file.read_text("utf-8") for file in _FILES}
    for name, text in {**texts, "issue.md": issue[:MOST_READ] + "\n"}.items():
        yield f"cat > {FOLDER}/{name} <<'{_END}'\n{text}{_END}"

"""The admissible actions, for policies that choose from a list: look around, and submit."""

from __future__ import annotations

from collections.abc import Iterator

from agentgym.envs.swe.engine.commands import BASH, SUBMIT, VIEW, SWECommand
from agentgym.envs.swe.grading.protection import is_protected
from agentgym.envs.swe.instance import FolderSource, Instance
from agentgym.envs.swe.trees import contents

MOST_FILES = 40
"""Maximum number of files with an admissible ``view``."""


def admissible(instance: Instance, turns_left: int) -> Iterator[SWECommand]:
    """Yield the admissible actions; edits are not among them, as no list can contain all repairs.

    ``submit`` is admissible in the last turn only: earlier, a random policy would end the episode.

    Args:
        instance: The instance.
        turns_left: Number of turns left, including this one.
    """
    if turns_left <= 1:
        yield SWECommand(SUBMIT)
    yield SWECommand(BASH, "python -m pytest -q")
    yield SWECommand(BASH, "ls -R")
    if isinstance(instance.source, FolderSource):
        sources = [
            path
            for path in sorted(contents(instance.source))
            if path.endswith(".py") and not is_protected(path)
        ]
        for path in sources[:MOST_FILES]:
            yield SWECommand(VIEW, path)

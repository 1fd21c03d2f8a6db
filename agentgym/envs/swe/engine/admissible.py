"""What is offered to policies that choose from a list: to look around, and at the end to submit."""

from __future__ import annotations

from collections.abc import Iterator

from agentgym.envs.swe.engine.commands import BASH, SUBMIT, VIEW, SWECommand
from agentgym.envs.swe.grading.protection import is_protected
from agentgym.envs.swe.instance import FolderSource, Instance
from agentgym.envs.swe.trees import contents

MOST_FILES = 40
"""Most files that may be viewed by an action on offer."""


def admissible(instance: Instance, turns_left: int) -> Iterator[SWECommand]:
    """Yield the actions on offer. No list can hold what repairs a repository, so none does.

    To submit is on offer in the last turn alone, as before it would only end the episode.

    Args:
        instance: The instance.
        turns_left: Turns left, this one included.
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

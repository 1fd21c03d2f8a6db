"""Tasks of Harbor as an environment; unlike those of other projects its episodes can be forked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agentgym.actions import MAX_ACTION_CHARS
from agentgym.core.guard import as_env_failure
from agentgym.core.tasks import TaskList
from agentgym.envs.swe.engine.commands import BASH, SPECS, SUBMIT, SWELanguage
from agentgym.interop.harbor.world import HarborState, HarborWorld
from agentgym.interop.imported_env import NO_FORKS, ImportedEnv

HORIZON = 30
"""Default turn budget."""
ACTIONS = tuple(spec for spec in SPECS if spec.name in (BASH, SUBMIT))


class HarborEnv(ImportedEnv):
    """Commands in the box of a task, until it is submitted and its tests decide.

    Args:
        world: Plays the tasks.
        tasks: The tasks.
        notes: What differs from Harbor, in sentences.
        **kwargs: Arguments of :class:`~agentgym.interop.imported_env.ImportedEnv`.
    """

    action_length = MAX_ACTION_CHARS
    repeatable = False
    world: HarborWorld

    def __init__(
        self, world: HarborWorld, tasks: TaskList, *, notes: Sequence[str] = (), **kwargs: Any
    ) -> None:
        super().__init__(world, tasks, specs=ACTIONS, limits=notes, has_expert=True, **kwargs)
        self.language = SWELanguage(self.language.grammar, ACTIONS)
        self.limits = tuple(limit for limit in self.limits if limit != NO_FORKS)

    def _oracle_turns(self) -> int | None:
        return len(self.world.left()) or (None if self._running else 0)

    def _snapshot(self) -> tuple[float, HarborState]:
        with as_env_failure():
            return self._return, self.world.snapshot()

    def _restore(self, state: tuple[float, HarborState]) -> None:
        with as_env_failure():
            self._session = self.world
            self._return, files = state
            self.world.restore(files)

"""What the experts of all configurations do, played once for all tests that ask about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.contract.choices import Configuration

LONG = 200
"""A turn budget in which every expert succeeds; whether the default one is enough, test_scores
asks of the default experts."""


@dataclass(frozen=True)
class Solution:
    """A task that the expert played to its end."""

    planned: int | None
    """Length of the plan, as the set of tasks has it."""
    begin: Mapping[str, Any]
    """The info dict of the reset."""
    actions: list[str | None] = field(default_factory=list)
    """What the expert said in each turn."""
    rewards: list[float] = field(default_factory=list)
    """What each turn paid."""
    infos: list[Mapping[str, Any]] = field(default_factory=list)
    """The info dict of each turn."""

    @property
    def end(self) -> Mapping[str, Any]:
        """The last info dict."""
        return self.infos[-1]


_solutions: dict[str, list[Solution]] = {}


def solutions(configuration: Configuration) -> list[Solution]:
    """Return what the expert does in the tasks that tests play of a configuration."""
    name = str(configuration)
    if name not in _solutions:
        _solutions[name] = _play(configuration)
    return _solutions[name]


def _play(configuration: Configuration) -> list[Solution]:
    env, solved = configuration.make(horizon=LONG), list[Solution]()
    for index in configuration.indices(env.tasks.len("test")):
        _, info = env.reset(seed=3, options={"split": "test", "index": index})
        solution = Solution(env.tasks.oracle_turns(env.task), info)
        while not info["stop_reason"]:
            action = env.demonstrator_action()
            _, reward, _, _, info = env.step(str(action))
            solution.actions.append(action)
            solution.rewards.append(reward)
            solution.infos.append(info)
        solved.append(solution)
    env.close()
    return solved

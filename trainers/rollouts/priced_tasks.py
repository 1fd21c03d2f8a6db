"""Lagrange multipliers of costs with limits.

Of an environment with costs c_k and limits d_k (`agentgym.rewards.costs`) training maximises the
expected return under E[sum_t c_k] <= d_k by the Lagrangian

    max_pi min_{lambda >= 0}  E[ sum_t r_t - sum_k lambda_k (sum_t c_k,t - d_k) ]

The policy climbs it by its own method, with lambda_k as the price of a unit in its rewards; after
each step

    lambda_k <- max(0, lambda_k + rate * (mean episode cost - d_k))

(Ray, Achiam and Amodei 2019, "Benchmarking safe exploration in deep reinforcement learning";
Tessler et al. 2018, arXiv:1805.11074). The prices are reset options of each episode, so records
hold them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from agentgym.core.hooks import CostReward
from agentgym.core.outcome import StopReason, total
from trainers.rollouts.task_feed import TrainingTasks
from trainers.rollouts.trajectory import Trajectory

__all__ = ["PricedTasks"]


class PricedTasks:
    """Tasks of an environment, each with the current prices of its costs.

    Args:
        source: The source of the tasks.
        costs: The hooks of the environment that count costs; those without a limit keep their
            price.
        rate: Change of a price per unit of mean cost above or below the limit.
    """

    def __init__(self, source: TrainingTasks, costs: Sequence[CostReward], rate: float) -> None:
        self._source, self._rate = source, rate
        self._limits = {cost.name: cost.limit for cost in costs if cost.limit >= 0}
        self._prices = {cost.name: cost.price for cost in costs if cost.limit >= 0}

    def __call__(self, step: int, count: int, horizon: int) -> list[dict[str, Any]]:
        """Choose the tasks of a step; see ``TaskSource``."""
        return [*map(self._pricing(), self._source(step, count, horizon))]

    def further(self, step: int, count: int, horizon: int) -> dict[str, Iterator[dict[str, Any]]]:
        """Yield the tasks that follow those of a step; see ``RefillingTaskSource``."""
        further = self._source.further(step, count, horizon)
        return {name: map(self._pricing(), tasks) for name, tasks in further.items()}

    def _pricing(self) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
        """Return a function that adds the current prices to a task, whenever it is drawn."""
        prices = dict(self._prices)
        return lambda task: {**task, "prices": dict(prices)}

    def learn(self, episodes: Sequence[Trajectory]) -> None:
        """Update the prices by the costs of a step's episodes, broken ones excluded."""
        self._source.learn(episodes)
        sound = [episode for episode in episodes if episode.stop_reason != StopReason.ERROR.value]
        for name, limit in self._limits.items() if sound else ():
            used = total(episode.used(name) for episode in sound) / len(sound)
            self._prices[name] = max(0.0, self._prices[name] + self._rate * (used - limit))

    def state_dict(self) -> dict[str, Any]:
        """Return the prices, and the state of the tasks."""
        return {"prices": dict(self._prices), "tasks": self._source.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what ``state_dict`` returned."""
        self._prices = dict(state["prices"])
        self._source.load_state_dict(state["tasks"])

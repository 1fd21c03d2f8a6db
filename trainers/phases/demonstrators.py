"""Who is imitated in a run, on which tasks, and what comes of it as training rows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any

import numpy as np

from agentgym.errors import ConfigurationError, EnvFailure
from agentgym.policies.basic import OraclePolicy, RandomPolicy
from trainers.config.environments import TRAIN, ResolvedEnv
from trainers.config.resolve import ResolvedRun
from trainers.models.policy import LoadedPolicy
from trainers.phases.safe_env import make_safe_env
from trainers.rollouts.budget import TokenBudget
from trainers.rollouts.chat import TurnTokenizer
from trainers.rollouts.demonstrations import Demonstration, encode, watch
from trainers.rollouts.template import Message
from trainers.rollouts.trajectory import Row, to_rows

__all__ = ["Demonstrator", "demonstrated_rows", "demonstration_tasks", "require_room"]


class Demonstrator:
    """Who is imitated in one environment: its expert, or random actions.

    Where nobody is, as the environment has no expert, random actions still show its words.

    Args:
        run: The run.
        resolved: The environment.
        count: Episodes that are played at once.

    Attributes:
        env: The environment.
        imitated: Whether the episodes are demonstrations.
        first: The first episodes.
    """

    def __init__(self, run: ResolvedRun, resolved: ResolvedEnv, count: int = 0) -> None:
        self._seed, self._name, self._count = run.config.seed, resolved.name, count
        self.imitated = bool(resolved.demonstrator)
        self._quick = resolved.backend == "sync"
        self.env = make_safe_env(resolved, run.config.rollout)
        self._tasks, self._others = demonstration_tasks(run, resolved)
        expert = resolved.demonstrator == "expert"
        player = OraclePolicy(self.env) if expert else RandomPolicy(self._seed)
        self._rest = watch(self.env, self._tasks, player)
        self.first = list(islice(self._rest, count))

    def seen(self) -> Iterator[Demonstration]:
        """Yield the first episodes and, as far as they are too few, random ones of other tasks.

        An environment that is slow, such as a sandbox, is not played for the sake of its words.
        """
        yield from self.first
        others = self._others[: max(0, self._count - len(self.first))]
        if others and self._quick:
            yield from watch(self.env, others, RandomPolicy(self._seed))

    @property
    def shown(self) -> Iterator[Demonstration]:
        """All episodes, each played when it is asked for."""
        return chain(self.first, self._rest)

    def check_opening(self, policy: LoadedPolicy) -> None:
        """Check that the opening of a training task leaves the model room for a turn.

        Later episodes whose opening does not are ended with ``length``, one by one.

        Raises:
            ConfigurationError: It does not.
        """
        if self.first:
            observation, info = self.first[0].observation, dict(self.first[0].info)
        else:
            try:
                observation, info = self.env.reset(options=self._tasks[0])
            except EnvFailure:
                return  # The phases that play report it.
        opening = policy.openings[self._name](observation, info)
        require_room(policy.chat, policy.budget, opening, info["task_id"])


def require_room(
    chat: TurnTokenizer, budget: TokenBudget, opening: Sequence[Message], task_id: str
) -> None:
    """Check that the opening of an episode leaves the policy room for a turn.

    Raises:
        ConfigurationError: It does not.
    """
    tokens = len(chat.start(opening))
    if budget.context - tokens < budget.floor:
        raise ConfigurationError(
            f"expected the opening of an episode to leave room for a turn of {budget.floor} "
            f"tokens among the {budget.context} that the model reads, but that of {task_id} takes "
            f"{tokens}: use a model with more positions, lower --rl.turn-tokens, or ask for "
            "shorter observations with --env-args"
        )


def demonstration_tasks(
    run: ResolvedRun, env: ResolvedEnv
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Choose the training tasks whose episodes are imitated, each at most once.

    Of several environments each has its share of the demonstrations, by weight.

    Returns:
        Those tasks, and all other training tasks, in an order of the run's seed.
    """
    made = env.make_env()
    size = made.tasks.len(TRAIN)
    made.close()
    total = sum(e.weight for e in run.envs if bool(e.demonstrator) == bool(env.demonstrator))
    most = math.ceil(run.config.sft.demonstrations * env.weight / total)
    # A stream of its own: the 1 sets it apart from every other use of the run's seed.
    rng = np.random.Generator(np.random.PCG64([run.config.seed, 1]))
    order = [{"split": TRAIN, "index": int(index)} for index in rng.permutation(size)]
    return order[:most], order[most:]


def demonstrated_rows(
    run: ResolvedRun, policy: LoadedPolicy, demonstrators: Mapping[str, Demonstrator]
) -> Sequence[Row]:
    """Return the demonstrations of all environments as training rows of a policy.

    Raises:
        ConfigurationError: Only successes are asked for, and there are none.
    """
    sft, window = run.config.sft, run.config.rollout.window
    rows: list[Row] = []
    for name, each in demonstrators.items():
        if each.imitated:
            episodes = [e for e in each.shown if e.last["success"] or not sft.only_successes]
            rows += to_rows(list(encode(episodes, policy.chat, policy.openings[name], window)))
    if not rows and sft.only_successes:
        raise ConfigurationError(
            f"expected demonstrations that solved their task, but none of the {sft.demonstrations} "
            "did; leave out --sft.only-successes, or choose another demonstrator"
        )
    return rows

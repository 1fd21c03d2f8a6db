"""What plays the episodes of a run, in the warm start's gate and in reinforcement learning."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium

from agentgym.episodes import RecordFacts
from agentgym.vector import TextVectorEnv
from agentgym.vector.env_slots import Spec
from trainers.config.plan import Plan
from trainers.models.policy import LoadedPolicy
from trainers.rollouts.engines import engine_maker
from trainers.rollouts.engines.base import EngineSettings, GenerationEngine

__all__ = ["make_engine", "make_envs"]


@dataclass(frozen=True)
class _Recordable:
    """A picklable factory of environments whose episodes can be written down afterwards."""

    make: Spec

    def __call__(self) -> RecordFacts:
        return RecordFacts(self.make())


def make_envs(plan: Plan, slots: int, hooks: Sequence[Any] = ()) -> TextVectorEnv:
    """Make the vector environment of a run.

    Args:
        plan: The run.
        slots: Episodes that are played at a time.
        hooks: Reward hooks.

    Returns:
        The environments; their infos tell what a record holds.
    """
    kwargs = {**plan.env_kwargs, "reward_hooks": list(hooks)} if hooks else plan.env_kwargs
    return TextVectorEnv.make(_Recordable(Spec(gymnasium.spec(plan.env_id), kwargs)), slots)


def make_engine(plan: Plan, policy: LoadedPolicy, slots: int) -> Callable[[Any], GenerationEngine]:
    """Return what makes the chosen generation engine from a model.

    Args:
        plan: The run.
        policy: The policy that will generate.
        slots: Most sequences at a time.
    """
    settings = EngineSettings(
        policy.chat.pad_id, policy.limits.context, slots, seed=plan.config.seed
    )
    return engine_maker(plan.config.engine, settings)

"""What plays the episodes of a run, put together in one place for both of its phases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium

from agentgym.episodes import RecordFacts
from agentgym.hooks import TurnReward
from agentgym.tasks import Panel
from agentgym.vector import TextVectorEnv
from agentgym.vector.env_slots import Spec
from trainers.config.resolve import ResolvedRun
from trainers.models.policy import LoadedPolicy
from trainers.rollouts.engines import engine_maker
from trainers.rollouts.engines.base import EngineSettings, GenerationEngine
from trainers.rollouts.runner import RolloutRunner

__all__ = ["make_envs", "make_runner", "panel_tasks", "rollout_setup"]


@dataclass(frozen=True)
class _Recordable:
    """A picklable factory of environments whose episodes can be written down afterwards."""

    make: Spec

    def __call__(self) -> RecordFacts:
        return RecordFacts(self.make())


def panel_tasks(panel: Panel) -> list[dict[str, Any]]:
    """Return the reset options of a panel's tasks."""
    return [{"task_id": task_id} for task_id in panel.ids]


def rollout_setup(
    run: ResolvedRun,
    policy: LoadedPolicy,
    slots: int,
    hooks: Sequence[TurnReward] = (),
    ahead: bool = False,
) -> dict[str, Any]:
    """Return the keyword arguments that ``RolloutRunner`` and ``MultiTurnTrainer`` share.

    The engine is a function of the model; the caller closes it and the environments, of which at
    most ``slots`` play at a time. To play ``ahead`` of the training it needs weights of its own.
    """
    return {
        # First: where it is missing nothing is started.
        "make_engine": _engine_maker(run, policy, slots, ahead),
        "envs": make_envs(run, slots, hooks),
        "chat": policy.chat,
        "budget": policy.budget,
        "initial_messages": policy.initial_messages,
        "family": run.family,
    }


def make_runner(run: ResolvedRun, policy: LoadedPolicy, slots: int) -> RolloutRunner:
    """Make what plays episodes with a policy; the caller closes its engine and environments."""
    parts = rollout_setup(run, policy, slots)
    make_engine = parts.pop("make_engine")
    return RolloutRunner(engine=make_engine(policy.model), **parts)


def make_envs(run: ResolvedRun, slots: int, hooks: Sequence[TurnReward] = ()) -> TextVectorEnv:
    """Make the environments, where they are to run; their infos tell what a record holds."""
    kwargs = {**run.env_kwargs, "reward_hooks": list(hooks)} if hooks else dict(run.env_kwargs)
    settings = run.config.rollout
    return TextVectorEnv.make(
        _Recordable(Spec(gymnasium.spec(run.env_id), kwargs)),
        slots,
        backend=settings.backend,
        workers=settings.workers,
        step_timeout=settings.step_timeout,
    )


def _engine_maker(
    run: ResolvedRun, policy: LoadedPolicy, slots: int, ahead: bool
) -> Callable[[Any], GenerationEngine]:
    """Return what makes the engine that was chosen from a model."""
    settings = EngineSettings(
        policy.chat.pad_id,
        policy.budget.context,
        slots,
        seed=run.config.seed,
        bf16=run.config.memory.precision == "bf16",
    )
    name = run.config.engine
    if name == "hf" and ahead:
        name = "hf-copy"
    return engine_maker(name, settings)

"""What plays the episodes of a run, put together in one place for both of its phases."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import gymnasium

from agentgym.episodes import RecordFacts
from agentgym.hooks import TurnReward
from agentgym.tasks import Panel
from agentgym.vector import TextVectorEnv
from agentgym.vector.env_slots import Spec
from trainers import processes
from trainers.config.resolve import ResolvedRun
from trainers.config.schema import TINY
from trainers.grpo.precision import weights_dtype
from trainers.models.policy import LoadedPolicy, adapters, read_model_config, token_budget
from trainers.rollouts.engines import engine_maker
from trainers.rollouts.engines.base import EngineSettings, GenerationEngine
from trainers.rollouts.runner import RolloutRunner

__all__ = ["make_envs", "make_runner", "panel_tasks", "rollout_setup", "server_command"]


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


def server_command(run: ResolvedRun) -> str:
    """Return the command that starts a vLLM server for a run; no weights are loaded for it."""
    import torch

    from trainers.rollouts.engines.vllm_command import ServerNeeds

    config = run.config
    tiny = SimpleNamespace(max_position_embeddings=config.tiny.context)
    model = tiny if config.model == TINY else read_model_config(config.model)
    context = token_budget(run, model).context
    settings = _engine_settings(run, 0, context, config.rl.episodes)
    # A policy from scratch is written here when the run first looks for the server.
    options = {**settings.options}
    options["model"] = options["model"] or str((config.out / "vllm" / "model").resolve())
    frozen = adapters(run) is not None
    needs = ServerNeeds.of_run(
        dataclasses.replace(settings, options=options),
        dtype=str(weights_dtype(config.memory.precision, frozen=frozen)).removeprefix("torch."),
        rank=config.lora.r if frozen else 0,
        cuda=torch.cuda.is_available(),
    )
    return needs.command()


def _engine_maker(
    run: ResolvedRun, policy: LoadedPolicy, slots: int, ahead: bool
) -> Callable[[Any], GenerationEngine]:
    """Return what makes the engine that was chosen from a model."""
    settings = _engine_settings(run, policy.chat.pad_id, policy.budget.context, slots)
    name = run.config.engine
    # No process can generate with a part of the weights, or with those that are being trained.
    if name == "hf" and (ahead or processes.sharded()):
        name = "hf-copy"
    return engine_maker(name, settings)


def _engine_settings(run: ResolvedRun, pad_id: int, context: int, slots: int) -> EngineSettings:
    """Return what the engine of a run is told."""
    config = run.config
    options = dataclasses.asdict(config.vllm) | {
        "model": "" if config.model == TINY else config.model,
        "run_folder": config.out / "vllm",
    }
    bf16 = config.memory.precision == "bf16"
    return EngineSettings(pad_id, context, slots, config.seed, options, bf16)

"""Runner, engine and environments of a run, built in one place for both phases."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import gymnasium

from agentgym.core.tasks import Panel
from agentgym.episodes import RecordFacts
from agentgym.vector import TextVectorEnv
from agentgym.vector.env_slots import Spec
from trainers import processes
from trainers.config.model_files.precision import weights_dtype
from trainers.config.resolve import ResolvedRun
from trainers.config.resolved_env import ResolvedEnv
from trainers.config.schema import TINY
from trainers.methods.episode_loop import loop_of
from trainers.methods.table import in_flight
from trainers.models.loaded_policy import LoadedPolicy, adapters, read_model_config, token_budget
from trainers.models.memory_plan import MemoryPlan, plan_memory
from trainers.rollouts.engines import acting_engine, engine_maker
from trainers.rollouts.engines.base import EngineSettings, GenerationEngine
from trainers.rollouts.rollout_runner import RolloutRunner
from trainers.rollouts.task_feed import FAMILY

if TYPE_CHECKING:
    from torch import nn

__all__ = [
    "make_envs",
    "make_runner",
    "panel_tasks",
    "rollout_setup",
    "server_command",
    "slot_families",
]


@dataclass(frozen=True)
class _Recordable:
    """A picklable factory of environments whose episodes can be recorded afterwards."""

    make: Spec

    def __call__(self) -> RecordFacts:
        return RecordFacts(self.make())


def panel_tasks(panels: Mapping[str, Panel], run: ResolvedRun) -> list[dict[str, Any]]:
    """Return the reset options of the tasks of panels, at the full horizon of each environment.

    Tasks of several environments alternate, so that all environments stay busy.
    """
    lists = [
        [
            {"task_id": task_id, FAMILY: name, "horizon": run.env(name).full_horizon}
            for task_id in panel.ids
        ]
        for name, panel in panels.items()
    ]
    return [task for row in zip_longest(*lists) for task in row if task is not None]


def rollout_setup(
    run: ResolvedRun,
    policy: LoadedPolicy,
    slots: int,
    training: bool = False,
    ahead: bool = False,
) -> dict[str, Any]:
    """Return the keyword arguments that ``RolloutRunner`` and ``MultiTurnTrainer`` share.

    The engine is a function of the model; the caller closes it and the environments. About
    ``slots`` episodes play at a time, fewer if memory is short. Playing ``ahead`` of the training
    needs an engine with its own weights.
    """
    memory = plan_memory(run)
    families = slot_families(run, memory.slots(slots))
    loop = loop_of(run)
    player: Callable[..., RolloutRunner] = loop.player if loop else RolloutRunner
    return {
        "player": partial(player, end_after_invalid=run.config.rollout.end_after_invalid),
        # Checked first, so that nothing is started if it is missing.
        "make_engine": _engine_maker(
            run,
            policy,
            len(families),
            ahead,
            memory,
            # The current policy alone plays held-out episodes.
            pool=training and run.preset.pool is not None,
        ),
        "envs": (
            loop.make_envs(families, training) if loop else make_envs(run, families, training)
        ),
        "chat": policy.chat,
        "budget": policy.budget,
        "prompt": policy.prompts,
        "families": families if run.several else run.envs[0].name,
    }


def make_runner(run: ResolvedRun, policy: LoadedPolicy, slots: int) -> RolloutRunner:
    """Make a runner for a policy; the caller closes its engine and environments."""
    parts = rollout_setup(run, policy, slots)
    make_engine, player = parts.pop("make_engine"), parts.pop("player")
    runner: RolloutRunner = player(engine=make_engine(policy.model), **parts)
    return runner


def slot_families(run: ResolvedRun, slots: int) -> list[str]:
    """Return the environment family of each slot.

    Several families share the slots, with one more group each, since a step may hold one task more
    than a family's share.
    """
    if not run.several:
        return [run.envs[0].name] * slots
    total, spare = sum(env.weight for env in run.envs), run.config.rl.num_generations
    counts = [min(slots, math.ceil(slots * env.weight / total) + spare) for env in run.envs]
    return [env.name for env, count in zip(run.envs, counts, strict=True) for _ in range(count)]


def make_envs(run: ResolvedRun, families: Sequence[str], training: bool) -> TextVectorEnv:
    """Make an environment for each slot, on the run's backend.

    Their infos hold the contents of a record. Reward hooks apply in training environments only.
    """
    config = run.config
    makers = {env.name: _Recordable(_spec(env, training)) for env in run.envs}
    return TextVectorEnv(
        [makers[name] for name in families],
        backend=config.backend,
        workers=config.workers,
        step_timeout=config.step_timeout,
    )


def _spec(env: ResolvedEnv, training: bool) -> Spec:
    """Return the specification of an environment."""
    hooks = env.make_hooks() if training else []
    kwargs = {**env.kwargs, "reward_hooks": hooks} if hooks else dict(env.kwargs)
    return Spec(gymnasium.spec(env.env_id), kwargs)


def server_command(run: ResolvedRun) -> str:
    """Return the command that starts a server for a run; no weights are loaded for it."""
    import torch

    from trainers.rollouts.engines.sglang_command import SGLangNeeds
    from trainers.rollouts.engines.vllm_command import ServerNeeds

    config = run.config
    needs_of_run = SGLangNeeds if config.engine == "sglang-server" else ServerNeeds
    tiny = SimpleNamespace(max_position_embeddings=config.tiny.context)
    model = tiny if config.model == TINY else read_model_config(config.model)
    context = token_budget(run, model).context
    pool = run.preset.pool is not None
    settings = _engine_settings(run, 0, context, in_flight(config), pool=pool)
    # A policy from scratch is written here when the run first contacts the server.
    options = {**settings.options}
    options["model"] = options["model"] or str((options["run_folder"] / "model").resolve())
    frozen = adapters(run) is not None
    needs = needs_of_run.of_run(
        dataclasses.replace(settings, options=options),
        dtype=str(weights_dtype(config.memory.precision, frozen=frozen)).removeprefix("torch."),
        rank=config.lora.r if frozen else 0,
        cuda=torch.cuda.is_available(),
    )
    return needs.command()


def _engine_maker(
    run: ResolvedRun,
    policy: LoadedPolicy,
    slots: int,
    ahead: bool,
    memory: MemoryPlan,
    *,
    pool: bool,
) -> Callable[[nn.Module], GenerationEngine]:
    """Return a function that makes the chosen engine from a model."""
    pad_id, context = policy.chat.pad_id, policy.budget.context
    settings = _engine_settings(run, pad_id, context, slots, memory.share, pool=pool)
    settings = dataclasses.replace(settings, copy_weights=memory.copies_fit)
    name = acting_engine(run.config.engine, ahead=ahead, sharded=processes.sharded())
    return engine_maker(name, settings)


def _engine_settings(
    run: ResolvedRun,
    pad_id: int,
    context: int,
    slots: int,
    share: float | None = None,
    *,
    pool: bool,
) -> EngineSettings:
    """Return the settings of a run's engine, with vLLM's share of the GPU."""
    config = run.config
    section = "sglang" if config.engine == "sglang-server" else "vllm"
    options = dataclasses.asdict(getattr(config, section)) | {
        "model": "" if config.model == TINY else config.model,
        "run_folder": config.out / section,
        "memory": share or config.vllm.memory,
    }
    bf16 = config.memory.precision == "bf16"
    return EngineSettings(pad_id, context, slots, config.seed, options, bf16, pool)

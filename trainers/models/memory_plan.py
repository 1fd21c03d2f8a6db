"""Divide a device's memory between training and generation.

- Episodes play at the same time, up to those of a step, as far as the keys and values of an engine
  of transformers fit beside the training.
- vLLM in this process gets what the training leaves of a GPU, unless ``--vllm.memory`` says more.
- A run whose estimate does not fit its device is refused before anything is loaded.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

from agentgym.errors import ConfigurationError
from agentgym.support.process_memory import available_bytes, resident_bytes
from agentgym.support.provenance import machine
from trainers import processes
from trainers.config.resolve import ResolvedRun
from trainers.config.schema import TINY
from trainers.config.sections import TinyConfig
from trainers.methods.table import in_flight, lag_of, methods
from trainers.models.memory import (
    GIB,
    MemoryEstimate,
    ModelShape,
    TrainingSetup,
    cache_bytes,
    estimate,
)
from trainers.models.tiny import model_config
from trainers.rollouts.engines import acting_engine

if TYPE_CHECKING:
    from rich.console import RenderableType
    from transformers import PretrainedConfig

__all__ = [
    "Device",
    "MemoryPlan",
    "check_memory",
    "config_and_shape",
    "memory_line",
    "memory_notes",
    "memory_table",
    "plan_memory",
    "share_for_vllm",
    "slots_that_fit",
]

TINY_VOCABULARY = 200
"""Assumed vocabulary of a policy from scratch, which is only known after demonstrations."""
RESERVE = 0.1
"""Share of a device kept free for fragmentation, the framework, and errors of the estimate."""
MOST_FOR_VLLM = 0.9
"""Maximum share of a GPU for vLLM."""
CPU_CACHE = GIB
"""Size of vLLM's cache without a GPU, in bytes."""
LIBRARIES = GIB // 10
"""Bytes of packages that are imported only after the run was checked."""
RETAINED = 0.5
"""Share of what a layer computes that the allocator of a CPU keeps, measured with glibc."""
LONGER_OPENING = 1.25
"""Opening of the longest task of a step, as a multiple of that of the first one."""
SHARING = ("llama", "qwen2", "qwen3")
"""Model types whose attention is known to compute shared prefixes once; for others the estimate
assumes separate rows, which is an upper bound."""
SPARE_ROOM = 1.5
"""Positions that the engine of transformers makes for an episode, as a multiple of its tokens."""
BITS = {"float32": 32, "bfloat16": 16, "float16": 16, "fp32": 32, "bf16": 16}
"""Bits of a number, by the name of its type or of a run's precision."""
ADVICE = {
    ("weights", "reference", "gradients", "optimizer", "cast_weights"): (
        "a smaller --model, adapters (--lora.r), --memory.quantize, --memory.optimizer adamw-8bit "
        "or more GPUs with --launch-config fsdp2"
    ),
    ("activations", "working", "allocator", "gathered"): (
        "a lower --memory.micro-tokens or --rl.episode-tokens, or --memory.checkpointing on"
    ),
    ("process",): "a machine with more memory, or smaller data of the environment (--env-kwargs)",
    ("generation", "engine"): (
        "a lower --vllm.memory, --vllm.sleep, a lower --rl.episode-tokens, or --engine vllm-server "
        "on another device"
    ),
}
"""Advice on how to reduce each part of an estimate; methods add their own."""


@dataclass(frozen=True)
class Device:
    """The device that a run trains on."""

    name: str
    """In words."""
    size: int
    """Bytes of its memory, for one process."""
    gpu: bool
    """Whether it is a GPU."""
    free: int | None = None
    """Bytes that this process holds or can still allocate; None: all."""

    def __str__(self) -> str:
        """The device and its memory."""
        free = f", {self.usable / GIB:.1f} of them free" if self.usable < 0.95 * self.size else ""
        return f"{self.name} of {self.size / GIB:.1f} GiB{free}"

    @property
    def usable(self) -> int:
        """Bytes available to the run, without those held by other programs."""
        return self.size if self.free is None else min(self.size, self.free)

    def shared_by(self, runs: int) -> Device:
        """Return the share of one of several concurrent runs."""
        return replace(
            self,
            name=f"{self.name}, shared by {runs} runs,",
            size=self.size // runs,
            free=self.usable // runs,
        )

    @classmethod
    def current(cls) -> Device | None:
        """Return the device of this process; None if its memory is unknown."""
        import torch

        if torch.cuda.is_available():
            name = torch.cuda.get_device_name()
            free_bytes, size = torch.cuda.mem_get_info()
            return cls(
                f"one {name}", size, gpu=True, free=free_bytes + torch.cuda.memory_reserved()
            )
        size = machine()["memory_gib"]
        if size is None:
            return None
        several, free_bytes = processes.local_world(), available_bytes()
        name = "this machine" if several == 1 else f"a share of this machine among {several}"
        free = None if free_bytes is None else free_bytes // several + (resident_bytes() or 0)
        return cls(name, int(size * GIB) // several, gpu=False, free=free)


@dataclass(frozen=True)
class MemoryPlan:
    """The memory of a run on its device."""

    estimate: MemoryEstimate
    """Bytes by purpose."""
    device: Device | None
    """The device; None: its memory is unknown."""
    episodes: int
    """Episodes that play at a time in this process, if they fit."""
    room: int | None = None
    """Episodes whose key-value caches fit beside the training; None: the engine decides itself."""
    share: float | None = None
    """Share of the GPU that vLLM in this process takes; None: there is none."""
    sleeps: bool = False
    """Whether vLLM sleeps while the policy trains."""
    copies_fit: bool = True
    """Whether merged or cast copies of matrices fit while the engine generates."""

    def slots(self, episodes: int) -> int:
        """Return how many of a number of episodes may play at once."""
        return episodes if self.room is None else min(episodes, self.room)

    @property
    def peak(self) -> int:
        """The most bytes at a time."""
        return self.estimate.peak(sleeps=self.sleeps)


def share_for_vllm(
    training: MemoryEstimate,
    device: Device,
    weights: int,
    episode: int,
    episodes: int,
    *,
    sleeps: bool,
) -> float:
    """Return the share of a GPU that vLLM gets beside the training, in hundredths.

    It is what training leaves free, at most what all episodes can fill, and at least what one
    episode needs, as vLLM does not start with less.

    Args:
        training: What the training takes without an engine.
        device: The GPU.
        weights: Bytes of vLLM's weights.
        episode: Bytes of the keys and values of an episode that fills its context.
        episodes: Episodes that play at a time.
        sleeps: Whether vLLM frees its memory while the policy trains.
    """
    resident = training.total - (training.updating if sleeps else 0)
    size = device.size  # vLLM's setting is a share of all memory, not of the free memory.
    vllm_bytes = device.usable - size * RESERVE - resident
    useful = weights + episodes * episode + size * RESERVE
    share = int(100 * min(vllm_bytes, useful, size * MOST_FOR_VLLM) / size)
    return max(share, math.ceil(100 * (weights + episode) / size)) / 100


def slots_that_fit(training: MemoryEstimate, device: int, episode: int) -> int:
    """Return how many episodes may play at a time, at least one.

    Args:
        training: What the training takes without keys and values.
        device: Bytes of the device.
        episode: Bytes of the keys and values of an episode that fills its context.
    """
    return max(1, int((device * (1 - RESERVE) - training.total) / max(1, episode)))


def plan_memory(run: ResolvedRun, device: Device | None = None) -> MemoryPlan:
    """Divide the memory of a device; by default that of this process.

    Raises:
        ConfigurationError: The model cannot be found.
    """
    from trainers.models.loaded_policy import token_budget

    settings, device = run.config, device or Device.current()
    config, shape = config_and_shape(settings.model, settings.tiny, settings.lora.targets)
    context = token_budget(run, config).context
    ahead = lag_of(settings) > 0
    engine = acting_engine(settings.engine, ahead=ahead, sharded=processes.sharded())
    episodes = -(-in_flight(settings) // processes.world())
    training = replace(
        _training(
            run,
            context,
            on_gpu=device is not None and device.gpu,
            shares=getattr(config, "model_type", "") in SHARING,
        ),
        engine_copy=engine == "hf-copy",
    )
    parts = [method.memory(run, shape, training) for method in methods() if method.is_used(run)]
    training = replace(training, methods=tuple(parts))
    if engine == "vllm":
        return _beside_vllm(run, shape, training, device, context, episodes)
    if engine in ("vllm-server", "sglang-server"):
        return MemoryPlan(estimate(shape, training), device, episodes)
    alone, room = estimate(shape, training), None
    context = min(context, int(SPARE_ROOM * training.row_tokens))
    if device is not None:
        episode = cache_bytes(shape, context, BITS[settings.memory.precision])
        episode *= training.players  # Each policy that plays keeps its own keys and values.
        room = slots_that_fit(alone, device.usable, episode)
    slots = episodes if room is None else min(episodes, room)
    estimated = estimate(shape, replace(training, slots=slots, context=context))
    # A copy of the model has its adapters merged; without adapters matrices are cast.
    adapters = training.weights_of(shape)[1] > 0
    copied = engine != "hf-copy" if adapters else training.low == 2
    copies = shape.matrices * BITS[settings.memory.precision] // 8 * training.players * copied
    # They are freed before the policy trains, unless the engine plays on meanwhile.
    generating = estimated.total - (0 if ahead else estimated.updating) + copies
    fit = device is None or not copies or generating <= device.size * (1 - RESERVE)
    return MemoryPlan(estimated, device, episodes, room, copies_fit=fit)


def _beside_vllm(
    run: ResolvedRun,
    shape: ModelShape,
    training: TrainingSetup,
    device: Device | None,
    context: int,
    episodes: int,
) -> MemoryPlan:
    """Divide a device between the training and vLLM in the same process."""
    vllm, share, cache = run.config.vllm, None, CPU_CACHE
    bits = BITS[vllm.dtype or run.config.memory.precision] // vllm.tensor_parallel
    if device is not None and device.gpu:
        episode = cache_bytes(shape, context, bits)
        weights = shape.parameters * bits // 8
        share = vllm.memory or share_for_vllm(
            estimate(shape, training), device, weights, episode, episodes, sleeps=vllm.sleep
        )
        cache = max(int(share * device.size) - weights, episode)
    estimated = estimate(shape, replace(training, vllm_bits=bits, vllm_cache=cache))
    return MemoryPlan(estimated, device, episodes, None, share, vllm.sleep)


def check_memory(plan: MemoryPlan) -> None:
    """Check that a run fits its device.

    Raises:
        ConfigurationError: It does not.
    """
    if plan.device is None or plan.peak <= plan.device.usable:
        return
    parts = plan.estimate.parts
    largest = max(parts, key=parts.__getitem__)
    advices = {method.part: method.advice for method in plan.estimate.methods}
    advice = advices.get(largest) or next(
        text for names, text in ADVICE.items() if largest in names
    )
    if plan.peak <= plan.device.size:
        advice = f"{advice}; or end other programs"
    raise ConfigurationError(
        f"expected a run that fits {plan.device}, got one that is estimated at "
        f"{plan.peak / GIB:.1f} GiB, of which {parts[largest] / GIB:.1f} GiB for "
        f"{largest.replace('_', ' ')}: choose {advice} (--dry-run shows every part)"
    )


def memory_notes(run: ResolvedRun, plan: MemoryPlan) -> Iterator[str]:
    """Describe the effect of the device's memory on generation."""
    slots = plan.slots(plan.episodes)
    if slots < plan.episodes:
        yield (
            f"{slots} of {plan.episodes} episodes play at a time, for whose keys and values "
            f"{plan.device} has room if all fill their context; --engine vllm packs them"
        )
    if not plan.copies_fit:
        what = "adapters are not merged" if run.config.lora.r else "matrices are cast every time"
        yield f"{what} while the policy generates: copies of them need more memory"
    if plan.share is None or plan.device is None:
        return
    resident = plan.estimate.total - plan.estimate.generating
    resident -= plan.estimate.updating * plan.sleeps
    remainder = "what stays while it generates" if plan.sleeps else "the training"
    source = ", as --vllm.memory says" if run.config.vllm.memory else " (--vllm.memory)"
    yield (
        f"vLLM takes {plan.share:g} of {plan.device}, beside {resident / GIB:.1f} GiB at which "
        f"{remainder} is estimated{source}"
    )


def memory_line(run: ResolvedRun, plan: MemoryPlan) -> str:
    """Return a sentence on a run's estimated memory and how it trains within it."""
    memory, of = run.config.memory, f" of {plan.device}" if plan.device else ""
    return (
        f"memory: estimated at {plan.peak / GIB:.1f} GiB{of}; checkpointing "
        f"{memory.checkpointing}, micro-batches of at most {memory.micro_tokens:,} tokens"
    )


def memory_table(run: ResolvedRun, plan: MemoryPlan) -> RenderableType:
    """Return a table of a run's estimated memory."""
    from rich.console import Group
    from rich.table import Table

    memory = run.config.memory
    terms = (
        f"precision {memory.precision}, checkpointing {memory.checkpointing}, micro-batches of "
        f"{memory.micro_tokens:,} tokens, logits in tiles of {memory.logits_mib} MiB, "
        f"{memory.optimizer}"
        + (f", base of {memory.quantize}" if memory.quantize != "none" else "")
    )
    table = Table("memory", "GiB")
    for name, size in plan.estimate.parts.items():
        if size >= GIB / 200:  # would print as 0.00
            table.add_row(name.replace("_", " "), f"{size / GIB:.2f}")
    tiny = run.config.model == TINY
    assumed = f" for a vocabulary of {TINY_VOCABULARY} words" if tiny else ""
    of = f" of {plan.device}" if plan.device else ""
    lines = [
        f"memory: {terms}",
        f"memory per device, estimated{assumed}{_division()}: {plan.peak / GIB:.2f} GiB{of}",
        *memory_notes(run, plan),
    ]
    return Group(*lines, *([table] if table.rows else []))


def _division() -> str:
    """Return what the processes of a launch shard, in words."""
    if processes.world() == 1:
        return ""
    states = "gradients and optimiser states"
    divided = f"weights, {states}" if processes.sharded() else states
    divided = divided if processes.states_sharded() else "nothing"
    return f", in {processes.world()} processes that divide {divided}"


@cache
def config_and_shape(
    model: str, tiny: TinyConfig, targets: tuple[str, ...]
) -> tuple[PretrainedConfig, ModelShape]:
    """Return the configuration of a run's model and its shape; both are read once."""
    from trainers.models.loaded_policy import read_model_config

    if model == TINY:
        fresh = model_config(tiny, TINY_VOCABULARY)
        return fresh, ModelShape.of(fresh)
    config = read_model_config(model)
    return config, ModelShape.of(config, targets)


@cache
def _process_bytes() -> int:
    """Return the bytes that this process held at the first call, before it loaded weights.

    After a run a process keeps parts of it, which the next run does not load again.
    """
    return (resident_bytes() or 0) + LIBRARIES


def _training(run: ResolvedRun, context: int, *, on_gpu: bool, shares: bool) -> TrainingSetup:
    """Return how a run trains its model, without an engine."""
    import torch

    from trainers.rollouts.scoring.forward import CPU_TILE, MIB

    settings, memory = run.config, run.config.memory
    episodes = -(-settings.rl.episodes // processes.world())
    turns = max(env.full_horizon for env in run.envs)
    acted = min(context, settings.rl.turn_tokens * turns)
    # A single-turn episode has no observation after its turn.
    episode_tokens = min(settings.rl.episode_tokens, acted if turns == 1 else context)
    has_opening = run.opening_tokens > 0
    row = (
        min(context, int(LONGER_OPENING * run.opening_tokens) + episode_tokens)
        if has_opening
        else context
    )
    imitated = settings.sft.batch_size if run.imitates else 0
    return TrainingSetup(
        micro_tokens=memory.micro_tokens,
        row_tokens=row,
        rows=max(episodes, imitated) if has_opening else 0,
        groups=(
            -(-settings.rl.groups // processes.world())
            if has_opening and shares and memory.shared_prefixes == "auto"
            else 0
        ),
        opening_tokens=min(run.opening_tokens, row - 1),
        scored_tokens=min(acted, episode_tokens),
        sampled_tokens=episodes * acted,
        precision=memory.precision,
        checkpointing=memory.checkpointing == "on",
        rank=0 if settings.model == TINY else settings.lora.r,
        logits_mib=memory.logits_mib if on_gpu else min(memory.logits_mib, CPU_TILE // MIB),
        optimizer=memory.optimizer,
        quantize=memory.quantize,
        reference="reference" in run.preset.needs,
        triton=torch.cuda.is_available(),
        shards=processes.world() if processes.states_sharded() else 1,
        weights_sharded=processes.sharded(),
        process=0 if on_gpu else _process_bytes(),
        retained=0.0 if on_gpu else RETAINED,
    )

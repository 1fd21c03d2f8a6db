"""Choose gradient checkpointing and micro-batch size by the free memory.

Neither changes the gradient beyond rounding. Settings that a run leaves open are chosen once and
stored with it, so that a resumed run uses the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from trainers import processes
from trainers.config.config_file import CONFIG_FILE, RESOLVED, read_settings
from trainers.config.resolve import ResolvedRun
from trainers.config.schema import TINY
from trainers.models.memory_plan import RESERVE, Device, plan_memory

__all__ = ["with_chosen_memory"]

OPEN = ("checkpointing", "micro_tokens")
"""Memory settings that are chosen here if neither flag nor file sets them."""
CHOICES = (
    *(("off", tokens) for tokens in (16_384, 8192, 4096, 2048)),
    *(("on", tokens) for tokens in (16_384, 8192, 4096, 2048, 1024)),
)
"""Checkpointing and tokens of a micro-batch, the fastest first: checkpointing computes each layer
twice, while smaller micro-batches cost little down to a few thousand tokens."""


MOST_ON_CPU = 4096
"""Tokens of a micro-batch on a CPU, at most: more than the rows of a step hold in quick runs of
SmolLM2, which share their prefixes. The estimate assumes episodes that spend all of their tokens.
As these spend a third, it was nearly three times the peak where micro-batches might be larger."""


def with_chosen_memory(run: ResolvedRun, device: Device | None = None) -> ResolvedRun:
    """Return a run of a pretrained model with its open memory settings chosen for its device.

    Args:
        run: The run.
        device: Where it trains; None: the device of this process.
    """
    filled = run.filled.get("memory", {})
    is_open = [name for name in OPEN if name in filled]
    if run.config.model == TINY or not is_open:
        return run
    stored = _stored(run)
    settings = {name: stored[name] for name in is_open if name in stored}
    if len(settings) < len(is_open):
        settings = processes.on_main(lambda: _fastest(run, is_open, device)) | settings
    return _with_memory(run, settings)


def _fastest(run: ResolvedRun, is_open: list[str], device: Device | None) -> dict[str, Any]:
    """Return the fastest open settings with which a run fits.

    The first choice that lets all episodes of a step play at once wins; if none does, checkpointing
    leaves the most memory to the episodes. With vLLM in this process, which takes the remaining
    memory, and with unknown memory, checkpointing is the safe choice.
    """
    device, values = device or Device.current(), {}
    small = device is not None and not device.gpu
    fitting = [pair for pair in CHOICES if not (small and pair[1] > MOST_ON_CPU)]
    checkpointed = [pair for pair in fitting if pair[0] == "on"]
    modest = device is None or run.config.engine == "vllm"
    rounds = [(checkpointed, False)] if modest else [(fitting, True), (checkpointed, False)]
    for choices, all_play in rounds:
        for choice in choices:
            pairs = dict(zip(OPEN, choice, strict=True))
            values = {name: pairs[name] for name in is_open}
            plan = plan_memory(_with_memory(run, values), device)
            fits = device is None or plan.peak <= (1 - RESERVE) * device.usable
            if fits and (not all_play or plan.slots(plan.episodes) == plan.episodes):
                return values
    return values


def _stored(run: ResolvedRun) -> Mapping[str, Any]:
    """Return the memory settings that a resumed run began with."""
    path = run.config.out / CONFIG_FILE
    if not run.config.resume or not path.exists():
        return {}
    memory: Mapping[str, Any] = read_settings(path).get(RESOLVED, {}).get("memory", {})
    return memory


def _with_memory(run: ResolvedRun, values: Mapping[str, Any]) -> ResolvedRun:
    """Return a run with changed memory settings."""
    memory = replace(run.config.memory, **values)
    filled = {**run.filled, "memory": {**run.filled.get("memory", {}), **values}}
    return replace(run, config=replace(run.config, memory=memory), filled=filled)

"""The choice of checkpointing and micro-batches by the memory that is free.

Both change no gradient beyond rounding. What a run leaves open is chosen once and stored with it,
so that its continuation uses the same.
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
"""Settings of memory that are chosen here where neither flag nor file gives them."""
CHOICES = (
    *(("off", tokens) for tokens in (16_384, 8192, 4096, 2048)),
    *(("on", tokens) for tokens in (16_384, 8192, 4096, 2048, 1024)),
)
"""Checkpointing and tokens of a micro-batch, the fastest first: checkpointing computes each layer
twice, while smaller micro-batches cost little down to a few thousand tokens."""


def with_chosen_memory(run: ResolvedRun, device: Device | None = None) -> ResolvedRun:
    """Return a run with a pretrained model whose open settings of memory fit its device.

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
    """Return the fastest values of open settings with which a run fits.

    With the first that fit all episodes of a step play at a time; if none do, checkpointing leaves
    most to the episodes. vLLM in this process takes whatever is left, which checkpointing makes
    more; where memory is unknown it is the safer choice, too.
    """
    device, values = device or Device.current(), {}
    checkpointed = [pair for pair in CHOICES if pair[0] == "on"]
    modest = device is None or run.config.engine == "vllm"
    rounds = [(checkpointed, False)] if modest else [(CHOICES, True), (checkpointed, False)]
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
    """Return the settings of memory that a run began with, if it is resumed."""
    path = run.config.out / CONFIG_FILE
    if not run.config.resume or not path.exists():
        return {}
    memory: Mapping[str, Any] = read_settings(path).get(RESOLVED, {}).get("memory", {})
    return memory


def _with_memory(run: ResolvedRun, values: Mapping[str, Any]) -> ResolvedRun:
    """Return a run with other settings of memory."""
    memory = replace(run.config.memory, **values)
    filled = {**run.filled, "memory": {**run.filled.get("memory", {}), **values}}
    return replace(run, config=replace(run.config, memory=memory), filled=filled)

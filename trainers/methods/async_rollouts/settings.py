"""The section ``--async-rollouts.*``: how generation runs ahead of training."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from agentgym.errors import ConfigurationError
from trainers import processes
from trainers.algorithms.preset import Preset
from trainers.config.field_types import Count, Whole, strict
from trainers.methods.method import section_of

if TYPE_CHECKING:
    from trainers.config.resolve import ResolvedRun
    from trainers.config.schema import TrainConfig

__all__ = [
    "AsyncRolloutsConfig",
    "check_own_weights",
    "check_processes",
    "check_settings",
    "in_flight",
    "is_fully_async",
    "lag_of_settings",
    "staleness_of",
]

Mode = Literal["fixed-lag", "fully-async"]
"""How generation runs ahead."""


@strict
@dataclass(frozen=True)
class AsyncRolloutsConfig:
    """Generation ahead of training (AReaL, arXiv 2505.24298)."""

    staleness: Whole = 0
    """Steps that generation runs ahead of training. While step s trains, the episodes of step s + N
    are played by the current policy; truncated importance weights correct for the lag. 0:
    generation and training take turns, which is exact.

    Above 0 ``--engine hf`` is ``hf-copy``, which needs memory for a second copy of the weights."""
    mode: Mode = "fixed-lag"
    """fixed-lag: the batch of step s + N is played while step s trains, whichever is faster, so a
    run repeats to the bit. fully-async: episodes are played without end, an update takes the first
    complete groups, and the others play on with the new weights; N is then the largest age of a
    turn that trains, in steps, and older turns are left out of the loss."""
    max_concurrent: Count | None = None
    """Most episodes at a time with fully-async. None: those of a step, times 1 + N / 2, rounded
    up."""


def is_fully_async(config: TrainConfig) -> bool:
    """Return whether generation waits neither for training nor for the slowest episode."""
    section = section_of(config, AsyncRolloutsConfig)
    return section.staleness > 0 and section.mode == "fully-async"


def steps_planned(staleness: int) -> int:
    """Return how many steps ahead of training groups are planned, with a bound N on staleness.

    Half of it, since a group that takes twice as long as others trains twice as many steps later.
    """
    return math.ceil(staleness / 2)


def lag_of_settings(config: TrainConfig) -> int:
    """Return the steps that are planned ahead of training."""
    staleness = staleness_of(config)
    return steps_planned(staleness) if is_fully_async(config) else staleness


def in_flight(config: TrainConfig) -> int:
    """Return the most episodes at a time; 0: those of a step."""
    if not is_fully_async(config):
        return 0
    most = section_of(config, AsyncRolloutsConfig).max_concurrent
    return most or (1 + lag_of_settings(config)) * config.rl.episodes


def staleness_of(config: TrainConfig) -> int:
    """Return the steps that generation runs ahead of training."""
    return section_of(config, AsyncRolloutsConfig).staleness


def check_own_weights(engine: object, policy: object, staleness: int) -> None:
    """Check that an engine can play while the policy is trained.

    Raises:
        ConfigurationError: It generates with the weights that are trained.
    """
    if getattr(engine, "model", None) is policy:
        raise ConfigurationError(
            f"expected an engine with weights of its own to play {staleness} steps ahead, got "
            f"{getattr(engine, 'name', engine)!r}, which generates with those being trained; "
            "choose hf-copy or vllm"
        )


def check_settings(preset: Preset, config: TrainConfig, without_expert: Sequence[str]) -> None:
    """Check that the engine is awake while the policy trains, and that the mode fits the rest.

    Raises:
        ConfigurationError: It sleeps then, or something needs the episodes of a step together.
    """
    section = section_of(config, AsyncRolloutsConfig)
    _check_mode(section, preset, config)
    staleness = staleness_of(config)
    if staleness and config.vllm.sleep:
        raise ConfigurationError(
            "expected --vllm.sleep only with --async-rollouts.staleness 0, because generation "
            f"ahead of the training goes on while that trains; got {staleness}"
        )


def check_processes(run: ResolvedRun) -> None:
    """Check that several processes need not meet while they play ahead.

    Raises:
        ConfigurationError: They replace groups together.
    """
    if processes.world() > 1 and is_fully_async(run.config):
        raise ConfigurationError(
            "expected --async-rollouts.mode fixed-lag with several processes, as each would "
            f"complete other groups first; got fully-async in {processes.world()} processes; "
            "choose fixed-lag, or start one process"
        )
    if processes.world() > 1 and run.preset.refill:
        raise ConfigurationError(
            "expected --async-rollouts.staleness 0 where several processes replace groups "
            "(--refill.groups), because refilling synchronises the processes, while each process "
            f"plays ahead on its own; got {staleness_of(run.config)}"
        )


def _check_mode(section: AsyncRolloutsConfig, preset: Preset, config: TrainConfig) -> None:
    """Check what the mode of generation depends on.

    Raises:
        ConfigurationError: It has no bound, or something needs the episodes of a step together.
    """
    if section.mode == "fixed-lag":
        if section.max_concurrent is not None:
            raise ConfigurationError(
                "expected --async-rollouts.max-concurrent only with --async-rollouts.mode "
                f"fully-async, got {section.max_concurrent} with a fixed lag; leave it out"
            )
        return
    if not section.staleness:
        raise ConfigurationError(
            "expected --async-rollouts.staleness of at least 1 with --async-rollouts.mode "
            "fully-async, whose turns may be that many steps old; got 0: choose 4, or fixed-lag"
        )
    checks = (
        ("--refill.groups, which replaces groups of a step", preset.refill, "--refill.groups 0"),
        (
            "forks (--preset such as arpo), which share the groups of a step",
            preset.branching,
            "a preset without forks",
        ),
        (
            "--cross-policy.share, which has a second policy play",
            preset.pool,
            "--cross-policy.share 0",
        ),
        ("--agent, which owns its loop", config.agent or config.agent_command, "no --agent"),
    )
    for reason, is_there, remedy in checks:
        if is_there:
            raise ConfigurationError(
                f"expected --async-rollouts.mode fixed-lag with {reason}, got fully-async; choose "
                f"fixed-lag, or {remedy}"
            )

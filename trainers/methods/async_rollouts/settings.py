"""The section ``--async-rollouts.*``: how far generation runs ahead of training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentgym.errors import ConfigurationError
from trainers import processes
from trainers.algorithms.preset import Preset
from trainers.config.field_types import Whole, strict
from trainers.methods.method import section_of

if TYPE_CHECKING:
    from trainers.config.resolve import ResolvedRun
    from trainers.config.schema import TrainConfig

__all__ = ["AsyncRolloutsConfig", "check_processes", "check_sleep", "staleness_of"]


@strict
@dataclass(frozen=True)
class AsyncRolloutsConfig:
    """Generation ahead of training (AReaL, arXiv 2505.24298)."""

    staleness: Whole = 0
    """Steps that generation runs ahead of training. While step s trains, the episodes of step s + N
    are played by the current policy; truncated importance weights correct for the lag. 0:
    generation and training take turns, which is exact.

    Above 0 ``--engine hf`` is ``hf-copy``, which needs memory for a second copy of the weights."""


def staleness_of(config: TrainConfig) -> int:
    """Return the steps that generation runs ahead of training."""
    return section_of(config, AsyncRolloutsConfig).staleness


def check_sleep(preset: Preset, config: TrainConfig, without_expert: Sequence[str]) -> None:
    """Check that the engine is awake while the policy trains.

    Raises:
        ConfigurationError: It sleeps then.
    """
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
    if processes.world() > 1 and run.preset.refill:
        raise ConfigurationError(
            "expected --async-rollouts.staleness 0 where several processes replace groups "
            "(--refill.groups), because refilling synchronises the processes, while each process "
            f"plays ahead on its own; got {staleness_of(run.config)}"
        )

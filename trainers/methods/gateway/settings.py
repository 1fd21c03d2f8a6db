"""The section ``--gateway.*``: the limits of an agent that owns its loop."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentgym.errors import ConfigurationError
from trainers.algorithms.preset import Preset
from trainers.config.field_types import Count, Positive, strict
from trainers.methods.method import section_of

if TYPE_CHECKING:
    from trainers.config.schema import TrainConfig

__all__ = ["GatewayConfig", "check_limits", "unread_limits"]


@strict
@dataclass(frozen=True)
class GatewayConfig:
    """Limits of an agent (``--agent``, ``--agent-command``)."""

    timeout: Positive = 600.0
    """Time limit in seconds of an agent for an episode, which is then truncated."""
    calls: Count | None = None
    """Maximum calls of an agent in an episode; None: four per turn of its horizon, plus 16."""


def check_limits(preset: Preset, config: TrainConfig, without_expert: Sequence[str]) -> None:
    """Refuse a limit where there is no agent.

    Raises:
        ConfigurationError: There is one.
    """
    calls = section_of(config, GatewayConfig).calls
    if calls is not None and not config.foreign_loop:
        raise ConfigurationError(
            f"expected --gateway.calls only with --agent or --agent-command, got {calls} without"
        )


def unread_limits(preset: Preset, config: TrainConfig) -> Collection[str]:
    """Return the limits that a run does not read."""
    return () if config.foreign_loop else ("timeout", "calls")

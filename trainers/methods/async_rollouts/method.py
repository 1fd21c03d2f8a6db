"""The row of asynchronous rollouts in the table of methods."""

from __future__ import annotations

from agentgym.trust.table import PLAIN
from trainers.methods.async_rollouts.settings import (
    AsyncRolloutsConfig,
    check_sleep,
    staleness_of,
)
from trainers.methods.method import Method

METHOD = Method(
    name="async_rollouts",
    section=AsyncRolloutsConfig,
    trust={"staleness": PLAIN},
    start_settings=("staleness",),
    used=lambda run: staleness_of(run.config) > 0,
    lag=staleness_of,
    check=check_sleep,
    check_start="trainers.methods.async_rollouts.settings:check_processes",
    step_part="trainers.methods.async_rollouts.producer:producer_part",
)

"""The row of asynchronous rollouts in the table of methods."""

from __future__ import annotations

from agentgym.trust.table import PLAIN
from trainers.methods.async_rollouts.settings import (
    AsyncRolloutsConfig,
    check_settings,
    in_flight,
    lag_of_settings,
    staleness_of,
)
from trainers.methods.method import Method

METHOD = Method(
    name="async_rollouts",
    section=AsyncRolloutsConfig,
    trust=dict.fromkeys(("staleness", "mode", "max_concurrent"), PLAIN),
    start_settings=("staleness",),
    used=lambda run: staleness_of(run.config) > 0,
    lag=lag_of_settings,
    in_flight=in_flight,
    check=check_settings,
    check_start="trainers.methods.async_rollouts.settings:check_processes",
    step_part="trainers.methods.async_rollouts.part:rollouts_part",
)

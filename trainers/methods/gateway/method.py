"""The row of agents that own their loop in the table of methods."""

from __future__ import annotations

from agentgym.trust.table import PLAIN
from trainers.methods.gateway.settings import GatewayConfig, check_limits, unread_limits
from trainers.methods.method import Method

METHOD = Method(
    name="gateway",
    section=GatewayConfig,
    start_settings=("timeout", "calls"),
    trust={"timeout": PLAIN, "calls": PLAIN},
    used=lambda run: run.config.foreign_loop,
    check=check_limits,
    unread=unread_limits,
    check_start="trainers.methods.gateway.checks:check_agent",
    loop="trainers.methods.gateway.loop:AgentLoop",
)

"""The row of agents that own their loop in the table of methods."""

from __future__ import annotations

from trainers.methods.method import Method

METHOD = Method(
    name="gateway",
    used=lambda run: run.config.foreign_loop,
    loop="trainers.methods.gateway.loop:AgentLoop",
)

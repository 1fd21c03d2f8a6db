"""The environments of agents: one for each episode at a time, and the endpoint beside them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import gymnasium

from trainers.methods.gateway.server import GatewayServer

__all__ = ["AgentEnvs"]

MakeEnv = Callable[[], gymnasium.Env[str, str]]
"""Makes an environment whose every failure is an ``EnvFailure``."""


class AgentEnvs:
    """Environments in slots, each made on first use.

    Args:
        makers: Makers of the environments, one per slot.

    Attributes:
        server: The endpoint of all agents.
    """

    def __init__(self, makers: Sequence[MakeEnv]) -> None:
        self.server = GatewayServer()
        self._makers = list(makers)
        self._envs: dict[int, gymnasium.Env[str, str]] = {}

    @property
    def num_envs(self) -> int:
        """Number of slots: the most episodes at a time."""
        return len(self._makers)

    def env(self, slot: int) -> gymnasium.Env[str, str]:
        """Return the environment of a slot."""
        if slot not in self._envs:
            self._envs[slot] = self._makers[slot]()
        return self._envs[slot]

    def give_up(self, slot: int) -> gymnasium.Env[str, str]:
        """Return the environment of a slot, which gets another; the caller closes it.

        An agent may hang in it, and it cannot be closed before that has ended.
        """
        return self._envs.pop(slot)

    def close(self) -> None:
        """Stop the endpoint and close the environments."""
        self.server.close()
        while self._envs:
            self._envs.popitem()[1].close()

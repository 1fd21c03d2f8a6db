"""The expert policy that an environment offers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from agentgym.errors import NotSupported


class KnowsExpert(Protocol):
    """An environment that can say what its expert would do."""

    def oracle_action(self) -> str | None:
        """Return the expert's next action, or None."""
        ...


class Oracle:
    """The expert policy of one environment, reached through ``env.unwrapped.oracle()``.

    It reads the environment's hidden state and answers in the environment's own grammar.
    """

    def __init__(self, env: KnowsExpert) -> None:
        self._env = env

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        """Return the next action of the expert's plan.

        Raises:
            NotSupported: The family has no expert, or none from this state.
        """
        action = self._env.oracle_action()
        if action is None:
            raise NotSupported(
                f"expected {type(self._env).__name__} to know an expert action in this state, but "
                "it does not; the expert works from every state that is not yet lost"
            )
        return action

"""The ceiling: the expert of an environment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium


class OraclePolicy:
    """Asks the environment's own expert, which reads the hidden state."""

    def __init__(self, env: gymnasium.Env[str, str]) -> None:
        """Make the policy.

        Args:
            env: The text environment that is played, wrapped or not.
        """
        self._expert = env.unwrapped.oracle()  # type: ignore[attr-defined]

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        """Return the expert's next action.

        Args:
            observation: Ignored: the expert reads the environment's state.
            info: Ignored.

        Returns:
            The action in the environment's grammar.

        Raises:
            NotSupported: If the family has no expert, or none from this state.
        """
        return str(self._expert.act(observation, info))

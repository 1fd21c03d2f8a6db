"""A function as a policy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from agentgym.errors import ConfigurationError


class CallablePolicy:
    """Wraps ``function(observation, info) -> action``."""

    def __init__(self, function: Callable[[str, Mapping[str, Any]], str]) -> None:
        """Make the policy.

        Args:
            function: Maps observation and info to the action's text.

        Raises:
            ConfigurationError: If it cannot be called.
        """
        if not callable(function):
            raise ConfigurationError(
                f"expected a function of (observation, info) that returns text, got {function!r}"
            )
        self._function = function

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        """Call the function.

        Args:
            observation: The environment's text.
            info: Info of the same reset or step.

        Returns:
            The function's answer.

        Raises:
            ConfigurationError: If the answer is no text.
        """
        action = self._function(observation, info)
        if not isinstance(action, str):
            raise ConfigurationError(
                f"expected the policy function to return a str, got {type(action).__name__}"
            )
        return action

"""The two experts of an environment: the solver that knows the answers, and the demonstrator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium

from agentgym.errors import EnvFailure, NotSupported, PolicyFailure


class OraclePolicy:
    """Play the actions of the solver, which knows the answers, independent of ``expert=``.

    Args:
        env: The text environment to play, wrapped or not.
    """

    _action_method = "oracle_action"
    """Name of the environment's method that returns the next action."""

    def __init__(self, env: gymnasium.Env[str, str]) -> None:
        self._family = type(env.unwrapped).__name__
        # get_wrapper_attr finds the outermost wrapper with this method, so a guard is not bypassed.
        self._next_action = env.get_wrapper_attr(self._action_method)

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        """Return the expert's next action in the environment's grammar.

        Raises:
            NotSupported: The family has no expert, or none from this state.
            PolicyFailure: The environment, which provides the expert, failed.
        """
        try:
            action = self._next_action()
        except EnvFailure as failure:
            raise PolicyFailure(str(failure)) from failure
        if action is None:
            raise NotSupported(
                f"expected {self._family} to know an expert action in this state, but "
                "it does not; the expert works from every state that is not yet lost"
            )
        return str(action)


class DemonstratorPolicy(OraclePolicy):
    """Play the actions of the demonstrator, chosen by ``expert=``, which may make mistakes."""

    _action_method = "demonstrator_action"

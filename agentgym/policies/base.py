"""What a policy is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class Policy(Protocol):
    """Anything that answers an observation with the text of an action.

    A policy may also have ``reset(observation, info)``, which is called when an episode begins, and
    ``last_output``, a `ModelOutput` that episode records keep.
    """

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        """Choose an action.

        Args:
            observation: The environment's text.
            info: The info dict of the same reset or step.

        Returns:
            The action's text, in the environment's grammar.
        """
        ...


def begin(policy: Policy, observation: str, info: Mapping[str, Any]) -> None:
    """Tell a policy that an episode begins, if it wants to know.

    Args:
        policy: The policy.
        observation: First observation of the episode.
        info: Info of the reset.
    """
    reset = getattr(policy, "reset", None)
    if reset is not None:
        reset(observation, info)

"""What a policy is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

PUBLIC_INFO = (
    "task_id",
    "split",
    "turn",
    "horizon",
    "action_valid",
    "admissible_actions",
    "trailing_text",
    "stop_reason",
    "goal",
    "tools",
)
"""Keys of the info dict that a policy may read: where it is, what was understood, what it may do,
and, at reset, the instruction and the tools. The others are facts for trainers, reward hooks and
reports, and tell how far the solution is."""


def public_info(info: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of an info dict that a policy may read.

    Args:
        info: The info dict of a reset or step.

    Returns:
        A new dict with those of its keys that are in `PUBLIC_INFO`.
    """
    return {key: info[key] for key in PUBLIC_INFO if key in info}


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
            info: The info dict of the same reset or step; `agentgym.evaluation` passes what
                `PUBLIC_INFO` lists.

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

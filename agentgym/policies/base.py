"""What a policy is, what it may see, and what it may offer besides actions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from agentgym.conversation import Prompt, invalid_reason
from agentgym.core.outcome import StopReason
from agentgym.errors import PolicyStopped

PUBLIC_INFO = (
    "task_id",
    "split",
    "turn",
    "horizon",
    "action_valid",
    "admissible_actions",
    "trailing_text",
    "stop_reason",
    "agent",
    "agent_task",
    "goal",
    "tools",
)
"""Keys of the info dict that a policy may read: where it is, what was understood, what it may do,
who it is where it plays several agents, and, at reset, the instruction and the tools. The others
are facts for trainers, reward hooks and reports, and tell how far the solution is; of ``details``
a policy reads the reason of an invalid action alone."""


def public_info(info: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of an info dict that a policy may read, as a new dict."""
    public = {key: info[key] for key in PUBLIC_INFO if key in info}
    reason = invalid_reason(info)
    return {**public, "details": {"reason": reason}} if reason else public


@dataclass(frozen=True)
class ModelOutput:
    """What a model produced for one action."""

    text: str
    """The whole text, thinking included."""
    prompt_tokens: int = 0
    """Tokens of the request, as counted by the endpoint."""
    completion_tokens: int = 0
    """Tokens of the answer, as counted by the endpoint."""
    cached_tokens: int = 0
    """Those of the request that the endpoint had in its cache."""
    reasoning_tokens: int = 0
    """Those of the answer that were thinking."""
    reasoning: str = ""
    """Thinking that the endpoint returned apart from the answer."""
    finish_reason: str = ""
    """Why the model stopped, as the endpoint says: ``stop``, ``length``, ``tool_calls``."""
    model: str = ""
    """Name of the model, where the policy's ``facts()`` do not say it."""


@runtime_checkable
class Policy(Protocol):
    """Anything that answers an observation with the text of an action.

    A policy may also be a `PolicyWithReset`, `PolicyWithOutput`, `PolicyWithSeed`,
    `PolicyWithCopies`, `PolicyWithPrompt` or `PolicyWithFacts`.
    """

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        """Choose an action.

        Args:
            observation: The environment's text.
            info: The info dict of the same reset or step; `agentgym.policies.play` passes what
                `PUBLIC_INFO` lists.

        Returns:
            The action's text, in the environment's grammar.
        """
        ...


@runtime_checkable
class PolicyWithReset(Protocol):
    """A policy that is told when an episode begins."""

    def reset(self, observation: str, info: Mapping[str, Any]) -> None:
        """Begin an episode with its first observation and the info of the reset."""
        ...


@runtime_checkable
class PolicyWithOutput(Protocol):
    """A policy whose model's last output is kept in episode records."""

    last_output: ModelOutput | None
    """What the model produced for the last action."""


@runtime_checkable
class PolicyWithSeed(Protocol):
    """A policy that draws, and whose draws depend on the episode alone."""

    def seed(self, seed: int) -> None:
        """Take the seed of the next episode, before it begins: a number from 0 to 2^32 - 1."""
        ...


@runtime_checkable
class PolicyWithWaits(Protocol):
    """A policy that waits, and need not when nobody needs its action any more."""

    def interrupt(self) -> None:
        """Let ``act``, if it waits in another thread, fail; later calls are not affected."""
        ...


@runtime_checkable
class PolicyWithCopies(Protocol):
    """A policy of which several may play at the same time, each its own episode."""

    def copy(self) -> Policy:
        """Return another policy like it, which shares what is heavy and no episode."""
        ...


@runtime_checkable
class PolicyWithPrompt(Protocol):
    """A policy whose messages to a model can be laid out in another way."""

    def with_prompt(self, prompt: Prompt, sampling: Mapping[str, Any]) -> Policy:
        """Return a policy like it whose messages are laid out so.

        Args:
            prompt: Lays them out.
            sampling: Settings, such as ``temperature``, that count where it has none of its own.
        """
        ...


@runtime_checkable
class PolicyWithFacts(Protocol):
    """A policy that says what it is."""

    def facts(self) -> Mapping[str, Any]:
        """Return what identifies it in a report, JSON-safe: model, endpoint, sampling; no key."""
        ...


def begin(policy: Policy, observation: str, info: Mapping[str, Any]) -> None:
    """Tell a policy that an episode begins, if it is a `PolicyWithReset`."""
    if isinstance(policy, PolicyWithReset):
        policy.reset(observation, info)


def checked_action(action: object) -> str:
    """Return what a policy answered, if it is the text of an action.

    Raises:
        PolicyStopped: It is something else, with which its episode ends.
    """
    if not isinstance(action, str):
        raise PolicyStopped(
            StopReason.STOPPED.value,
            f"expected the policy to return the text of an action, got {type(action).__name__}",
        )
    return action

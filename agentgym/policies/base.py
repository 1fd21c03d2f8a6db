"""The policy protocols: the required method, the visible information and the optional methods."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from agentgym.conversation import Prompt, invalid_reason
from agentgym.core.outcome import StopReason
from agentgym.endpoints.returned_tokens import ReturnedTokens
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
    "forgets",
    "goal",
    "tools",
)
"""Keys of the info dict that a policy may read: task, progress of the episode, parsed action,
admissible actions, the acting agent and, at reset, the instruction and the tools. All other keys
are for trainers, reward hooks and reports, because they may reveal how far the solution is; of
``details`` a policy sees only the reason of an invalid action."""


def public_info(info: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of an info dict that a policy may read, as a new dict."""
    public = {key: info[key] for key in PUBLIC_INFO if key in info}
    reason = invalid_reason(info)
    return {**public, "details": {"reason": reason}} if reason else public


@dataclass(frozen=True)
class ModelOutput:
    """Output of a model for one action."""

    text: str
    """The whole text, thinking included."""
    prompt_tokens: int = 0
    """Tokens of the request, as counted by the endpoint."""
    completion_tokens: int = 0
    """Tokens of the response, as counted by the endpoint."""
    cached_tokens: int = 0
    """Tokens of the request that the endpoint had cached."""
    reasoning_tokens: int = 0
    """Tokens of the response that were thinking."""
    reasoning: str = ""
    """Thinking that the endpoint returned separately from the response."""
    finish_reason: str = ""
    """Finish reason reported by the endpoint: ``stop``, ``length``, ``tool_calls``."""
    model: str = ""
    """Name of the model, if the policy's ``facts()`` do not contain it."""
    sampled: ReturnedTokens | None = None
    """Token ids and log-probabilities, if the endpoint returned them."""


@runtime_checkable
class Policy(Protocol):
    """Protocol of a policy: maps an observation to the text of an action.

    A policy may also be a `PolicyWithReset`, `PolicyWithOutput`, `PolicyWithSeed`,
    `PolicyWithCopies`, `PolicyWithPrompt` or `PolicyWithFacts`.
    """

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        """Choose an action.

        Args:
            observation: The environment's text.
            info: The info dict of the same reset or step; `agentgym.policies.play` passes only the
                keys of `PUBLIC_INFO`.

        Returns:
            The action's text, in the environment's grammar.
        """
        ...


@runtime_checkable
class PolicyWithReset(Protocol):
    """A policy that is reset when an episode begins."""

    def reset(self, observation: str, info: Mapping[str, Any]) -> None:
        """Begin an episode with its first observation and the info of the reset."""
        ...


@runtime_checkable
class PolicyWithOutput(Protocol):
    """A policy that exposes its model's last output for episode records."""

    last_output: ModelOutput | None
    """Output of the model for the last action."""


@runtime_checkable
class PolicyWithSeed(Protocol):
    """A stochastic policy whose draws depend only on the episode."""

    def seed(self, seed: int) -> None:
        """Set the seed of the next episode, before it begins: a number from 0 to 2^32 - 1."""
        ...


@runtime_checkable
class PolicyWithWaits(Protocol):
    """A policy that blocks on an external resource and can be interrupted."""

    def interrupt(self) -> None:
        """Make an ``act`` that waits in another thread fail; later calls are not affected."""
        ...


@runtime_checkable
class PolicyWithCopies(Protocol):
    """A policy that can be copied to play several episodes concurrently."""

    def copy(self) -> Policy:
        """Return a copy that shares heavy resources but no episode state."""
        ...


@runtime_checkable
class PolicyWithPrompt(Protocol):
    """A policy whose model can be given another prompt."""

    def with_prompt(self, prompt: Prompt, sampling: Mapping[str, Any]) -> Policy:
        """Return a copy of the policy that uses a prompt.

        Args:
            prompt: Lays out the messages.
            sampling: Defaults of sampling settings, such as ``temperature``, for those that the
                policy does not set.
        """
        ...


@runtime_checkable
class PolicyWithFacts(Protocol):
    """A policy that describes itself for reports."""

    def facts(self) -> Mapping[str, Any]:
        """Return JSON-safe facts that identify the policy, such as its model; no API key."""
        ...


def begin(policy: Policy, observation: str, info: Mapping[str, Any]) -> None:
    """Reset a policy for a new episode, if it is a `PolicyWithReset`."""
    if isinstance(policy, PolicyWithReset):
        policy.reset(observation, info)


def checked_action(action: object) -> str:
    """Return the action of a policy after checking that it is text.

    Raises:
        PolicyStopped: The action is not text; this ends the episode.
    """
    if not isinstance(action, str):
        raise PolicyStopped(
            StopReason.STOPPED.value,
            f"expected the policy to return the text of an action, got {type(action).__name__}",
        )
    return action

"""Outcomes of turns, and stop reasons."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from agentgym.errors import EnvFailure

OBSERVATION_LENGTH = 32768
"""Maximum number of characters of an observation."""
SUCCESS_UNKNOWN = "success_unknown"
"""Key of ``info["details"]``: True if the environment does not report whether a task is solved."""


class StopReason(str, Enum):
    """Why an episode ended; ``NONE`` while it runs.

    All except ``ERROR`` are attributed to the policy, and the episode's score counts.
    """

    NONE = ""
    SUCCESS = "success"
    FAILURE = "failure"
    """The task ended unsolved: a wrong answer, a wrong purchase, a lost game."""
    ANSWER = "answer"
    HORIZON = "horizon"
    SANDBOX = "sandbox"
    """The sandbox died during a command of the policy."""
    ACTION_ERROR = "action_error"
    """The environment raised an error on an action of the policy, and works on others."""
    CONTEXT = "context"
    """The conversation exceeded the model's context."""
    REFUSED = "refused"
    """The model or a content filter refused to respond."""
    UNREADABLE = "unreadable"
    """The model's response could not be parsed."""
    TOKEN_LIMIT = "token_limit"
    """A limit on tokens, outside of the environment, was reached."""
    COST_LIMIT = "cost_limit"
    """A limit on costs, outside of the environment, was reached."""
    INVALID_ACTIONS = "invalid_actions"
    """A limit on consecutive invalid actions, outside of the environment, was reached."""
    STOPPED = "stopped"
    """The agent stopped before its episode was over."""
    ERROR = "error"
    """The infrastructure failed: the episode has no valid score."""

    @property
    def words(self) -> str:
        """The reason in words."""
        return WORDS.get(self, self.value)

    @property
    def outside(self) -> bool:
        """Whether the cause was outside of the environment and so cannot be replayed."""
        return self in OUTSIDE


OUTSIDE = frozenset(
    {
        StopReason.CONTEXT,
        StopReason.REFUSED,
        StopReason.UNREADABLE,
        StopReason.TOKEN_LIMIT,
        StopReason.COST_LIMIT,
        StopReason.INVALID_ACTIONS,
        StopReason.STOPPED,
        StopReason.ERROR,
    }
)
"""Ends caused by the policy or the infrastructure instead of the environment."""

WORDS: Mapping[StopReason, str] = {
    StopReason.SUCCESS: "solved",
    StopReason.FAILURE: "wrong answer",
    StopReason.ANSWER: "answered",
    StopReason.HORIZON: "turn limit",
    StopReason.SANDBOX: "killed its sandbox",
    StopReason.ACTION_ERROR: "action raised an error",
    StopReason.CONTEXT: "context full",
    StopReason.REFUSED: "refused",
    StopReason.UNREADABLE: "unreadable answer",
    StopReason.TOKEN_LIMIT: "token limit",
    StopReason.COST_LIMIT: "cost limit",
    StopReason.INVALID_ACTIONS: "invalid actions",
    StopReason.STOPPED: "agent stopped",
    StopReason.ERROR: "broken",
}
"""Stop reasons in words."""


def ending_words(reason: str, success: bool) -> str:
    """Return in words how an episode ended: "answered" becomes "solved" or "wrong answer"."""
    if reason == StopReason.ANSWER.value:
        reason = (StopReason.SUCCESS if success else StopReason.FAILURE).value
    return reason_words(reason)


def reason_words(reason: str) -> str:
    """Return a stop reason in words; other text is returned unchanged."""
    try:
        return StopReason(reason).words
    except ValueError:
        return reason


@dataclass(slots=True)
class Outcome:
    """The outcome of an action, as reported by a family."""

    observation: str
    """Text of the next observation."""
    reward: float = 0.0
    """The family's reward of this turn."""
    terminated: bool = False
    """Whether the task ended."""
    valid: bool = True
    """Whether the action was parsed and admissible."""
    success: bool = False
    """Whether the task is solved."""
    score: float | None = None
    """Progress in [0, 1]; None: unchanged, or 1 if the task ends in success."""
    stop_reason: StopReason = StopReason.NONE
    """Why the episode ended; derived from ``success`` by default."""
    terms: Mapping[str, float] | None = None
    """Named parts that sum to the reward; ``{"task": reward}`` by default."""
    details: Mapping[str, Any] | None = None
    """JSON-safe facts about the turn, for ``info["details"]``; None for what is not known, which is
    left out there. The key ``"reason"`` holds why an action was invalid, if the observation cannot
    say so because it must keep the original's words."""
    truncated: bool = False
    """Whether a limit of the world itself ended the episode; ignored if ``terminated``."""


def stop_reason(outcome: Outcome, truncated: bool) -> StopReason:
    """Derive why an episode ended, or ``NONE`` if it goes on."""
    if truncated:
        return StopReason.HORIZON
    if not outcome.terminated:
        return StopReason.NONE
    if outcome.stop_reason is not StopReason.NONE:
        return named_reason(outcome.stop_reason)
    return StopReason.SUCCESS if outcome.success else StopReason.FAILURE


def named_reason(reason: object) -> StopReason:
    """Return the stop reason with the name that a family reported.

    Raises:
        EnvFailure: There is no such stop reason.
    """
    try:
        return StopReason(reason)
    except ValueError:
        reasons = ", ".join(member.name for member in StopReason if member is not StopReason.NONE)
        raise EnvFailure(
            f"expected stop_reason of an Outcome to be a StopReason ({reasons}), got {reason!r:.80}"
        ) from None


def episode_stop_reason(info: Mapping[str, Any], truncated: bool) -> str:
    """Return why an episode ended; ``horizon`` if a wrapper truncated it without a reason."""
    reason = str(info.get("stop_reason", ""))
    return StopReason.HORIZON.value if truncated and not reason else reason


def total(values: Iterable[float]) -> float:
    """Add floats from left to right: the same bits on every Python, unlike ``sum`` since 3.12."""
    result = 0.0
    for value in values:
        result += value
    return result


def well_formed(text: str) -> str:
    """Replace lone surrogates by ``?``.

    They come from models and data files, and cannot be encoded.
    """
    if text.isascii():
        return text
    return text.encode("utf-8", "replace").decode("utf-8")


def bounded(text: str, length: int, *, brackets: bool = True) -> str:
    """Cut ``text`` to ``length`` code points, and mark the cut.

    Args:
        text: The text.
        length: Maximum number of code points of the result.
        brackets: Write the marker in brackets. Pass False for actions: a bracket would close an
            open ``search[`` and complete an action.
    """
    if len(text) <= length:
        return text
    marker = f"... {len(text) - length} characters cut"
    marker = f" [{marker}]" if brackets else f" {marker}"
    return text[: length - len(marker)] + marker

"""An episode under way: its prompt, its budget, and what becomes of its history."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from agentgym.outcome import StopReason
from trainers.rollouts.budget import Limits
from trainers.rollouts.chat import Message, TurnTokenizer
from trainers.rollouts.engines.base import Completion
from trainers.rollouts.trajectory import Trajectory, Turn

__all__ = ["LiveEpisode", "close"]


@dataclass(slots=True)
class LiveEpisode:
    """State of a running episode between two generations."""

    trajectory: Trajectory
    """The record being written."""
    slot: int
    """Its slot in the vector environment."""
    messages: list[Message]
    """The conversation as text, kept for forked histories."""
    prompt: list[int]
    """Everything the model is given next."""
    observation: str
    """The observation the next action answers."""
    state_key: str
    """Hash of the present state."""
    opening: int
    """Tokens of the opening prompt."""
    new_from: int = 0
    """Where the part of ``prompt`` begins that the training row does not hold; 0: a new row."""
    spent: int = 0
    """Tokens used after the opening."""
    segments: list[list[int]] = field(default_factory=list)
    """Action and observation tokens of each turn, for windows."""

    def room(self, limits: Limits) -> int:
        """New tokens the budgets allow the next turn."""
        return min(
            limits.turn_tokens,
            limits.episode_tokens - self.spent,
            limits.context - len(self.prompt),
        )

    def record(self, out: Completion, action: str, version: int) -> Turn:
        """Write down a sampled action.

        Args:
            out: What the engine sampled for ``prompt``.
            action: Its text.
            version: Version of the weights.

        Returns:
            The new turn, already in the trajectory; reward and validity are still to be set.
        """
        turn = Turn(
            context=self.prompt[self.new_from :],
            ids=out.ids,
            logprobs=out.logprobs,
            fresh=self.new_from == 0,
            stopped=out.stopped,
            text=action,
            observation=self.observation,
            state_key=self.state_key,
            version=version,
        )
        self.trajectory.turns.append(turn)
        return turn

    def extend(self, turn: Turn, observation: str, chat: TurnTokenizer, limits: Limits) -> None:
        """Build the next prompt: append, or rewrite the history where that is asked for.

        Args:
            turn: The turn just recorded.
            observation: What the environment answered.
            chat: The turn tokenizer.
            limits: The budgets, for their window.
        """
        suffix = chat.observe(observation, turn.stopped)
        self.observation = observation
        self.spent += len(turn.ids) + len(suffix)
        if not chat.append_only and chat.history == "fork":
            self.messages.append({"role": "assistant", "content": turn.text})
            self.messages.append({"role": "user", "content": observation})
            self._rewrite(chat.rerender(self.messages), turn.ids)
        elif limits.window is not None:
            self.segments.append(turn.ids + suffix)
            kept = self.segments[-limits.window :]
            head = self.prompt[: self.opening]
            self._rewrite(head + [token for segment in kept for token in segment], turn.ids)
        else:
            self.prompt += turn.ids
            self.new_from = len(self.prompt)
            self.prompt += suffix

    def _rewrite(self, prompt: list[int], sampled: list[int]) -> None:
        """Take a new prompt; it continues the row only if it begins with all the row holds."""
        row = self.prompt + sampled
        self.new_from = len(row) if prompt[: len(row)] == row else 0
        self.prompt = prompt


def close(trajectory: Trajectory, info: dict[str, Any]) -> None:
    """End a trajectory with what the environment said last.

    Args:
        trajectory: The record.
        info: The last info dict.
    """
    trajectory.stop_reason = str(info.get("stop_reason") or StopReason.FAILURE.value)
    trajectory.success = bool(info.get("success", False))
    trajectory.score = float(info.get("score") or 0.0)
    trajectory.details = dict(info.get("details") or {})
    trajectory.error = str(info.get("error") or "")

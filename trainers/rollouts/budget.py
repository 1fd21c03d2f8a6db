"""Limits on the tokens of turns, episodes and prompts."""

from __future__ import annotations

from dataclasses import dataclass

from agentgym.errors import ConfigurationError

__all__ = ["TokenBudget"]


@dataclass(frozen=True)
class TokenBudget:
    """Limits on tokens, checked before every generation."""

    turn_tokens: int = 64
    """Maximum new tokens per turn."""
    episode_tokens: int = 1024
    """Maximum tokens per episode after its opening prompt, actions and observations together."""
    context: int = 2048
    """Maximum context length, including new tokens."""
    min_turn_tokens: int | None = None
    """If fewer tokens than this are left, the turn is not started and the episode ends with
    ``length``; None requires a full ``turn_tokens``, so that a budget never cuts an action
    short."""

    def __post_init__(self) -> None:
        """Check the sizes."""
        if not 1 <= self.floor <= self.turn_tokens <= min(self.episode_tokens, self.context):
            raise ConfigurationError(
                "expected 1 <= min_turn_tokens <= turn_tokens <= episode_tokens and context, got "
                f"{self.min_turn_tokens}, {self.turn_tokens}, {self.episode_tokens}, "
                f"{self.context}: raise the larger budgets or lower turn_tokens"
            )

    @property
    def floor(self) -> int:
        """Minimum tokens that must be left for a turn."""
        return self.turn_tokens if self.min_turn_tokens is None else self.min_turn_tokens

    def room(self, spent: int, prompt: int) -> int:
        """Return how many new tokens the next turn may have.

        Args:
            spent: Tokens used after the opening, by turns and observations.
            prompt: Tokens of the prompt.
        """
        return min(self.turn_tokens, self.episode_tokens - spent, self.context - prompt)

    def action_tokens(self, turns: int | None) -> int:
        """Maximum action tokens of an episode of at most this many turns."""
        return min(self.turn_tokens * turns, self.episode_tokens) if turns else self.episode_tokens

"""Token budgets of a rollout and the record of what it cost."""

from __future__ import annotations

from dataclasses import dataclass

from agentgym.errors import ConfigurationError

__all__ = ["Limits", "RolloutStats"]


@dataclass(frozen=True)
class Limits:
    """Token budgets, checked before every generation."""

    turn_tokens: int = 64
    """Most new tokens per turn."""
    episode_tokens: int = 1024
    """Most tokens per episode after its opening prompt: actions and observations together."""
    context: int = 2048
    """Most tokens the model is ever given, new ones included."""
    min_turn_tokens: int | None = None
    """A turn with less room than this is not begun and the episode ends with ``length``; None
    asks for a full ``turn_tokens``, so that a budget never cuts an action short."""
    window: int | None = None
    """Keep only the opening and the last ``window`` turns in the prompt; None keeps everything.
    Each turn after the window has filled is a training row of its own."""

    def __post_init__(self) -> None:
        """Check the sizes.

        Raises:
            ConfigurationError: A budget is too small to take one turn.
        """
        if not 1 <= self.floor <= self.turn_tokens <= min(self.episode_tokens, self.context):
            raise ConfigurationError(
                "expected 1 <= min_turn_tokens <= turn_tokens <= episode_tokens and context, got "
                f"{self.min_turn_tokens}, {self.turn_tokens}, {self.episode_tokens}, "
                f"{self.context}: raise the larger budgets or lower turn_tokens"
            )
        if self.window is not None and self.window < 1:
            raise ConfigurationError(f"expected window >= 1 turn or None, got {self.window}")

    @property
    def floor(self) -> int:
        """Least room, in tokens, that a turn needs."""
        return self.turn_tokens if self.min_turn_tokens is None else self.min_turn_tokens


@dataclass
class RolloutStats:
    """What one or several runs cost."""

    episodes: int = 0
    """Episodes finished."""
    turns: int = 0
    """Turns taken."""
    action_tokens: int = 0
    """Tokens sampled."""
    context_tokens: int = 0
    """Prompt and observation tokens in training rows."""
    errors: int = 0
    """Episodes lost to a failed environment."""
    seconds: float = 0.0
    """Wall time."""
    engine_seconds: float = 0.0
    """Time inside the engine."""
    env_seconds: float = 0.0
    """Time inside the environments."""

    @property
    def overhead_us(self) -> float:
        """Microseconds per turn that neither engine nor environments account for."""
        rest = self.seconds - self.engine_seconds - self.env_seconds
        return 1e6 * rest / max(1, self.turns)

    @property
    def tokens_per_second(self) -> float:
        """Sampled tokens per second of wall time."""
        return self.action_tokens / max(1e-9, self.seconds)

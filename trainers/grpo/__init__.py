"""All that knows TRL: the multi-turn trainer, its arguments, its advantages and its loss."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trainers.grpo.rollout_event import RolloutEvent
    from trainers.grpo.trainer import MultiTurnTrainer

__all__ = ["MultiTurnTrainer", "RolloutEvent"]


def __getattr__(name: str) -> Any:
    """Import torch and TRL only when the trainer is asked for."""
    if name in __all__:
        from trainers.grpo import trainer

        return getattr(trainer, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

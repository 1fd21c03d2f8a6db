"""The multi-turn trainer on TRL: its arguments, its advantages and its loss.

To add one of these, touch these files:

- a ratio, a clip, a term of the loss: its setting in ``trainers/algorithms/loss.py``, its line in
  ``token_losses`` (``trainers/grpo/objective.py``), numbers worked by hand in
  ``tests/trainers/grpo/test_token_losses.py``
- a kind of critic: a subclass of ``Critic`` and its line in ``make_critic``
  (``trainers/grpo/critic.py``), its name in ``kind`` and ``UPDATES`` of
  ``trainers/methods/critic/settings.py``
- a further model that is trained: a subclass of ``OwnWeights`` (``trainers/grpo/own_weights.py``),
  its line in ``_beside`` of ``batch_trainer.py`` beside it
- a kind of critic of turns: a signal with its sizes in ``trainers/algorithms/``, a subclass of
  ``TurnCritic`` in a file of ``trainers/grpo/``, its line in ``make_turn_critic``
  (``turn_critic_kinds.py`` there), its updates in ``UPDATES`` of
  ``trainers/methods/turn_critic/settings.py``
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trainers.grpo.rollout_event import RolloutEvent
    from trainers.grpo.trainer import MultiTurnTrainer

__all__ = ["MultiTurnTrainer", "RolloutEvent"]


def __getattr__(name: str) -> Any:
    """Import torch and TRL only when the trainer is accessed."""
    if name in __all__:
        from trainers.grpo import trainer

        return getattr(trainer, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

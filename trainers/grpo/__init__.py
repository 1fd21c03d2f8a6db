"""The multi-turn trainer on TRL: its steps, its advantages and its loss.

To add one of these, touch these files:

- a ratio, a clip, a term of the loss: its setting in ``trainers/algorithms/loss.py``, its line in
  ``token_losses`` (``trainers/grpo/objective.py``), numbers worked by hand in
  ``tests/trainers/grpo/test_token_losses.py``
- what only some methods do in a step: a hook of ``StepPart`` (``trainers/grpo/step_part.py``) in a
  folder of ``trainers/methods/``; with weights of its own, a subclass of ``OwnWeights``
  (``trainers/methods/own_weights.py``)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trainers.grpo.trainer import MultiTurnTrainer
    from trainers.rollouts.rollout_event import RolloutEvent

__all__ = ["MultiTurnTrainer", "RolloutEvent"]


def __getattr__(name: str) -> Any:
    """Import torch and TRL only when the trainer is accessed."""
    if name in __all__:
        from trainers.grpo import trainer

        return getattr(trainer, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

"""The row of critics of turns in the table of methods."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trainers.algorithms.preferences import TurnPreference
from trainers.algorithms.signals import TURN_CRITIC, QMinusV
from trainers.methods.critic.method import ADVICE
from trainers.methods.method import Method, MethodMemory
from trainers.methods.turn_critic.presets import PRESETS

if TYPE_CHECKING:
    from trainers.config.resolve import ResolvedRun
    from trainers.models.memory import ModelShape, TrainingSetup


def _memory(run: ResolvedRun, shape: ModelShape, training: TrainingSetup) -> MethodMemory:
    """Return what a critic of turns takes: a model, and a copy that follows it."""
    copy = training.further_model(shape, learns=False)
    return MethodMemory("critic", training.further_model(shape) + copy, ADVICE)


METHOD = Method(
    name="turn_critic",
    needs=(TURN_CRITIC,),
    presets={"mt-grpo": PRESETS},
    parts={"signal": (QMinusV, TurnPreference)},
    own_loop=True,
    memory=_memory,
    step_part="trainers.methods.turn_critic.kinds:turn_critic_part",
)

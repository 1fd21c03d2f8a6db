"""The row of critics of turns in the table of methods."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from agentgym.trust.table import PLAIN
from trainers.methods.method import Method, MethodMemory
from trainers.methods.turn_critic.credit import TURN_CRITIC, QMinusV, TurnPreference
from trainers.methods.turn_critic.presets import PRESETS
from trainers.methods.turn_critic.settings import (
    TurnCriticConfig,
    check_turn_critic,
    default_learning,
    values_of_turn_critic,
    with_turn_critic,
)

if TYPE_CHECKING:
    from trainers.config.resolve import ResolvedRun
    from trainers.models.memory import ModelShape, TrainingSetup


ADVICE = "a lower --rl.groups or --rl.turn-tokens"
"""How to reduce the memory of a critic of turns."""


def _memory(run: ResolvedRun, shape: ModelShape, training: TrainingSetup) -> MethodMemory:
    """Return the memory of a critic of turns: a model, and a copy that follows it."""
    copy = training.further_model(shape, learns=False)
    return MethodMemory("critic", training.further_model(shape) + copy, ADVICE)


METHOD = Method(
    name="turn_critic",
    needs=(TURN_CRITIC,),
    presets={"mt-grpo": PRESETS},
    parts={"signal": (QMinusV, TurnPreference)},
    section=TurnCriticConfig,
    trust={item.name: PLAIN for item in fields(TurnCriticConfig)},
    change_preset=with_turn_critic,
    preset_values=values_of_turn_critic,
    defaults=default_learning,
    check=check_turn_critic,
    own_loop=True,
    memory=_memory,
    figures={"explained_variance": None},
    result="trainers.methods.turn_critic.result:result_of_turn_critic",
    step_part="trainers.methods.turn_critic.kinds:turn_critic_part",
)

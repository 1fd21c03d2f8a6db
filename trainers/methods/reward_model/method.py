"""The row of the reward model in the table of methods."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from agentgym.trust.table import PLAIN
from trainers.methods.method import Method, MethodMemory
from trainers.methods.reward_model.credit import PRM, Implicit
from trainers.methods.reward_model.presets import PRESETS
from trainers.methods.reward_model.settings import (
    RewardModelConfig,
    default_learning,
    values_of_reward_model,
    with_reward_model,
)

if TYPE_CHECKING:
    from trainers.config.resolve import ResolvedRun
    from trainers.models.memory import ModelShape, TrainingSetup


def _memory(run: ResolvedRun, shape: ModelShape, training: TrainingSetup) -> MethodMemory:
    """Return the memory of a reward model: a base below adapters is shared unless sharded."""
    size = training.further_model(shape, base=training.weights_sharded)
    advice = "adapters (--lora.r), or a preset without a reward model"
    return MethodMemory("reward_model", size, advice)


METHOD = Method(
    name="reward_model",
    needs=(PRM,),
    presets={"dpo": PRESETS},
    parts={"signal": (Implicit,)},
    memory=_memory,
    figures={"reward_ranking": None},
    result="trainers.methods.reward_model.result:result_of_reward_model",
    step_part="trainers.methods.reward_model.reward_model:reward_model_part",
    section=RewardModelConfig,
    trust={item.name: PLAIN for item in fields(RewardModelConfig)},
    change_preset=with_reward_model,
    preset_values=values_of_reward_model,
    defaults=default_learning,
)

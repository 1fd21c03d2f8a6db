"""The row of the critic in the table of methods."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from agentgym.trust.table import PLAIN
from trainers.methods.critic.gae import CRITIC, GAE, BiLevelGAE, TurnGAE
from trainers.methods.critic.presets import MT_PPO, PRESETS
from trainers.methods.critic.settings import (
    CriticConfig,
    check_critic,
    default_learning,
    unread_settings,
    values_of_critic,
    with_critic,
)
from trainers.methods.method import Method, MethodMemory, section_of

if TYPE_CHECKING:
    from trainers.config.resolve import ResolvedRun
    from trainers.models.memory import ModelShape, TrainingSetup

ADVICE = "--critic.kind head, or a lower --rl.groups or --rl.turn-tokens"
"""How to reduce the memory of a critic."""


def _memory(run: ResolvedRun, shape: ModelShape, training: TrainingSetup) -> MethodMemory:
    """Return the memory of a critic: a second model, or the hidden states that a head reads."""
    critic, size = section_of(run.config, CriticConfig), 0
    if critic.kind == "model":
        size = training.further_model(shape)
    elif critic.kind == "head" and critic.trunk == "detached":
        size = training.sampled_tokens * shape.hidden * training.low
    return MethodMemory("critic", size, ADVICE)


METHOD = Method(
    name="critic",
    needs=(CRITIC,),
    presets={"scalinginter": PRESETS, "mt-grpo": MT_PPO},
    parts={"signal": (GAE, TurnGAE, BiLevelGAE)},
    memory=_memory,
    figures={"explained_variance": None},
    result="trainers.methods.critic.result:result_of_critic",
    step_part="trainers.methods.critic.critic:critic_part",
    section=CriticConfig,
    trust={item.name: PLAIN for item in fields(CriticConfig)},
    change_preset=with_critic,
    preset_values=values_of_critic,
    defaults=default_learning,
    check=check_critic,
    unread=unread_settings,
)

"""The row of the critic in the table of methods."""

from __future__ import annotations

from trainers.algorithms.gae import CRITIC, GAE, BiLevelGAE, TurnGAE
from trainers.methods.critic.presets import MT_PPO, PRESETS
from trainers.methods.method import Method

METHOD = Method(
    name="critic",
    needs=(CRITIC,),
    presets={"scalinginter": PRESETS, "mt-grpo": MT_PPO},
    parts={"signal": (GAE, TurnGAE, BiLevelGAE)},
)

"""The row of the reward model in the table of methods."""

from __future__ import annotations

from trainers.algorithms.signals import PRM, Implicit
from trainers.methods.method import Method
from trainers.methods.reward_model.presets import PRESETS

METHOD = Method(
    name="reward_model",
    needs=(PRM,),
    presets={"dpo": PRESETS},
    parts={"signal": (Implicit,)},
)

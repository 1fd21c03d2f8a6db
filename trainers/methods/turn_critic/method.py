"""The row of critics of turns in the table of methods."""

from __future__ import annotations

from trainers.algorithms.preferences import TurnPreference
from trainers.algorithms.signals import TURN_CRITIC, QMinusV
from trainers.methods.method import Method
from trainers.methods.turn_critic.presets import PRESETS

METHOD = Method(
    name="turn_critic",
    needs=(TURN_CRITIC,),
    presets={"mt-grpo": PRESETS},
    parts={"signal": (QMinusV, TurnPreference)},
    own_loop=True,
)

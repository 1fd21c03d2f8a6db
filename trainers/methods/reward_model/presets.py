"""Presets of a reward model."""

from __future__ import annotations

from trainers.algorithms.advantage import Term
from trainers.algorithms.loss import Loss
from trainers.algorithms.preset import Preset
from trainers.algorithms.signals import EpisodeReturn
from trainers.methods.reward_model.credit import Implicit

PRESETS = (
    Preset(
        "istar",
        "Agentic RL with implicit step rewards: iStar",
        "2509.19199",
        (
            Term(EpisodeReturn(), center="group", scale="group"),
            Term(Implicit(), center="group", scale="group"),
        ),
        loss=Loss("turn", high=0.2),
        num_generations=8,
        note="The reward model learns from every pair of a solved and an unsolved episode of a "
        "group, before it computes rewards. One update a batch, so that the clip never acts, "
        "unless "
        "--rl.minibatches says otherwise.",
    ),
)

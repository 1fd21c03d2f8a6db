"""Presets of critics of turns."""

from __future__ import annotations

from trainers.algorithms.advantage import Term
from trainers.algorithms.loss import Loss
from trainers.algorithms.preset import Preset
from trainers.methods.turn_critic.credit import QMinusV, TurnPreference

PRESETS = (
    Preset(
        "archer",
        "ArCHer: hierarchical multi-turn RL with an off-policy critic of turns",
        "2402.19446",
        (Term(QMinusV()),),
        loss=Loss(clip="none", aggregation="turn-mean-token-sum"),
        num_generations=1,
        groups=128,
        minibatches=2,
        omits="the baseline of tokens, an option of the paper",
        note="128 episodes a step, as in the released code, where the critic makes 50 updates on "
        "256 turns and learns alone for 20 steps: --turn-critic.updates 50 --turn-critic.batch 256 "
        "--turn-critic.warmup-steps 20. The policy trains on as many turns of the replay as a step "
        "has episodes, in two parts whose actions are sampled together; there on 256 anew for each "
        "of three updates. The critic begins as a copy of the policy, there as another model.",
    ),
    Preset(
        "sweet",
        "SWEET-RL: a critic of turns with training-time information, then DPO",
        "2503.15478",
        (Term(TurnPreference()),),
        loss=Loss(clip="none", aggregation="seq-mean-token-sum"),
        note="The critic sees the plan of the environment's expert. Each step plays new episodes, "
        "teaches the critic on them and trains on pairs of actions; the paper does each once, with "
        "episodes of the first policy: --turn-critic.warmup-steps teaches the critic alone. The "
        "gradient is that of TRL's DPOTrainer; one update a batch, so that each pair is used once.",
    ),
)

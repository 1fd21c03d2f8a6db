"""Presets of on-policy distillation."""

from __future__ import annotations

from trainers.algorithms.advantage import Term
from trainers.algorithms.loss import Loss
from trainers.algorithms.preset import Preset
from trainers.methods.distill.credit import ReverseKL

PRESETS = (
    Preset(
        "on-policy-distillation",
        "On-policy distillation: reverse KL to a teacher",
        "2306.13649",
        (Term(ReverseKL()),),
        loss=Loss(high=0.2),
        num_generations=4,
        note="The paper's loss with reverse KL on the student's outputs alone; here each token is "
        "scored, without the teacher's whole distribution, as an advantage with a discount of 0, "
        "as in Thinking Machines' recipe (2025), which has groups of 4. No reward is read; "
        "--distill.reward-weight adds that of turn-loo. One update per batch, so that the clip "
        "never acts. Sequence-level terms of MiniLLM (arXiv 2306.08543) are left out.",
    ),
    Preset(
        "self-distillation",
        "On-policy self-distillation: the teacher reads a plan",
        "2601.18734",
        (Term(ReverseKL("plan")),),
        loss=Loss(high=0.2),
        num_generations=4,
        note="The teacher is the policy before reinforcement learning, or as --distill.teacher "
        "says, and reads the actions of the environment's expert. The paper's teacher reads a "
        "solution and compares whole distributions; arXiv 2602.04942 has the credit of tokens, in "
        "environments of several turns, beside the reward (--distill.reward-weight 1).",
    ),
)

"""Presets of a critic of tokens."""

from __future__ import annotations

from dataclasses import replace

from trainers.algorithms.advantage import Term, Whiten
from trainers.algorithms.filters import TopVariance
from trainers.algorithms.loss import Loss
from trainers.algorithms.preset import Preset
from trainers.algorithms.shaping import INVALID, FlagPenalty
from trainers.methods.critic.gae import GAE

_PPO = Loss(high=0.2, value_clip=0.5)
_STARPO_S = Loss(aggregation="seq-mean-token-mean", entropy=1e-3, value_clip=0.5)

PRESETS = (
    Preset(
        "ppo",
        "Proximal policy optimisation with a critic",
        "1707.06347",
        (Term(GAE()),),
        post=Whiten(eps=1e-8),
        loss=_PPO,
        num_generations=1,
        groups=128,
        minibatches=4,
        note="gamma = lambda = 1, whitened advantages and a value clip of .5, as PPO is used on "
        "language models. --critic.gae turn computes advantages over turns instead of tokens.",
    ),
    Preset(
        "meowtea-ppo",
        "A practitioner's guide to multi-turn agentic RL: PPO with dense turn rewards",
        "2510.01132",
        (Term(GAE(kl=0.01)),),
        post=Whiten(eps=1e-8),
        loss=_PPO,
        num_generations=1,
        groups=256,
        note="Rewards of turns are those of the environment and of --reward-hooks.",
    ),
    Preset(
        "starpo",
        "RAGEN: StarPO",
        "2504.20073",
        (Term(GAE()),),
        post=Whiten(eps=1e-8),
        loss=replace(_STARPO_S, high=0.2, kl_beta=1e-3),
        shapers=(FlagPenalty(INVALID, -0.1),),
        num_generations=16,
        groups=8,
        minibatches=4,
        note="8 groups of 16 in parts of 32. Its bi-level advantages are --critic.gae bi-level "
        "--rl.gamma 0.95.",
    ),
    Preset(
        "starpo-s",
        "RAGEN: StarPO-S, with a critic",
        "2504.20073",
        (Term(GAE()),),
        post=Whiten(eps=1e-8),
        loss=_STARPO_S,
        filters=(TopVariance(0.25),),
        shapers=(FlagPenalty(INVALID, -0.1),),
        num_generations=16,
        groups=8,
        minibatches=4,
        note="StarPO without KL, with a higher upper clip, on the quarter of the groups with the "
        "largest variance. The critic learns from the same groups.",
    ),
)
MT_PPO = (
    Preset(
        "mt-ppo",
        "Reinforcing multi-turn reasoning: MT-PPO",
        "2505.11821",
        (Term(GAE(kl=1e-3)),),
        post=Whiten(eps=1e-8),
        loss=_PPO,
        num_generations=1,
        groups=128,
        note="Rewards of turns are those of the environment and of --reward-hooks; the paper does "
        "not say how many episodes a step has.",
    ),
)

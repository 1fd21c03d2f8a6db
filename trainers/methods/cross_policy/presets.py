"""Presets of cross-policy sampling."""

from __future__ import annotations

from trainers.algorithms.advantage import Term, Whiten
from trainers.algorithms.loss import Loss
from trainers.algorithms.policy_pool import PolicyPool
from trainers.algorithms.preset import Preset
from trainers.algorithms.shaping import EndPenalty
from trainers.algorithms.signals import EpisodeReturn

PRESETS = (
    Preset(
        "agentrl",
        "AgentRL: multi-turn, multi-task agentic reinforcement learning",
        "2510.04206",
        (Term(EpisodeReturn(), center="group", scale="group"),),
        post=Whiten("family", "family"),
        loss=Loss(high=0.2, dual=3.0, kl_beta=1e-4, behave="ratio"),
        shapers=(EndPenalty(-0.2),),
        sampler="interleaved",
        pool=PolicyPool(0.25, 25),
        num_generations=8,
        note="Its normalisation acts over the environments of a run with several. "
        "Its asynchronous generation is --async-rollouts.staleness, with a fixed lag in place "
        "of a queue of two batches. The ratio is taken to the behaviour policy, as in its released "
        "trainer.",
    ),
)

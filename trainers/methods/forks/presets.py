"""Presets whose episodes are forked."""

from __future__ import annotations

from trainers.algorithms.advantage import Term
from trainers.algorithms.filters import ZeroVariance
from trainers.algorithms.loss import Loss
from trainers.algorithms.preset import Preset
from trainers.algorithms.signals import EpisodeReturn
from trainers.methods.forks.branching import Branching, EntropyRise, EveryTurn, MainEpisodes
from trainers.methods.forks.fork_value import ForkValue

_Z = Term(EpisodeReturn(), center="group", scale="group")
_CLIP = Loss(high=0.2)

PRESETS = (
    Preset(
        "arpo",
        "Agentic reinforced policy optimisation: entropy-guided branching",
        "2507.19849",
        (_Z,),
        loss=_CLIP,
        branching=Branching(EntropyRise()),
        num_generations=16,
        note="The budget of 16 is divided among the 8 initial episodes, so that none waits for "
        "another.",
    ),
    Preset(
        "fork-value",
        "agentgym: values by continuations from the very same state",
        None,
        (Term(ForkValue(prior=2.0)),),
        filters=(ZeroVariance(),),
        branching=Branching(EveryTurn(2), roots=8, nested=False, refill=False, credit="tree"),
        num_generations=16,
        note="Every advantage is a difference of mean returns, so that a group of equal returns "
        "has none; prior=0 compares only within the same state. Without forks it is rloo.",
    ),
    Preset(
        "vineppo",
        "VinePPO: refining credit assignment by Monte-Carlo values",
        "2410.01679",
        (Term(ForkValue("added")),),
        loss=_CLIP,
        filters=(MainEpisodes(),),
        branching=Branching(
            EveryTurn(), roots=2, copies=3, nested=False, refill=False, credit="tree"
        ),
        num_generations=64,
        groups=4,
        note="A reasoning step of the paper is a turn here. The continuations of a state, 3 as in "
        "its "
        "ablation and 9 as in its main runs (--forks.copies 9 --rl.num-generations 128), are "
        "not trained. The value of the first state is that of the other episodes that begin there.",
    ),
    Preset(
        "tree-grpo",
        "Tree search for LLM agent reinforcement learning: Tree-GRPO",
        "2509.21240",
        (
            Term(EpisodeReturn(), center="tree", scale="tree"),
            Term(EpisodeReturn(), center="group", scale="group"),
        ),
        loss=Loss(high=0.2, aggregation="seq-mean-token-mean", kl_beta=1e-3),
        branching=Branching(EveryTurn(), roots=4, copies=1),
        num_generations=16,
        note="Trees grow as they are played: a fork at every turn while the budget of a tree "
        "lasts, where the paper draws states of finished episodes.",
    ),
)

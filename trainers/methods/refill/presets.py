"""Presets that replace groups without a learning signal."""

from __future__ import annotations

from trainers.algorithms.advantage import Term
from trainers.algorithms.filters import JUDGE_REJECT, FlaggedTurns, ZeroVariance
from trainers.algorithms.loss import Loss
from trainers.algorithms.preset import Preset
from trainers.algorithms.shaping import Overlong
from trainers.algorithms.signals import EpisodeReturn

_Z = Term(EpisodeReturn(), center="group", scale="group")

DAPO = (
    Preset(
        "dapo",
        "DAPO: decoupled clip and dynamic sampling policy optimisation",
        "2503.14476",
        (_Z,),
        filters=(ZeroVariance(),),
        shapers=(Overlong(),),
        refill=10,
        num_generations=16,
        minibatches=16,
        note="512 x 16 responses in parts of 512 (section 4.1). The filter looks at returns before "
        "the overlong punishment. The released script plays at most 10 batches for one that is "
        "full.",
    ),
)
VSPO_ERPO = (
    Preset(
        "vspo",
        "Value-based sampling policy optimisation with progressive reward shaping",
        "2512.07478",
        (_Z,),
        loss=Loss(high=0.2, kl_beta=1e-3),
        filters=(ZeroVariance(),),
        sampler="value",
        refill=4,
        reward_hooks=("progressive:first=0.3,second=0.7,third=1,every=100,gate=1",),
        steps=300,
        num_generations=5,
        omits="value-smoothing clipping",
        note="Value-smoothing clipping weakens the advantages of tasks that a batch repeats. Its "
        "formula is not published, and here it would have no effect: a group without variance is "
        "replaced by a task that the step has not played, sampled by value and played by the "
        "current policy. The outcome counts only if every action was valid, since valid calls are "
        "learned first. The length of stages and the number of groups are agentgym's choice.",
    ),
    Preset(
        "erpo",
        "AutoForge: environment-level relative policy optimisation",
        "2512.22857",
        (Term(EpisodeReturn(), center="group", scale="family"),),
        filters=(FlaggedTurns(JUDGE_REJECT, in_baseline=False), ZeroVariance()),
        refill=10,
        note="The judge looks for what the environment or its simulated user did wrong. Rejected "
        "episodes do not enter the baseline, which the paper leaves open. The bound of the refill "
        "is DAPO's.",
    ),
)

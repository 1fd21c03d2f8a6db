"""Credit, losses, filters, schedules and sampling of multi-turn agentic RL, in numpy alone.

The torch trainer consumes three arrays from here: advantages, loss coefficients and a train mask.
"""

from __future__ import annotations

from trainers.algorithms.advantage import Key, Term, Whiten, advantage
from trainers.algorithms.batch import Batch, EndReason, Level
from trainers.algorithms.filters import (
    Filter,
    FlaggedTurns,
    HarnessEndings,
    Masks,
    Stale,
    TopVariance,
    ZeroVariance,
    apply_filters,
    repair_groups,
)
from trainers.algorithms.loss import (
    Loss,
    kl_coef,
    loss_coefficients,
    pg_coef,
    ratio_segments,
)
from trainers.algorithms.presets import DEFAULT, PRESETS, get_preset
from trainers.algorithms.recipe import NEEDS, Preset
from trainers.algorithms.sampling import (
    EntropyBrancher,
    InformativeSampler,
    InterleavedSampler,
    PolicyPool,
    TaskSampler,
    UniformSampler,
    ValueSampler,
    staleness_capacity,
)
from trainers.algorithms.schedule import (
    Constant,
    Gated,
    Linear,
    Schedule,
    Stages,
    parse_horizon,
)
from trainers.algorithms.shaping import EndPenalty, FlagPenalty, Overlong, Shaper, shape_rewards
from trainers.algorithms.signals import (
    GAE,
    Implicit,
    KLToGo,
    Outcome,
    QMinusV,
    RewardToGo,
    Signal,
    StepReward,
)
from trainers.algorithms.task_stats import TaskStats, informative, task_value
from trainers.algorithms.weights import aggregation_weights, behaviour_weights

__all__ = [
    "DEFAULT",
    "GAE",
    "NEEDS",
    "PRESETS",
    "Batch",
    "Constant",
    "EndPenalty",
    "EndReason",
    "EntropyBrancher",
    "Filter",
    "FlagPenalty",
    "FlaggedTurns",
    "Gated",
    "HarnessEndings",
    "Implicit",
    "InformativeSampler",
    "InterleavedSampler",
    "KLToGo",
    "Key",
    "Level",
    "Linear",
    "Loss",
    "Masks",
    "Outcome",
    "Overlong",
    "PolicyPool",
    "Preset",
    "QMinusV",
    "RewardToGo",
    "Schedule",
    "Shaper",
    "Signal",
    "Stages",
    "Stale",
    "StepReward",
    "TaskSampler",
    "TaskStats",
    "Term",
    "TopVariance",
    "UniformSampler",
    "ValueSampler",
    "Whiten",
    "ZeroVariance",
    "advantage",
    "aggregation_weights",
    "apply_filters",
    "behaviour_weights",
    "get_preset",
    "informative",
    "kl_coef",
    "loss_coefficients",
    "parse_horizon",
    "pg_coef",
    "ratio_segments",
    "repair_groups",
    "shape_rewards",
    "staleness_capacity",
    "task_value",
]

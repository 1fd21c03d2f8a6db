"""Evaluation on fixed panels: scores with confidence intervals, n and the panel's hash.

`runner` evaluates a policy, `policy_names` loads policies by name, and `protocol_terms` applies the
protocol of a paper. ``suites/`` runs several evaluations, and ``reports/`` contains tables, charts,
comparisons and leaderboards.

To add one of these, touch these files:

- a kind of policy that can be loaded by name: a ``PolicyKind``
  (``agentgym/evaluation/policy_names.py``), its entry point in ``pyproject.toml``
"""

from __future__ import annotations

from agentgym.errors import EvaluationFailed
from agentgym.evaluation.demonstrations import DEMONSTRATIONS, demonstrate
from agentgym.evaluation.episode_result import EpisodeResult
from agentgym.evaluation.evaluation_folder import read_report
from agentgym.evaluation.prices import Limits, Prices
from agentgym.evaluation.reports.comparison import Comparison, compare
from agentgym.evaluation.reports.data import FigureResult
from agentgym.evaluation.reports.leaderboard import Leaderboard, Standing
from agentgym.evaluation.reports.matrix import Matrix
from agentgym.evaluation.reports.report import Report
from agentgym.evaluation.reports.report_reader import report_from_dict
from agentgym.evaluation.reports.scale import Scale
from agentgym.evaluation.reports.training_comparison import (
    TrainingComparison,
    compare_trainings,
)
from agentgym.evaluation.runner import evaluate
from agentgym.evaluation.suites.settings import EvaluationSettings
from agentgym.evaluation.suites.suite import SuiteResult, evaluate_all
from agentgym.protocols import Protocol, ProtocolUse, load_protocol
from agentgym.support.statistics import (
    Estimate,
    mean_ci95,
    paired_difference,
    pass_at_k,
    pass_hat_k,
    scaled,
    wilson_ci95,
)
from agentgym.vector.backends import BACKENDS

__all__ = [
    "BACKENDS",
    "DEMONSTRATIONS",
    "Comparison",
    "EpisodeResult",
    "Estimate",
    "EvaluationFailed",
    "EvaluationSettings",
    "FigureResult",
    "Leaderboard",
    "Limits",
    "Matrix",
    "Prices",
    "Protocol",
    "ProtocolUse",
    "Report",
    "Scale",
    "Standing",
    "SuiteResult",
    "TrainingComparison",
    "compare",
    "compare_trainings",
    "demonstrate",
    "evaluate",
    "evaluate_all",
    "load_protocol",
    "mean_ci95",
    "paired_difference",
    "pass_at_k",
    "pass_hat_k",
    "read_report",
    "report_from_dict",
    "scaled",
    "wilson_ci95",
]

"""Evaluation on fixed panels: scores with confidence intervals, n and the panel's hash."""

from __future__ import annotations

from agentgym.errors import EvaluationFailed
from agentgym.evaluation.comparison import Comparison, compare
from agentgym.evaluation.leaderboard import Leaderboard, Standing
from agentgym.evaluation.matrix import Matrix
from agentgym.evaluation.prices import Limits, Prices
from agentgym.evaluation.protocols import Protocol, ProtocolUse, load_protocol
from agentgym.evaluation.report import FigureResult, Report, Scale
from agentgym.evaluation.results import EpisodeResult
from agentgym.evaluation.running import evaluate
from agentgym.evaluation.stored import read_report, report_from_dict
from agentgym.policies.loading import DEMONSTRATIONS, demonstrate
from agentgym.statistics import (
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
    "compare",
    "demonstrate",
    "evaluate",
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

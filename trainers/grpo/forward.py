"""The training forward is that of the sampler: without dropout, at the same positions, and probed.

A policy that is trained must be the policy that acted; otherwise ratios and gradients are those of
another one, and nothing fails.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch

from trainers.rollouts.engines.base import Completion, Sampling
from trainers.rollouts.engines.parity import FP32_TOLERANCE, probe_parity
from trainers.rollouts.engines.policy_weights import base_model
from trainers.rollouts.runner import RolloutRunner
from trainers.rollouts.trajectory import Row, Trajectory, Turn

__all__ = ["probe_gap", "takes_positions", "turn_off_dropout", "with_positions"]

logger = logging.getLogger(__name__)

PROBED = 4
"""Prompts of a probe: the shortest and the longest of a step, so that padding has a say."""


def turn_off_dropout(model: torch.nn.Module) -> None:
    """Set every dropout rate of a model to 0; some attention keeps its rate as a plain number."""
    rates = [
        (module, name)
        for module in model.modules()
        for name, value in vars(module).items()
        if isinstance(value, float)
        and value > 0.0
        and ("drop" in name or _is_dropout(module, name))
    ]
    for module, name in rates:
        setattr(module, name, 0.0)
    if rates:
        logger.warning(
            "dropout is turned off: the policy that is trained must be the one that acts"
        )


def _is_dropout(module: torch.nn.Module, name: str) -> bool:
    """Whether an attribute is the rate of a dropout layer."""
    return name == "p" and isinstance(module, torch.nn.modules.dropout._DropoutNd)


def takes_positions(model: torch.nn.Module) -> bool:
    """Whether a model, wrapped or not, can be told the position of each token."""
    return "position_ids" in inspect.signature(base_model(model).forward).parameters


def with_positions(model: Callable[..., Any]) -> Callable[..., Any]:
    """Give a model the positions that real tokens have; learned ones would count the padding."""

    def forward(**inputs: Any) -> Any:
        positions = (inputs["attention_mask"].cumsum(1) - 1).clamp(min=0)
        return model(**inputs, position_ids=positions)

    return forward


def probe_gap(
    runner: RolloutRunner,
    policy: Any,
    trajectories: Sequence[Trajectory],
    sampling: Sampling,
    row_logps: Callable[[Sequence[Row]], list[list[float]]],
    *,
    fp32: bool,
) -> float:
    """Compare the log-probabilities of an engine with those of the training forward.

    Args:
        runner: Its engine continues prompts.
        policy: The model being trained.
        trajectories: Their first prompts are continued.
        sampling: How the engine draws tokens.
        row_logps: Log-probabilities of the sampled tokens of rows, as training sees them.
        fp32: Whether a gap above 1e-4 is an error; otherwise it is only reported.

    Returns:
        The largest gap in nats; 0 without prompts.

    Raises:
        ParityError: The gap is too large.
    """

    def score(
        prompts: Sequence[Sequence[int]], completions: Sequence[Completion]
    ) -> list[list[float]]:
        rows = []
        for prompt, out in zip(prompts, completions, strict=True):
            row = Row(prompt_length=len(prompt))
            row.append(Turn(list(prompt), out.ids, out.logprobs))
            rows.append(row)
        return row_logps(rows)

    prompts = sorted((list(t.turns[0].context) for t in trajectories if t.turns), key=len)
    if not prompts:
        return 0.0
    if len(prompts) > PROBED:
        prompts = prompts[: PROBED // 2] + prompts[-(PROBED // 2) :]
    stops = replace(sampling, stop_ids=runner.chat.stop_ids)
    tolerance = FP32_TOLERANCE if fp32 else None
    report = probe_parity(runner.engine, policy, prompts, stops, tolerance=tolerance, score=score)
    return report.max_abs

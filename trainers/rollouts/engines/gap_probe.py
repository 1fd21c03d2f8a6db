"""Parity probe: compare the log-probabilities of engine and training forward."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from torch import nn

from trainers.rollouts.engines.base import Completion, Sampling
from trainers.rollouts.engines.parity import FP32_TOLERANCE, probe_parity
from trainers.rollouts.rollout_runner import RolloutRunner
from trainers.rollouts.trajectory import Row, SampledTurn, Trajectory

__all__ = ["PROBE_TOKENS", "probe_gap"]

PROBED = 4
"""Prompts of a probe: the shortest and the longest of a step, so that padding is covered."""
PROBE_TOKENS = 8
"""Maximum number of tokens sampled for each prompt of a probe."""


def probe_gap(
    runner: RolloutRunner,
    policy: nn.Module,
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
            row.append(SampledTurn(list(prompt), out.ids, out.logprobs))
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

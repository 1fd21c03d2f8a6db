"""The reward model's entry in the result of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trainers.config.resolve import ResolvedRun
from trainers.methods.method import MethodResult

__all__ = ["result_of_reward_model"]


def result_of_reward_model(run: ResolvedRun, steps: Sequence[Mapping[str, Any]]) -> MethodResult:
    """Return how well a reward model ranked episodes, in figures and in words.

    The figure is the share of pairs of episodes of a task that were ranked correctly before the
    model learned from them, in the last third of the steps; None: there was no pair.
    """
    last = [step for step in steps[-max(1, len(steps) // 3) :] if "reward_ranking" in step]
    pairs = sum(step["reward_pairs"] for step in last)
    if not pairs:
        remark = (
            "In the last third of the steps the reward model had nothing to learn from: no group "
            "had a better and a worse episode. --reward-model.preferred return compares parts of "
            "success."
        )
        return MethodResult({"reward_ranking": None}, [remark])
    ranked = sum(step["reward_ranking"] * step["reward_pairs"] for step in last) / pairs
    text = (
        f"In the last third of the steps the reward model ranked {ranked:.0%} of the pairs of "
        "episodes of a task correctly, before it learned from them"
    )
    end = "." if ranked > 0.5 else ": no better than chance."
    return MethodResult({"reward_ranking": ranked}, [text + end])

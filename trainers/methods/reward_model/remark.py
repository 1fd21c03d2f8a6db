"""What the report of a run says of its reward model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trainers.config.resolve import ResolvedRun
from trainers.output.summary import reward_ranking


def reward_model_remark(run: ResolvedRun, records: Sequence[Mapping[str, Any]]) -> str:
    """State how well a reward model ranked the episodes of the last third of the steps."""
    ranked = reward_ranking(records)
    if ranked is None:
        return (
            "In the last third of the steps the reward model had nothing to learn from: no group "
            "had a better and a worse episode. --reward-model.preferred return compares parts of "
            "success."
        )
    text = (
        f"In the last third of the steps the reward model ranked {ranked:.0%} of the pairs of "
        "episodes of a task correctly, before it learned from them"
    )
    return f"{text}." if ranked > 0.5 else f"{text}: no better than chance."

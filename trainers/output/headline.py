"""The first line of a report: green only where reward was worth more than whatever else was tried.

The policy is compared with the one that training began with and, where rivals were trained, with
the fiercest of them. It learned if it is better than both, after more steps than a handful, and no
worse where both take their likeliest action; of what is merely above its start that is said,
without the colour.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from trainers.output.remarks import direction, signed
from trainers.output.summary import Difference, Summary, minus

__all__ = ["Headline", "headline"]

HANDFUL = 5
"""Steps of which the pairing of tasks and seeds makes an interval narrow, and no more."""


class Headline(NamedTuple):
    """What a reader takes away at first sight."""

    tone: Literal["up", "down", "flat"]
    """Whether that is good, bad, or undecided."""
    text: str
    """A few words and a difference."""


def headline(summary: Summary) -> Headline:
    """Return the first line of a run's report."""
    gain, further = summary.paired.rl_minus_sft, summary.against_fiercest
    if summary.untrained:
        return Headline("down", "Nothing was trained: no weight was changed")
    score, success = direction(gain.score_ci95), direction(gain.success_ci95)
    if score * success < 0:
        return Headline("flat", f"Mixed: {_score(gain)}, {_success(gain)}")
    if not score + success:
        return Headline("flat", f"No effect shown: {_score(gain)}")
    change = _score(gain) if score else _success(gain)
    if score + success < 0:
        return Headline("down", f"It got worse: {change}")
    if summary.steps <= HANDFUL:
        return Headline("flat", f"Too few steps to tell ({summary.steps}): {change}")
    if further is None:
        imitated = any(part.warm_start for part in (summary, *summary.families.values()))
        if imitated:
            return Headline("flat", f"Above its start, not compared with imitation: {change}")
        return Headline("up", f"It learned: {change}")
    rival = summary.names[summary.fiercest]
    # Success decides; a score alone can show that the rival is ahead, and not that it is beaten.
    side = direction(further.success_ci95)
    greedy = minus(summary.greedy, summary.fiercest) if summary.greedy else None
    if side > 0 and greedy is not None and direction(greedy.success_ci95) < 0:
        return Headline(
            "flat", f"Above {rival}, but below it with greedy actions: {_success(greedy)}"
        )
    if side > 0:
        return Headline("up", f"It learned, and more than {rival}: {_success(further)}")
    if side < 0 or (not side and direction(further.score_ci95) < 0):
        by = _success(further) if side else _score(further)
        return Headline("down", f"It improved, but {rival} did better: {by}")
    return Headline("flat", f"It improved, and so did {rival}: {_success(further)}")


def _score(paired: Difference) -> str:
    """Write a difference in score."""
    return f"{signed(paired.score_mean, paired.score_ci95)} in score"


def _success(paired: Difference) -> str:
    """Write a difference in success."""
    return f"{signed(paired.success_mean, paired.success_ci95)} in success"

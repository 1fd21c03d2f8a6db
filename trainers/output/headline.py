"""The first line of a report: green only if the policy is better than every alternative.

The policy is compared with the initial policy and the strongest trained baseline, if any. It
learned if it is better than both after enough steps, and not worse with greedy actions. A policy
that only beats the initial one is reported without colour. Every comparison uses score and success,
and the line shows the figures of the decisive one.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from agentgym.evaluation.reports.verdicts import direction, relation, signed
from trainers.output.roles import BASE_MODEL, TRAINED, WARM_START
from trainers.output.summary import Difference, Interval, Summary, minus

__all__ = ["Headline", "HeadlineChange", "headline", "judge"]

HANDFUL = 5
"""Minimum number of steps: after fewer, a narrow interval only reflects the pairing of tasks and
seeds."""


class Headline(NamedTuple):
    """The first line of a report."""

    tone: Literal["up", "down", "flat"]
    """Whether it is good, bad or undecided; it decides the colour."""
    text: str
    """A few words and a difference."""


class HeadlineChange(NamedTuple):
    """The trained policy minus another, in both measures."""

    other: str
    """Name of the other policy."""
    score_mean: float
    """Mean difference in score."""
    score_ci95: Interval | None
    """Its interval; None: there is none."""
    success_mean: float
    """Mean difference in success."""
    success_ci95: Interval | None
    """Its interval; None: there is none."""

    @classmethod
    def of(cls, rival: str, paired: Difference) -> HeadlineChange:
        """Take a comparison over tasks."""
        return cls(
            rival, paired.score_mean, paired.score_ci95, paired.success_mean, paired.success_ci95
        )

    @property
    def sides(self) -> tuple[int, int]:
        """Signs of the differences in score and success, see `direction`."""
        return direction(self.score_ci95), direction(self.success_ci95)

    @property
    def in_score(self) -> str:
        """The difference in score in words."""
        return f"{signed(self.score_mean, self.score_ci95)} in score"

    @property
    def in_success(self) -> str:
        """The difference in success in words."""
        return f"{signed(self.success_mean, self.success_ci95)} in success"

    @property
    def in_both(self) -> str:
        """Both differences in words."""
        return f"{self.in_score}, {self.in_success}"


def headline(summary: Summary) -> Headline:
    """Return the first line of a run's report."""
    if summary.untrained:
        return Headline("down", "Nothing was trained: no weight was changed")
    baseline, greedy = summary.names.get(summary.strongest_baseline, ""), None
    if summary.strongest_baseline and summary.greedy:
        greedy = minus(summary.greedy, summary.strongest_baseline)
    judged = judge(
        HeadlineChange.of(summary.names[WARM_START], summary.paired.trained_minus_warm_start),
        HeadlineChange.of(baseline, summary.against_strongest)
        if summary.against_strongest
        else None,
        HeadlineChange.of(baseline, greedy) if greedy else None,
        steps=summary.steps,
        imitated=any(part.warm_start for part in (summary, *summary.families.values())),
    )
    return judged._replace(text=f"{judged.text}{_from_base_model(summary)}")


def _from_base_model(summary: Summary) -> str:
    """Return the success before and after each phase; empty without a base model."""
    if BASE_MODEL not in summary.eval:
        return ""
    arms = [arm for arm in (BASE_MODEL, WARM_START, TRAINED) if arm in summary.eval]
    steps = ", ".join(f"{summary.names[arm]} {summary.eval[arm].success:.2f}" for arm in arms)
    return f" ({steps})"


def judge(
    gain: HeadlineChange,
    further: HeadlineChange | None,
    greedy: HeadlineChange | None,
    *,
    steps: int,
    imitated: bool,
) -> Headline:
    """Judge a training by what it changed.

    Args:
        gain: The trained policy minus the one that training began with.
        further: Minus the strongest baseline; None: there was none.
        greedy: The same with greedy actions; None: they were not compared.
        steps: Steps that were taken.
        imitated: Whether training began with a warm start.
    """
    score, success = gain.sides
    if score * success < 0:
        return Headline("flat", f"Mixed: {gain.in_both}")
    if not score + success:
        return Headline("flat", f"No effect shown: {gain.in_both}")
    change = gain.in_score if score else gain.in_success
    if score + success < 0:
        return Headline("down", f"It got worse: {change}")
    if steps <= HANDFUL:
        return Headline("flat", f"Too few steps to tell ({steps}): {change}")
    if further is not None:
        return _beside_baseline(further, greedy)
    if imitated:
        return Headline("flat", f"Above its start, not compared with a baseline: {change}")
    return Headline("up", f"It learned: {change}")


def _beside_baseline(further: HeadlineChange, greedy: HeadlineChange | None) -> Headline:
    """Judge a training that improved the policy by the strongest baseline.

    Success decides; a score alone can show that the baseline is ahead, but not that it is beaten.
    """
    baseline, (score, success) = further.other, further.sides
    if score * success < 0:
        compared = relation(score, success, baseline)
        return Headline("flat", f"It improved, and {compared}: {further.in_both}")
    if success > 0:
        below = _lag(greedy)
        if below:
            return Headline("flat", f"Above {baseline}, but below it with greedy actions: {below}")
        more = f"more than {baseline}" if score else relation(score, success, baseline)
        return Headline("up", f"It learned, and {more}: {further.in_success}")
    if behind := _lag(further):
        return Headline("down", f"It improved, but {baseline} did better: {behind}")
    return Headline("flat", f"It improved, and so did {baseline}: {further.in_success}")


def _lag(change: HeadlineChange | None) -> str:
    """Return by how much the trained policy is behind in a measure; empty if in none.

    A lower mean without an interval counts, because it was not better in any seed.
    """
    if change is None:
        return ""
    if direction(change.success_ci95 or [change.success_mean] * 2) < 0:
        return change.in_success
    return change.in_score if direction(change.score_ci95 or [change.score_mean] * 2) < 0 else ""

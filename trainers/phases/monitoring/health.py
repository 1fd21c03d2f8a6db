"""Health signals of training, and when each of them raises an alarm.

A signal is a figure of a step. Its *now* is the mean of the last ``patience`` steps, its *usual*
the median of the ``usual_steps`` steps before those. Rules compare now with a fixed limit, with the
usual, or with both, so that a single odd step, or a policy that was never better, raises no alarm:

================ ================================ =================================================
signal           alarm where now is               what it stands for
================ ================================ =================================================
entropy          below a share of the usual       a policy that no longer tries anything
entropy_rise     above a multiple of the usual    a policy that writes noise
clip_fraction    above a limit                    updates too large for their data
kl               above a limit                    far from the reference
kl_behaviour     above a limit                    far from where the step began
logp_gap         above a limit                    the engine serves another policy than is trained
zero_variance    above a limit, unsolved          groups whose members do alike: nothing to learn
trained_fraction below a limit, unsolved          the preset's filters leave nothing to learn from
repeat           above a limit and twice usual    loops: the same action in the same state
invalid          above a limit and twice usual    actions that the environment does not understand
reward_spread    below a share, unsolved          RAGEN's echo trap, in its first sign
grad_norm        above a multiple, unsolved       RAGEN's echo trap, at its end
================ ================================ =================================================

RAGEN (arXiv 2504.20073) saw, in this order: the spread of rewards within groups fall, their mean
fall, gradient norms spike, after which no run recovered. A loss, a gradient or a weight that is not
finite needs no rule. With ``--top-p`` below 1, or a stale policy, the policy that plays differs
from the one that is trained on purpose, and neither ``kl_behaviour`` nor ``logp_gap`` is judged.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any

from trainers.config.sections import HealthConfig

__all__ = ["FINITE", "NON_FINITE", "SIGNALS", "Alarm", "HealthMonitor", "HealthRule", "last_good"]

Records = Iterable[Mapping[str, Any]]

NON_FINITE = "non_finite"
"""Signal of a loss, gradient or weight that is not finite."""
FINITE = "finite"
"""Figure of a step that is 0 if any of them was not finite."""
SOLVED = 0.9
"""Success from which equal returns within a group are not a bad sign."""


@dataclass(frozen=True)
class HealthRule:
    """When a signal is an alarm."""

    signal: str
    """Name, and that of its threshold in ``HealthConfig``."""
    figure: str
    """Key of the step's record."""
    falls: bool = False
    """Whether low values are bad."""
    limit: bool = True
    """Whether the threshold is a fixed limit; else it is a multiple of the usual value."""
    times_usual: float | None = None
    """Multiple of the usual value that must be exceeded besides a fixed limit."""
    unsolved: bool = False
    """Whether steps with nearly all episodes solved are skipped.

    There most groups have equal returns, so that gradients are nothing, or those of one episode.
    """
    inverted: bool = False
    """Whether the signal is one minus the figure."""
    meaning: str = ""
    """Likely cause and remedy."""

    def value(self, record: Mapping[str, Any]) -> float | None:
        """Return the signal of a step, or None if the step has no such figure."""
        value = record.get(self.figure)
        if value is None or (self.unsolved and record.get("success", 0.0) >= SOLVED):
            return None
        return 1.0 - value if self.inverted else float(value)

    def broken(self, value: float, usual: float | None, threshold: float) -> bool:
        """Return whether the signal is an alarm; without a usual value, only limits count."""
        if self.limit:
            bound, factor = threshold, self.times_usual
        else:
            bound, factor = (math.inf if self.falls else -math.inf), threshold
        if factor is not None and usual is None:
            return False
        if not self.limit and not usual:
            return False  # Every value exceeds any multiple of 0.
        if factor is not None and usual is not None:
            bound = min(bound, factor * usual) if self.falls else max(bound, factor * usual)
        return value < bound if self.falls else value > bound


SIGNALS = (
    HealthRule(
        "entropy", "entropy", falls=True, limit=False,
        meaning="the policy no longer explores: a lower --rl.learning-rate, or an entropy bonus, "
        "helps",
    ),
    HealthRule(
        "entropy_rise", "entropy", limit=False,
        meaning="the policy is turning to noise: a lower --rl.learning-rate helps",
    ),
    HealthRule(
        "clip_fraction", "clip_fraction",
        meaning="updates are too large for their data: a lower --rl.learning-rate or fewer "
        "updates help",
    ),
    HealthRule(
        "kl", "kl",
        meaning="the policy has left its reference far behind: a lower --rl.learning-rate helps",
    ),
    HealthRule(
        "kl_behaviour", "kl_behaviour",
        meaning="a step changes the policy too much: a lower --rl.learning-rate or fewer "
        "updates help",
    ),
    HealthRule(
        "logp_gap", "logp_gap_mean",
        meaning="the engine does not generate with the trained policy: check precision and weight "
        "sync",
    ),
    HealthRule(
        "zero_variance", "zero_variance_groups", unsolved=True,
        meaning="members of a group get equal returns, so nothing can be learned: other tasks, "
        "larger groups or a higher --temperature help",
    ),
    HealthRule(
        "trained_fraction", "trained_fraction", falls=True, unsolved=True,
        meaning="the preset's filters leave hardly any episode: a longer --horizon, "
        "other tasks or another --preset help",
    ),
    HealthRule(
        "repeat", "repeat", times_usual=2.0,
        meaning="the policy repeats itself: --reward-hooks repeat penalizes repeated actions",
    ),
    HealthRule(
        "invalid", "valid", times_usual=2.0, inverted=True,
        meaning="the policy forgets the format of actions: a lower --rl.learning-rate or a "
        "higher --rl.invalid-penalty helps",
    ),
    HealthRule(
        "reward_spread", "group_return_std", falls=True, limit=False, unsolved=True,
        meaning="returns within groups become equal, the first sign of a collapse",
    ),
    HealthRule(
        "grad_norm", "grad_norm", limit=False, unsolved=True,
        meaning="gradients spike, the last sign of a collapse: a lower --rl.learning-rate helps",
    ),
)  # fmt: skip
"""All rules."""


@dataclass(frozen=True)
class Alarm:
    """A signal that has just become bad."""

    signal: str
    """Its name."""
    step: int
    """Step after which it was raised."""
    since: int
    """Last step before those that raised it."""
    value: float | None
    """The signal now; None if it is not finite."""
    usual: float | None
    """The usual value, if the rule uses it."""
    sentence: str
    """All of this in words."""


class HealthMonitor:
    """Judge steps in the order in which they happen.

    An alarm is raised when a signal becomes bad, and not again before it was good.

    Args:
        settings: Thresholds.
        records: Records of the steps so far; no alarm is raised for them again.
    """

    def __init__(self, settings: HealthConfig, records: Records = ()) -> None:
        self._settings = settings
        self._rules = [rule for rule in SIGNALS if rule.signal not in settings.ignore]
        self._values: dict[str, list[float]] = {rule.signal: [] for rule in self._rules}
        self._steps: dict[str, list[int]] = {rule.signal: [] for rule in self._rules}
        self._bad: set[str] = set()
        for record in records:
            self.observe(record)

    def observe(self, record: Mapping[str, Any]) -> list[Alarm]:
        """Process the record of a step and return the alarms that it raises."""
        step = record["step"]
        if record.get(FINITE, 1.0) < 1:
            sentence = (
                "expected loss, gradients and weights that are finite, got some that are not; a "
                "lower --rl.learning-rate helps"
            )
            return [Alarm(NON_FINITE, step, step - 1, None, None, sentence)]
        alarms = (self._judge(rule, record, step) for rule in self._rules)
        return [alarm for alarm in alarms if alarm is not None]

    def _judge(self, rule: HealthRule, record: Mapping[str, Any], step: int) -> Alarm | None:
        """Judge one signal."""
        values, patience, usual_steps = (
            self._values[rule.signal], self._settings.patience, self._settings.usual_steps,
        )  # fmt: skip
        value = rule.value(record)
        if value is None:
            return None
        values.append(value)
        self._steps[rule.signal].append(step)
        if len(values) < patience:
            return None
        mean_now, usual_values = (
            fmean(values[-patience:]),
            values[-patience - usual_steps : -patience],
        )
        # Fewer than half of the steps are too few for a usual value.
        usual = median(usual_values) if 2 * len(usual_values) >= usual_steps else None
        threshold = getattr(self._settings, rule.signal)
        if not rule.broken(mean_now, usual, threshold):
            self._bad.discard(rule.signal)
            return None
        if rule.signal in self._bad:
            return None
        self._bad.add(rule.signal)
        sentence = _sentence(rule, mean_now, usual, threshold)
        since = self._steps[rule.signal][-patience] - 1  # skipped steps lie between
        return Alarm(rule.signal, step, since, mean_now, usual, sentence)


def _sentence(rule: HealthRule, value: float, usual: float | None, threshold: float) -> str:
    """Say what is wrong with a signal."""
    side = "below" if rule.falls else "above"
    bound = f"{side} {threshold:g}" if rule.limit else f"{side} {threshold:g} of its usual value"
    usual_value = f", usually {usual:.3g}" if usual is not None else ""
    return f"{rule.signal} is {value:.3g}{usual_value}, {bound}; {rule.meaning}"


def last_good(checkpoints: Sequence[int], alarm: Alarm, scores: Mapping[int, float]) -> int | None:
    """Choose the checkpoint to go back to.

    Args:
        checkpoints: Steps after which checkpoints were saved, all of them before the alarm's step
            or at it.
        alarm: What went wrong.
        scores: Validation scores by step.

    Returns:
        The checkpoint with the best score from before the alarm's steps, the later of equals;
        without scores the last. If all are later, the oldest; None if there is none.
    """
    steps_before = [step for step in checkpoints if step <= alarm.since]
    if not steps_before:
        return min((step for step in checkpoints if step < alarm.step), default=None)
    validated = [step for step in steps_before if step in scores]
    return max(validated or steps_before, key=lambda step: (scores.get(step, 0.0), step))

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import pytest

from trainers.config.sections import HealthConfig
from trainers.phases.monitoring.health import (
    NON_FINITE,
    SIGNALS,
    Alarm,
    HealthMonitor,
    last_good,
)

SETTINGS = HealthConfig(usual_steps=10, patience=3)
WELL: dict[str, Any] = {
    "success": 0.5, "entropy": 1.0, "clip_fraction": 0.05, "kl": 0.01, "kl_behaviour": 0.01,
    "logp_gap_mean": 0.01, "zero_variance_groups": 0.3, "trained_fraction": 0.7,
    "repeat": 0.05, "valid": 0.95,
    "group_return_std": 0.4, "grad_norm": 0.2, "finite": 1.0,
}  # fmt: skip
ILL: dict[str, tuple[str, float]] = {
    "entropy": ("entropy", 0.1),
    "entropy_rise": ("entropy", 6.0),
    "clip_fraction": ("clip_fraction", 0.6),
    "kl": ("kl", 2.0),
    "kl_behaviour": ("kl_behaviour", 0.5),
    "logp_gap": ("logp_gap_mean", 0.5),
    "zero_variance": ("zero_variance_groups", 1.0),
    "trained_fraction": ("trained_fraction", 0.0),
    "repeat": ("repeat", 0.5),
    "invalid": ("valid", 0.4),
    "reward_spread": ("group_return_std", 0.05),
    "grad_norm": ("grad_norm", 4.0),
}
"""A bad value of each signal."""


def raised(records: Sequence[dict[str, Any]], settings: HealthConfig = SETTINGS) -> list[Alarm]:
    monitor = HealthMonitor(settings)
    return [a for step, r in enumerate(records, 1) for a in monitor.observe({**r, "step": step})]


def turning(**change: float) -> list[dict[str, Any]]:
    """Twenty steps that are well, then five that are not."""
    return [WELL] * 20 + [{**WELL, **change}] * 5


def test_every_signal_has_a_threshold_and_a_case():
    names = {rule.signal for rule in SIGNALS}
    assert names == set(ILL)
    assert names < {field.name for field in dataclasses.fields(HealthConfig)}


@pytest.mark.parametrize("signal", ILL)
def test_a_signal_that_turns_bad_is_an_alarm_once(signal):
    figure, value = ILL[signal]
    (alarm,) = raised(turning(**{figure: value}))
    assert alarm.signal == signal
    # By the step at which the mean of three is bad, and since before all three.
    assert 21 <= alarm.step <= 23
    assert alarm.since == alarm.step - 3
    assert signal in alarm.sentence


@pytest.mark.parametrize("signal", ILL)
def test_a_signal_that_is_switched_off_raises_none(signal):
    figure, value = ILL[signal]
    settings = dataclasses.replace(SETTINGS, ignore=(signal,))
    assert raised(turning(**{figure: value}), settings) == []


@pytest.mark.parametrize("signal", [s for s in ILL if s not in ("clip_fraction", "grad_norm")])
def test_a_threshold_can_be_set(signal):
    figure, value = ILL[signal]
    falls = next(rule.falls for rule in SIGNALS if rule.signal == signal)
    settings = dataclasses.replace(SETTINGS, **{signal: 0.0 if falls else 1e9})
    assert raised(turning(**{figure: value}), settings) == []


def test_it_is_raised_again_after_it_was_good():
    alarms = raised([*turning(kl=2.0), *turning(kl=2.0)])
    assert [alarm.signal for alarm in alarms] == ["kl", "kl"]
    assert 46 <= alarms[1].step <= 48


def test_one_odd_step_is_no_alarm():
    odd = {**WELL, "entropy": 0.01, "repeat": 0.4, "grad_norm": 3.0, "group_return_std": 0.0}
    assert raised([WELL] * 20 + [odd] + [WELL] * 5) == []


def test_a_policy_that_never_was_better_is_compared_with_itself():
    poor = {**WELL, "repeat": 0.8, "valid": 0.1, "group_return_std": 0.01, "entropy": 0.001}
    assert raised([poor] * 30) == []


def test_a_slow_decay_of_entropy_is_learning():
    assert raised([{**WELL, "entropy": 0.97**step} for step in range(200)]) == []


def test_groups_that_all_solve_their_task_are_no_alarm():
    solved = {"success": 0.97, "zero_variance_groups": 1.0, "group_return_std": 0.0}
    assert raised(turning(**solved)) == []


def test_the_gradients_of_the_last_unsolved_groups_are_no_alarm():
    nothing = {**WELL, "success": 0.99, "grad_norm": 1e-6}
    assert raised([nothing] * 20 + [{**nothing, "grad_norm": 0.2}] * 5) == []
    unlearned = {**WELL, "success": 0.2, "grad_norm": 40 * WELL["grad_norm"]}
    (alarm,) = raised([WELL] * 20 + [nothing] * 20 + [unlearned] * 5)
    assert alarm.signal == "grad_norm"
    assert alarm.usual == WELL["grad_norm"]


def test_the_steps_that_raised_an_alarm_begin_before_those_that_were_skipped():
    solved = {**WELL, "success": 0.97}
    unlearned = {**WELL, "zero_variance_groups": 1.0}
    (alarm,) = raised([WELL] * 10 + [unlearned, solved, solved] * 5)
    assert alarm.signal == "zero_variance"
    first = alarm.step - 3 * (SETTINGS.patience - 1)
    assert alarm.since == first - 1


def test_a_figure_that_a_run_lacks_is_passed_over():
    assert raised([{"success": 0.5, "entropy": 1.0}] * 30) == []


def test_multiples_of_nothing_are_no_alarm():
    assert raised([{**WELL, "grad_norm": 0.0}] * 20 + [{**WELL, "grad_norm": 1e-6}] * 5) == []


def test_what_is_not_finite_is_an_alarm_at_once():
    (alarm,) = raised([WELL, {**WELL, "finite": 0.0, "loss": None, "grad_norm": None}])
    assert (alarm.signal, alarm.step, alarm.since) == (NON_FINITE, 2, 1)


def test_history_raises_nothing_a_second_time():
    records = [{**record, "step": step} for step, record in enumerate(turning(kl=2.0), 1)]
    monitor = HealthMonitor(SETTINGS, records)
    assert monitor.observe({**WELL, "kl": 2.0, "step": 26}) == []


def alarm(step: int, since: int) -> Alarm:
    return Alarm("entropy", step, since, 0.0, 1.0, "")


def test_the_checkpoint_to_go_back_to_is_the_best_from_before_the_trouble():
    scores = {10: 0.7, 20: 0.7, 30: 0.5, 40: 0.9}
    assert last_good([10, 20, 30, 40], alarm(42, 37), scores) == 20


@pytest.mark.parametrize(
    ("checkpoints", "scores", "step"),
    [
        ([10, 20, 30, 40], {}, 30),  # the last from before the trouble
        ([10, 20, 30], {10: 0.2}, 10),  # one that was validated goes before one that was not
        ([38, 40], {}, 38),  # trouble is older than all: the oldest
        ([0], {}, 0),
        ([42], {}, None),  # that of the alarm itself
        ([], {}, None),
    ],
)
def test_the_checkpoint_to_go_back_to(checkpoints, scores, step):
    assert last_good(checkpoints, alarm(42, 37), scores) == step

"""Schedules are pure functions of the step; the gated one restores its state."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainers.algorithms.schedule import (
    Constant,
    Gated,
    PerFamily,
    Schedule,
    Stages,
    parse_rounds,
)

SCALINGINTER = Stages((5, 8, 10), 100)


@pytest.mark.parametrize(
    ("step", "horizon"), [(1, 5), (100, 5), (101, 8), (200, 8), (201, 10), (10_000, 10)]
)
def test_stages_at_the_switches(step: int, horizon: int) -> None:
    assert SCALINGINTER(step) == horizon


def test_stages_are_numbered() -> None:
    assert [SCALINGINTER.stage(step) for step in (100, 101, 999)] == [0, 1, 2]


@given(st.integers(1, 400))
def test_resume_at_any_step_continues_the_same_horizons(resume: int) -> None:
    fresh = [SCALINGINTER(step) for step in range(1, 402)]
    resumed = [Stages((5, 8, 10), 100)(step) for step in range(resume + 1, 402)]
    assert resumed == fresh[resume:]


@pytest.mark.parametrize("schedule", [Constant(7), SCALINGINTER])
def test_a_stage_ends_where_the_value_changes(schedule: Schedule) -> None:
    total = 320
    changes = [s for s in range(2, total + 1) if schedule(s) != schedule(s - 1)]
    assert [s for s in range(2, total + 1) if schedule.stage(s) != schedule.stage(s - 1)] == changes


@pytest.mark.parametrize("schedule", [Constant(7), SCALINGINTER, Gated((1, 2))])
def test_steps_count_from_one(schedule: Schedule) -> None:
    with pytest.raises(ValueError, match="counted from 1, got 0"):
        schedule(0)


def test_gate_opens_after_a_full_window_of_success() -> None:
    gate = Gated((4, 8, 16), threshold=0.5, window=3)
    horizons = []
    for step, success in enumerate([1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0], start=1):
        horizons.append(gate(step))
        gate.report_success(step, success)
    assert horizons == [4, 4, 4, 8, 8, 8, 8, 16, 16, 16]
    assert gate(2) == 4


@given(st.lists(st.floats(0, 1), min_size=1, max_size=60), st.data())
def test_gate_resumes_from_its_state(successes: list[float], data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(successes)))
    uninterrupted, first = Gated((4, 8, 16), 0.5, 4), Gated((4, 8, 16), 0.5, 4)
    for step, success in enumerate(successes, start=1):
        uninterrupted.report_success(step, success)
        if step <= cut:
            first.report_success(step, success)
    second = Gated((4, 8, 16), 0.5, 4)
    second.load_state_dict(json.loads(json.dumps(first.state_dict())))
    for step in range(cut + 1, len(successes) + 1):
        second.report_success(step, successes[step - 1])
    assert second.state_dict() == uninterrupted.state_dict()


def test_gate_refuses_a_success_outside_its_range() -> None:
    with pytest.raises(ValueError, match=r"in \[0, 1\], got 3"):
        Gated((1, 2)).report_success(1, 3.0)


def test_rounds_are_one_number_a_list_or_a_range() -> None:
    assert parse_rounds("8") == (8,)
    assert parse_rounds(" 5, 8,10 ") == (5, 8, 10)
    assert parse_rounds("5-8") == (5, 6, 7, 8)


@pytest.mark.parametrize(
    "text", ["", "5,", "five", "5;8", "0", "-3", "5.5", "\u00b2", "3-", "1-2-3"]
)
def test_bad_rounds_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expected turn budgets such as"):
        parse_rounds(text)


def test_bad_fields_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one round"):
        Stages((), 1)
    with pytest.raises(ValueError, match="every >= 1"):
        Stages((5, 8), 0)
    with pytest.raises(ValueError, match="window >= 1"):
        Gated((1,), window=0)


def test_families_have_schedules_of_their_own() -> None:
    schedule = PerFamily({"a": Gated((3, 5), 0.5, 1), "b": Stages((2, 9), 4), "c": Constant(4)})
    assert (
        schedule.values(1) == {"a": 3, "b": 2, "c": 4}
        and schedule(1) == 4
        and schedule.stage(1) == 0
    )
    schedule.report_success(1, {"b": 1.0, "a": 0.2})
    assert schedule.values(2)["a"] == 3  # its own success counts, and only that
    schedule.report_success(2, {"a": 0.5})
    schedule.report_success(3, {"b": 0.0})  # a step without tasks of it
    assert schedule.values(3) == {"a": 5, "b": 2, "c": 4} and schedule.stage(3) == 1
    assert schedule.values(5)["b"] == 9 and schedule(5) == 9
    restored = PerFamily({"a": Gated((3, 5), 0.5, 1), "b": Stages((2, 9), 4), "c": Constant(4)})
    restored.load_state_dict(json.loads(json.dumps(schedule.state_dict())))
    assert [restored.values(step) for step in (1, 2, 3)] == [
        schedule.values(step) for step in (1, 2, 3)
    ]

from __future__ import annotations

import pytest

from trainers.grpo import step_times
from trainers.grpo.step_times import PARTS, StepTimes


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.time_now = 0.0

    def perf_counter(self) -> float:
        return self.time_now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    stand_in = Clock()
    monkeypatch.setattr(step_times, "time", stand_in)
    return stand_in


def test_no_second_is_counted_twice(clock):
    times = StepTimes()
    clock.time_now = 1.0
    with times.part("update"):
        clock.time_now = 3.0
        with times.part("rest"):
            clock.time_now = 10.0
        clock.time_now = 11.0
    clock.time_now = 12.0
    seconds = times.take()
    assert tuple(seconds) == PARTS
    assert seconds["update"] == 3.0
    assert seconds["rest"] == 9.0
    assert sum(seconds.values()) == 12.0
    assert sum(times.take().values()) == 0.0


def test_seconds_that_are_told_afterwards_are_moved_as_far_as_there_are_any(clock):
    times = StepTimes()
    clock.time_now = 4.0
    times.move("rest", "generation", 3.0)
    times.move("rest", "environments", 3.0)
    seconds = times.take()
    assert (seconds["generation"], seconds["environments"], seconds["rest"]) == (3.0, 1.0, 0.0)


def test_a_part_that_fails_is_over(clock):
    times = StepTimes()
    with pytest.raises(ValueError, match="no"), times.part("update"):
        clock.time_now = 1.0
        raise ValueError("no")
    clock.time_now = 5.0
    assert times.take() == {**dict.fromkeys(PARTS, 0.0), "update": 1.0, "rest": 4.0}

"""Progress as lines: not too many, and never a minute without one."""

from __future__ import annotations

import threading
import time

import pytest

from agentgym.support import progress_lines
from agentgym.support.progress_lines import ProgressLines


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that stands at the last entry."""
    seconds = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: seconds[-1])
    return seconds


def test_the_first_minute_brings_a_line_though_nothing_has_ended(clock: list[float]) -> None:
    output: list[str] = []
    lines = ProgressLines(output.append)
    lines.begin("warm-start", 40)
    clock.append(1050.0)
    lines.say_if_silent()
    assert not output
    clock.append(1056.0)
    lines.say_if_silent()
    lines.say_if_silent()
    assert output == ["[warm-start] 0/40  after 56 s"], "and then none for a minute"
    clock.append(1112.0)
    lines.say_if_silent()
    assert output[1:] == ["[warm-start] 0/40  after 112 s"]


def test_tokens_that_come_meanwhile_are_told_a_second(clock: list[float]) -> None:
    output: list[str] = []
    lines = ProgressLines(output.append)
    lines.begin("RL", 10)
    clock.append(1020.0)
    lines.update(1, "success 0.500  tokens_s 80")
    for _ in range(3):
        lines.count(200)
    clock.append(1080.0)
    lines.say_if_silent()
    clock.append(1140.0)
    lines.say_if_silent()
    assert output == [
        "[RL] 1/10  success 0.500  tokens_s 80  left 180 s",
        "[RL] 1/10  tokens_s 10  after 60 s  left 120 s",
        "[RL] 1/10  success 0.500  tokens_s 80  after 120 s  left 60 s",
    ]


def test_nothing_is_said_of_the_time_left_once_a_part_takes_longer_than_expected(
    clock: list[float],
) -> None:
    output: list[str] = []
    lines = ProgressLines(output.append)
    lines.begin("runs", 2)
    clock.append(1020.0)
    lines.update(1)
    clock.append(1080.0)
    lines.say_if_silent()
    clock.append(1090.0)
    lines.update(2)
    assert output == ["[runs] 1/2  left 20 s", "[runs] 1/2  after 60 s", "[runs] 2/2  left 0 s"]


def test_lines_are_as_far_apart_as_told_but_for_the_last(clock: list[float]) -> None:
    output: list[str] = []
    lines = ProgressLines(output.append, soonest=30.0)
    lines.begin("episodes", 4, completed=1)
    for second, completed in ((1029.0, 2), (1030.0, 3), (1031.0, 4)):
        clock.append(second)
        lines.update(completed)
        assert not lines.due
    assert output == ["[episodes] 3/4  left 15 s", "[episodes] 4/4  left 0 s"]


def test_what_is_shown_again_and_again_is_a_line_a_minute(clock: list[float]) -> None:
    output: list[str] = []
    lines = ProgressLines(output.append)
    lines.begin("runs", 3)
    for second in range(1000, 1120):
        clock.append(float(second))
        lines.show(int(second >= 1040), "seed1: training 4")
    assert output == [
        "[runs] 1/3  seed1: training 4  after 15 s  left 65 s",
        "[runs] 1/3  seed1: training 4  after 70 s  left 10 s",
    ]


def test_a_thread_watches_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress_lines, "POLL", 0.001)
    monkeypatch.setattr(progress_lines, "LATEST", 0.001)
    arrival = threading.Event()
    lines = ProgressLines(lambda line: arrival.set())
    lines.start()
    assert arrival.wait(timeout=60)
    lines.stop()
    lines.stop()
    arrival.clear()
    assert not [thread for thread in threading.enumerate() if thread.name == "agentgym-progress"]

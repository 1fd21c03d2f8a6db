from __future__ import annotations

import io
import time

import pytest
from rich.console import Console

from tests.trainers.output.test_summary import ARM, CONTENT
from trainers.output.display import Display, measurements, result_table
from trainers.output.summary import Summary


def console(terminal: bool) -> Console:
    return Console(file=io.StringIO(), force_terminal=terminal, width=200, color_system=None)


def text(display: Display) -> str:
    file = display.console.file
    assert isinstance(file, io.StringIO)
    return file.getvalue()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that stands at the last entry."""
    seconds = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: seconds[-1])
    return seconds


def test_numbers_are_short():
    assert measurements({"horizon": 5, "reward": 0.12345}) == "horizon 5  reward 0.123"
    assert measurements({"tokens_s": 12345.678}) == "tokens_s 12,346"


def test_what_has_not_been_measured_is_no_figure(clock):
    assert measurements({"loss": 0.5, "success": None}) == "loss 0.500  success -"
    with Display(console(False)) as display:
        display.phase("RL", 8, step=4)
        clock.append(130.0)
        display.update(4, reward=0.5)
    assert text(display).splitlines()[-1] == "[RL] 4/8  reward 0.500", "no time left is known"


def test_without_progress_results_are_shown(clock):
    for terminal in (False, True):
        with Display(console(terminal), progress=False) as display:
            display.phase("RL", 2)
            display.update(2, reward=0.5)
            display.note("trained")
        assert text(display).split() == ["trained"]


def test_without_a_terminal_there_is_a_line_now_and_then_and_at_the_end(clock):
    with Display(console(False)) as display:
        display.phase("RL", 100)
        for step, time_now in [(1, 101.0), (10, 120.0), (11, 121.0), (100, 125.0)]:
            clock.append(time_now)
            display.update(step, horizon=5, reward=0.5)
        display.note("done [bold]")
    assert text(display).splitlines() == [
        "[RL] 100 steps",
        "[RL] 10/100  horizon 5  reward 0.500  left 180 s",
        "[RL] 100/100  horizon 5  reward 0.500  left 0 s",
        "done [bold]",
    ]


@pytest.mark.parametrize("result", [False, True])
def test_episodes_are_shown_as_they_end(clock, result):
    with Display(console(False)) as display:
        on_episode = display.episodes("demonstrations", 3, result=result)
        for time_now in (111.0, 122.0, 133.0):
            clock.append(time_now)
            on_episode()
        if result:
            display.update(3, success=0.5)
    assert text(display).splitlines() == [
        "[demonstrations] 3 episodes",
        "[demonstrations] 1/3  left 22 s",
        "[demonstrations] 2/3  left 11 s",
        f"[demonstrations] 3/3{'  success 0.500' if result else ''}  left 0 s",
    ]


def test_a_phase_of_one_step_is_done_or_not(clock):
    with Display(console(False)) as display:
        display.phase("baselines", 1)
        display.update(1, success=0.5)
    assert text(display).splitlines() == ["[baselines]", "[baselines] done  success 0.500"]


def test_the_time_left_of_a_resumed_phase_counts_only_its_own_steps(clock):
    with Display(console(False)) as display:
        display.phase("RL", 100, step=50)
        clock.append(120.0)
        display.update(60)
    assert "[RL] 60/100  left 80 s" in text(display)


def test_a_terminal_gets_a_bar_with_the_measurements():
    with Display(console(True)) as display:
        display.phase("warm-start", 10)
        display.update(4, loss=0.25)
        display.phase("RL", 6, step=2)
        display.update(3, horizon=8, reward=0.5)
    output = text(display)
    for part in ("warm-start", "4/10", "loss 0.250", "RL", "3/6", "horizon 8  reward 0.500"):
        assert part in output


@pytest.mark.parametrize("terminal", [True, False])
def test_quiet_is_quiet(terminal):
    with Display(console(terminal), quiet=True) as display:
        display.phase("RL", 10)
        display.update(10, reward=1.0)
        display.note("done")
    assert text(display).strip() == ""


def test_the_results_fit_a_narrow_terminal():
    names = {
        "random": "random", "warm-start": "warm-start", "filtered-bc": "filtered-bc",
        "trained": "trained", "oracle": "oracle",
    }  # fmt: skip
    arms = dict.fromkeys(names, ARM)
    greedy = dict.fromkeys(("warm_start", "filtered_bc", "trained"), ARM)
    greedy["trained_minus_warm_start"] = CONTENT["paired"]["trained_minus_warm_start"]
    content = {**CONTENT, "eval": arms, "names": names, "greedy": greedy}
    narrow = Console(file=io.StringIO(), width=80, color_system=None)
    narrow.print(result_table(Summary.from_dict(content)))
    output = narrow.file.getvalue()  # type: ignore[attr-defined]
    assert "warm-start-greedy" in output and "…" not in output
    assert output.count("0.300 0.10-0.50") == output.count("0.500 0.40-0.60") == 8


def test_a_log_is_never_silent_for_a_minute(clock):
    """Nothing has ended yet, or the next step takes long: tokens are all that comes."""
    with Display(console(False)) as display:
        display.phase("RL", 4)
        clock.append(160.0)
        display.count(1200)
        display._lines.say_if_silent()
        assert not display.due
        clock.append(180.0)
        assert display.due
        display.update(1, reward=0.5)
        clock.append(240.0)
        display._lines.say_if_silent()
    assert text(display).splitlines() == [
        "[RL] 4 steps",
        "[RL] 0/4  tokens_s 20  after 60 s",
        "[RL] 1/4  reward 0.500  left 240 s",
        "[RL] 1/4  reward 0.500  after 60 s  left 180 s",
    ]


@pytest.mark.parametrize("quiet", [True, False])
def test_without_progress_no_time_is_printed(quiet):
    with Display(console(False), quiet=quiet, progress=False) as display:
        display.phase("RL", 4)
        display.count(3)
        assert not display.due
    assert text(display) == ""

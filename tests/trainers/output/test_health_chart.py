from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.trainers.output.test_report import SUMMARY, episode, folder, resolved, words, write
from trainers.grpo.step_times import PARTS
from trainers.output.health_chart import ALARM, BACK, PANELS, draw_health
from trainers.output.remarks import health_remark, steps_remark
from trainers.output.report import PART_NAMES, write_report
from trainers.output.summary import (
    HealthEvent,
    Summary,
    health_events,
    step_seconds,
)
from trainers.phases.monitoring.health import NON_FINITE, SIGNALS

__all__ = ["folder"]  # the fixture

EVENTS = (
    HealthEvent(3, "entropy", "rollback", "entropy is <low>", 1),
    HealthEvent(4, "grad_norm", "warn", "grad_norm is high"),
)


def step(number: int, **changes: Any) -> dict[str, Any]:
    figures = {panel.figure: 0.25 for panel in PANELS if panel.figure not in ("invalid", "kl")}
    times = {part: float(number) for part in PARTS}
    return {
        "phase": "rl", "step": number, "horizon": 5, "success": 0.5, "valid": 0.9, "time": times,
        "turns_total": 100 * number, "tokens_total": 700 * number, **figures, **changes,
    }  # fmt: skip


def test_every_signal_has_a_picture_and_every_part_a_name():
    signals = {signal for panel in PANELS for signal in panel.signals}
    assert signals == {rule.signal for rule in SIGNALS} | {NON_FINITE}
    assert tuple(PART_NAMES) == PARTS


def test_a_picture_for_each_figure_that_the_run_has():
    pictures, _ = draw_health([step(n) for n in (1, 2, 3)], ())
    assert "entropy, nats per token" in pictures
    assert "invalid actions" in pictures
    assert "KL to the reference" not in pictures
    assert draw_health([], EVENTS) == ({}, [])


@pytest.mark.slow
def test_alarms_are_marked_in_their_picture_and_ways_back_in_all():
    pictures, keys = draw_health([step(n) for n in (1, 2, 3, 4)], EVENTS)
    marked = {title for title, svg in pictures.items() if ALARM in svg}
    assert marked == {"entropy, nats per token", "gradient norm"}
    assert all(BACK in svg for svg in pictures.values())
    assert [key.label for key in keys][-2:] == ["alarm", "training went back to here"]
    calm, keys = draw_health([step(n) for n in (1, 2, 3, 4)], ())
    assert not any(ALARM in svg or BACK in svg for svg in calm.values())
    assert "alarm" not in [key.label for key in keys]


def test_a_loss_that_is_no_number_is_marked_where_it_is_missing():
    event = HealthEvent(3, NON_FINITE, "stop", "expected loss ...")
    pictures, _ = draw_health([step(1), step(2), step(3, loss=None, grad_norm=None)], (event,))
    assert ALARM in pictures["loss"]


@pytest.mark.slow
@pytest.mark.parametrize("events", [EVENTS, ()])
def test_the_page_tells_of_health_time_and_tokens(folder, events):
    for number in (1, 2, 3):
        folder.log(**step(number))
    write(folder.episodes_path, [episode("press red")])
    seconds = step_seconds(folder.metrics())
    assert seconds == dict.fromkeys(PARTS, 2.0)
    summary = replace(SUMMARY, health=events, step_seconds=seconds)
    text = write_report(folder, resolved(folder), summary).read_text()
    page_text = words(text)
    assert "300 turns and 2,100 sampled tokens in training" in page_text
    assert "forward and backward 2.000 14.3 %" in page_text
    assert "a whole step 14.000 100 %" in page_text
    assert ("No alarm was raised" in page_text) == (not events)
    assert ("Training went back to step 1." in page_text) == bool(events)
    assert "<low>" not in text


def test_a_page_of_a_run_that_wrote_none_of_this(folder):
    write(folder.episodes_path, [episode("press red")])
    page_text = words(write_report(folder, resolved(folder), SUMMARY).read_text())
    assert "Health of the training" not in page_text
    assert "Where the time of a step goes" not in page_text


def test_a_summary_keeps_its_alarms(folder):
    summary = replace(SUMMARY, health=EVENTS, step_seconds={"rest": 1.0})
    assert Summary.from_dict(summary.to_dict()) == summary


def test_alarms_in_words():
    records = [
        {"phase": "rl", "step": 2},
        {
            "phase": "rollback",
            "step": 9,
            "signal": "entropy",
            "sentence": "low",
            "to": 4,
            "value": 0,
        },
        {"phase": "health", "step": 12, "signal": "kl", "sentence": "far", "action": "stop"},
    ]
    events = health_events(records)
    assert [(e.action, e.to) for e in events] == [("rollback", 4), ("stop", None)]
    assert health_remark(events) == (
        "2 alarms in training (entropy, kl); training was rolled back from step 9 to 4. The "
        "first: at "
        "step 9, low."
    )
    assert health_remark(()) == ""
    assert "an alarm ended it" in steps_remark(3, 5, stopped=True)
    assert "--rl.turn-budget" in steps_remark(3, 5)
    assert steps_remark(3, 5, cut=True) == "", "the verdict says so"

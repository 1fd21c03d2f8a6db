from __future__ import annotations

from dataclasses import replace

import pytest

from trainers.output.summary import Difference, WarmStart
from trainers.output.verdict import arm_names, gate_remark, steps_remark, verdict

MISSED = WarmStart(steps=60, gated=False, success=0.0)


def paired(low: float, high: float) -> Difference:
    return Difference(60, (low + high) / 2, (low, high), 0.1, (-0.1, 0.3))


@pytest.mark.parametrize(
    ("low", "high", "found"),
    [
        (0.01, 0.03, "raised the score"),
        (-0.03, -0.01, "lowered the score"),
        (-0.01, 0.03, "No effect"),
        (0.0, 0.0, "No effect"),
        (0.0, 0.1, "No effect"),
    ],
)
def test_the_verdict_is_that_of_the_interval(low, high, found):
    said = verdict(paired(low, high), "base model")
    assert found in said
    assert "trained minus base model" in said
    assert f"({low:+.3f} to {high:+.3f})" in said
    assert "60 held-out tasks" in said


def test_a_gate_that_was_missed_is_said():
    assert "missed its gate: validation success 0.000 after 60 steps" in gate_remark(MISSED, 0.45)
    assert "reached its gate after 60 steps" in gate_remark(replace(MISSED, gated=True), 0.45)
    assert gate_remark(None, 0.45) == ""


def test_a_training_that_ended_early_is_said():
    assert "after 1 of 4 steps" in steps_remark(1, 4)
    assert steps_remark(4, 4) == ""


def test_only_what_was_imitated_is_a_warm_start():
    assert arm_names(pretrained=True, imitated=False)["sft"] == "base model"
    assert arm_names(pretrained=False, imitated=False)["sft"] == "untrained"
    assert arm_names(pretrained=True, imitated=True)["sft"] == "warm start"

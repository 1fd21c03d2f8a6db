from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from agentgym.envs.swe.grading.verdict import judge
from agentgym.envs.swe.instance import FolderSource, Instance

INSTANCE = Instance("x", "x", "", FolderSource(Path("x")), "", ("f1", "f2"), ("p1", "p2"))
GOOD = {"f1": "PASSED", "f2": "PASSED", "p1": "PASSED", "p2": "PASSED"}


@pytest.mark.parametrize(
    ("statuses", "verdict", "potential"),
    [
        ({}, "FULL", 1.0),
        ({"f2": "FAILED"}, "PARTIAL", 0.5),
        ({"f2": "SKIPPED"}, "PARTIAL", 0.5),
        ({"f2": ""}, "PARTIAL", 0.5),
        ({"f1": "ERROR", "f2": "FAILED"}, "NO", 0.0),
        ({"p1": "FAILED"}, "NO", 0.0),
        ({"p1": ""}, "NO", 0.0),
        ({"p1": "SKIPPED"}, "FULL", 1.0),
        ({"f1": "XFAIL"}, "PARTIAL", 0.5),
        ({"f1": "FAILED", "p2": "ERROR"}, "NO", 0.0),
    ],
)
def test_verdicts(statuses: dict[str, str], verdict: str, potential: float) -> None:
    grade = judge(INSTANCE, {**GOOD, **statuses})
    assert (grade.verdict, grade.potential) == (verdict, potential)


def test_logs_of_published_sets_are_judged_as_there() -> None:
    assert judge(INSTANCE, {**GOOD, "f1": "XFAIL", "p1": "XFAIL"}, lenient=True).verdict == "FULL"


def test_nothing_to_fix_is_fixed() -> None:
    grade = judge(replace(INSTANCE, fail_to_pass=()), GOOD)
    assert (grade.verdict, grade.potential) == ("FULL", 1.0)

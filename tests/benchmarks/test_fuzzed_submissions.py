"""Fuzzed submissions are the same everywhere, and the judge knows right from wrong."""

from __future__ import annotations

import pytest

from agentgym.envs.swe.instance import Instance
from agentgym.envs.swe.instance_boxes import Boxes
from agentgym.envs.swe.tasks import Source, open_instances
from benchmarks.independent_judge import judge
from benchmarks.submissions import KINDS, submission
from benchmarks.swe_fuzzed_submissions import describe_submission, graded, summary
from benchmarks.swe_right_fixes import solution
from tests.envs.swe.boxed import needs_box


@pytest.fixture(scope="module")
def tasks() -> list[Instance]:
    """Two tasks of each of four libraries."""
    bundled = open_instances(Source("bundled"))
    return [bundled.instance("train", index) for index in (0, 1, 40, 41, 80, 81, 120, 121)]


def test_a_number_decides_a_submission(tasks: list[Instance]) -> None:
    for number in range(30):
        assert submission(number, 0, tasks) == submission(number, 0, tasks)
    first = {describe_submission(submission(number, 0, tasks)) for number in range(30)}
    descriptions = {describe_submission(submission(number, 1, tasks)) for number in range(30)}
    assert len(first) > 25 and not first & descriptions


def test_all_kinds_occur(tasks: list[Instance]) -> None:
    assert {submission(number, 0, tasks).kind for number in range(40)} == set(KINDS)


def test_figures_are_counted_by_agreement() -> None:
    base = {
        "task": "a",
        "how": "",
        "reason": "",
        "wrong": 0,
        "wrong_plain": 0,
        "asked": 1,
        "example": [],
    }
    rows = [
        {**base, "number": 0, "kind": "solution", "full": True, "right": True},
        {**base, "number": 1, "kind": "exploit", "full": False, "right": False},
        {**base, "number": 2, "kind": "exploit", "full": True, "right": False},
        {**base, "number": 3, "kind": "solution", "full": False, "right": True},
        {**base, "number": 4, "kind": "both", "full": False, "right": True},
    ]  # fmt: skip
    counts = summary(rows)
    assert (counts["submissions"], counts["agreement"]) == (5, 2)
    assert [row["number"] for row in counts["disagreements"]["accepted though wrong"]] == [2]
    assert [row["number"] for row in counts["disagreements"]["refused though right"]] == [3]
    assert counts["right beside an exploit, and refused"] == 1


@needs_box
def test_the_judge_tells_the_fault_from_the_solution(tasks: list[Instance]) -> None:
    for task in (tasks[0], tasks[4]):
        assert not judge(Boxes(), task, {}).right
        verdict = judge(Boxes(), task, solution(task))
        assert verdict.right and verdict.questions > 100


@needs_box
@pytest.mark.slow
def test_a_sample_of_submissions_is_graded_alike(tasks: list[Instance]) -> None:
    rows = [graded(number, 0, tasks, Boxes()) for number in range(12)]
    counts = summary(rows)
    assert counts["disagreements"] == {"accepted though wrong": [], "refused though right": []}

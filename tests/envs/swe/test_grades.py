"""What tests remember of grading is what would come of it again, and nothing else."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agentgym.envs.swe.grading import FULL, NO, Grader
from agentgym.envs.swe.grading.protection import Edits
from agentgym.envs.swe.grading.verdict import nothing_done
from agentgym.envs.swe.instance_boxes import Boxes
from tests.envs.swe import grades
from tests.envs.swe.small import SmallSet


def test_what_a_grade_depends_on_is_graded_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    calls, reason = [], ""

    def grade_tests(self, instance, edits):
        calls.append(edits)
        return replace(nothing_done(instance, reason), suspicious=(str(len(calls)),))

    def ask(self, instance, edits, grade):
        calls.append(edits)
        return replace(grade, verdict=NO)

    monkeypatch.setattr(Grader, "grade_tests", grade_tests)
    monkeypatch.setattr(Grader, "ask", ask)
    grader, instance = Grader(Boxes()), SmallSet().instance("train", 0)
    solution, variant = (Edits({"a.py": text}, ()) for text in (b"1", b"2"))
    with grades.remembered():
        first = grader.grade_tests(instance, solution)
        assert grader.grade_tests(instance, solution) == first and len(calls) == 1
        for other_grader, of, edits in (
            (grader, instance, variant),
            (grader, instance, Edits(solution.counted, ("b.py",))),
            (grader, replace(instance, patch="other"), solution),
            (Grader(Boxes(), timeout=1), instance, solution),
            (Grader(Boxes("namespace")), instance, solution),
            (Grader(Boxes("namespace")), instance, solution),  # where a back end was chosen, always
        ):
            assert other_grader.grade_tests(of, edits) != first
        assert len(calls) == 7
        assert grader.ask(instance, solution, first) == grader.ask(instance, solution, first)
        grader.ask(instance, solution, replace(first, verdict=FULL))
        assert len(calls) == 9
        reason = "the tests took longer than 120 s"
        edits = Edits({"a.py": b"3"}, ())
        assert grader.grade_tests(instance, edits) != grader.grade_tests(instance, edits)
    assert grader.grade_tests(instance, solution) != first

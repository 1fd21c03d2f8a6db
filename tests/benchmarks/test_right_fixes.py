"""Rewrites leave behaviour as it is, and right repairs in other words stay right."""

from __future__ import annotations

import ast

import pytest

from agentgym.envs.swe.grading import FULL, Grader
from agentgym.envs.swe.instance_boxes import Boxes
from agentgym.envs.swe.tasks import Source, open_instances
from benchmarks.rewrites import REWRITES, rewrite
from benchmarks.swe_right_fixes import by_hand, collect, rewritten
from tests.envs.swe.boxed import needs_box

TEXT = '''
def sift(rows, low, high=9):
    """Return the rows between two bounds.

    In their order.
    """
    count = 0
    if not rows:
        return []
    for row in rows:
        if low <= row < high and not row == 5:
            count += 1
        elif row is None or row == high:
            raise ValueError(row)
    if count > 2 or low > high:
        return sorted(rows) if count else rows
    return [2 * row for row in rows if row != low]
'''
CASES = [
    ((), 1),
    ((1, 2, 3), 1),
    ((1, 5), 2),
    ((1, 9), 0),
    ((3, 4), 9, 2),
    ((7,), 7),
    ((8, 2, 6, 4), 0),
]


def outcomes(text: str) -> list[object]:
    """Call the function of a text; our own, so it may run here."""
    space: dict[str, object] = {}
    exec(compile(text, "<own>", "exec"), space)
    results: list[object] = []
    for rows, *bounds in CASES:
        try:
            results.append(space["sift"](list(rows), *bounds))  # type: ignore[operator]
        except ValueError as error:
            results.append(str(error))
    return results


@pytest.mark.parametrize("name", REWRITES)
def test_a_rewrite_is_another_text_that_behaves_alike(name: str) -> None:
    new = rewrite(TEXT, 10, [name])
    assert new is not None and ast.dump(ast.parse(new)) != ast.dump(ast.parse(TEXT))
    assert outcomes(new) == outcomes(TEXT)


def test_rewrites_go_together() -> None:
    names = list(REWRITES)
    for first in names:
        for second in names:
            new = rewrite(TEXT, 10, [first, second])
            assert new is None or outcomes(new) == outcomes(TEXT), (first, second)


def test_nothing_to_rewrite_is_none() -> None:
    assert rewrite("x = 1\n", 1, ["helper"]) is None
    assert rewrite("def f():\n    return 1\n", 2, ["De Morgan"]) is None


@pytest.mark.slow
def test_there_are_three_for_a_hundred_tasks() -> None:
    bundled = open_instances(Source("bundled-tokens"))
    fixes = collect(bundled, 100, 3, 0)
    rewrites = [fix for fix in fixes if fix.how != "by hand"]
    assert len({fix.instance.id for fix in rewrites}) == 100 and len(rewrites) == 300
    assert len(list(by_hand(bundled))) >= 20


@pytest.mark.slow
@needs_box
def test_some_of_them_are_full() -> None:
    bundled = open_instances(Source("bundled-tokens"))
    fixes = [*rewritten(bundled.instance("train", 1), 2), next(by_hand(bundled))]
    for fix in fixes:
        assert Grader(Boxes(), 60).grade(fix.instance, fix.edits).verdict == FULL, fix.name

from __future__ import annotations

import pytest

from agentgym.envs.swe.engine.observation import clip, show, stable
from agentgym.sandbox import ExecResult


def result(output: str, **fields: object) -> ExecResult:
    values = {"exit_code": 0, "truncated": 0, "timed_out": False, "flooded": False}
    values |= {"killed": 0, "seconds": 1.5, **fields}
    return ExecResult(output=output.encode("utf-8", "surrogatepass"), **values)  # type: ignore[arg-type]


def test_exit_code_and_output_are_shown_and_no_time() -> None:
    assert show(result("a\nb\n", exit_code=2), 30, 100) == "[exit 2]\na\nb"
    assert show(result(""), 30, 100) == "[exit 0]"
    assert show(result("x", timed_out=True), 30, 100) == "[killed after 30 s]\nx"
    assert show(result("x", flooded=True), 30, 100) == "[killed: it printed too much]\nx"
    assert show(result("x", exit_code=-9, exhausted=True), 30, 100) == "[exit -9, out of memory]\nx"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("==== 1 failed, 2 passed in 0.03s ====", "==== 1 failed, 2 passed ===="),
        ("3 passed, 1 warning in 12.50s (0:00:12)", "3 passed, 1 warning"),
        ("no tests ran in 0.00s", "no tests ran"),
        ("Ran 3 tests in 0.001s\n\nOK", "Ran 3 tests\n\nOK"),
        ("0.01s call     tests/test_a.py::test_b", "call     tests/test_a.py::test_b"),
        ("<Box object at 0x7f3a2b4c5d60>", "<Box object at 0x0>"),
        ("assert '1.50s' == '1.5s'", "assert '1.50s' == '1.5s'"),
        ("it ran in 0.03s", "it ran in 0.03s"),
        ("flags 0xdeadbeef", "flags 0xdeadbeef"),
        ("\x1b[31mred\x1b[0m\x07", "red"),
        ("a\r\nb", "a\nb"),
    ],
)
def test_what_differs_from_run_to_run_is_removed(text: str, expected: str) -> None:
    assert stable(text) == expected


def test_the_two_ends_are_kept() -> None:
    assert clip("abc", 3) == "abc"
    text = "a" * 60 + "b" * 60
    clipped = clip(text, 100, missing=1000)
    assert clipped == "a" * 50 + "\n[... 1,020 characters left out ...]\n" + "b" * 50

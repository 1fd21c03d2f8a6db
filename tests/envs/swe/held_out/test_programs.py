"""From tests to programs: what is looked at, and that no expectation stays."""

from __future__ import annotations

import ast

import pytest

from agentgym.envs.swe.held_out.programs import read_programs
from agentgym.envs.swe.making.held_out.variation import Variation, boundaries_of
from agentgym.support.random_stream import Stream

SUITE = '''"""Tests."""
import pytest
from sums import add, Span

ROWS = [(1, 2, 3), (4, 5, 9)]

def helper(x):
    return add(x, 1)

@pytest.mark.parametrize("a, b, total", ROWS)
def test_rows(a, b, total):
    assert add(a, b) == total

def test_helper():
    """Said in words."""
    assert helper(41) == 42

def test_raises():
    with pytest.raises(ValueError) as caught:
        add("x", 1)
    assert "text" in str(caught.value)

def test_other_side():
    assert [7, 8] == add([7], [8])

def test_needs_a_fixture(capsys):
    assert add(1, 1) == 2

class TestSpan:
    def test_truth(self):
        assert not Span(1, 2) and Span(2, 3).size >= 1

    def test_own(self):
        self.assertEqual(add(20, 22), 42)
'''


def bodies(suite: str = SUITE) -> dict[str, list[str]]:
    texts: dict[str, list[str]] = {}
    for program in read_programs("tests/test_a.py", suite):
        texts.setdefault(program.test.removeprefix("tests/test_a.py::"), []).append(program.text)
    return texts


def test_expected_sides_are_cut_out() -> None:
    texts = bodies()
    assert list(texts) == ["test_rows", "test_helper", "test_raises", "test_other_side",
                           "TestSpan::test_truth", "TestSpan::test_own"]  # fmt: skip
    first, second = texts["test_rows"]
    assert first.splitlines()[1:] == ["a = 1", "b = 2", "_o(add(a, b))"]
    assert "b = 5" in second and "9" not in second
    assert texts["test_other_side"][0].endswith("_o(add([7], [8]))")
    assert texts["TestSpan::test_own"][0].endswith("_o(add(20, 22))")
    assert not any("42" in text for text in texts["test_helper"])


def test_only_what_is_needed_of_the_module_stays() -> None:
    [text] = bodies()["test_helper"]
    assert "def helper" in text and "ROWS" not in text and "pytest" not in text
    assert "words" not in text


def test_either_outcome_of_raises_is_looked_at() -> None:
    [text] = bodies()["test_raises"]
    outcomes: list[object] = []
    space = {"_o": outcomes.append, "_x": lambda error: outcomes.append(type(error).__name__)}
    code = text.replace("from sums import add, Span", "def add(a, b): return a + b")
    exec(compile(code.replace("add('x', 1)", "int('x')"), "x", "exec"), dict(space))
    assert outcomes == ["ValueError", False]


def test_of_a_truth_only_the_truth_is_asked() -> None:
    [text] = bodies()["TestSpan::test_truth"]
    assert "_o(bool(Span(1, 2)))" in text and "_o(Span(2, 3).size >= 1)" in text


def test_what_is_no_python_gives_nothing() -> None:
    assert read_programs("a.py", "def test(:") == []


@pytest.mark.parametrize("limit", [1, 40])
def test_variations_differ_from_the_tests_and_from_each_other(limit: int) -> None:
    programs = read_programs("tests/test_a.py", SUITE)
    drawn = Variation(programs).draw(Stream("a"), limit)
    assert len(drawn) == limit == len({text for _, text in drawn})
    assert drawn == Variation(programs).draw(Stream("a"), limit)
    assert drawn != Variation(programs).draw(Stream("b"), limit)
    program_texts = {program.text for program in programs}
    for test, text in drawn:
        ast.parse(text)
        assert text not in program_texts and "_o(" in text
        assert test in {program.test for program in programs}


def test_literals_move_to_what_the_library_compares_with() -> None:
    source = "def f(a):\n    if 17 <= a < LIMIT or a in ('ell', 4.5):\n        return a + 99\n"
    boundaries = boundaries_of([source, "no python("])
    assert boundaries == [4.5, 17, "ell"]
    programs = read_programs("tests/test_a.py", SUITE)
    plain_questions, moved = (
        Variation(programs, values).draw(Stream("a"), 200) for values in ((), boundaries)
    )
    assert Variation(programs).draw(Stream("a"), 200) == plain_questions
    for value in ("17", "16", "18"):
        assert sum(value in text for _, text in moved) > sum(
            value in text for _, text in plain_questions
        )


def test_numbers_in_texts_move_too_and_keep_their_width() -> None:
    suite = "from a import parse\n\n\ndef test_time():\n    assert parse('7:05 h') == 425\n"
    drawn = Variation(read_programs("a.py", suite), [60]).draw(Stream("a"), 60)
    texts = " ".join(text for _, text in drawn)
    assert "'7:59 h'" in texts and "'7:60 h'" in texts and "'61:05 h'" in texts


def test_variations_of_some_tests_only() -> None:
    variation = Variation(read_programs("tests/test_a.py", SUITE))
    drawn = variation.draw(Stream("a"), 20, {"tests/test_a.py::test_rows"})
    assert {test for test, _ in drawn} == {"tests/test_a.py::test_rows"}
    assert variation.draw(Stream("a"), 5, {"tests/test_a.py::test_none"}) == []

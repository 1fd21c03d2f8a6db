"""Patterns of a file meet an answer in another process, and the whole of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentgym.envs.shell.engine import patterns
from agentgym.envs.shell.engine.patterns import check_patterns, is_anchored, matches
from agentgym.envs.shell.engine.session import same_answer
from agentgym.envs.shell.official.records import read_problems
from agentgym.errors import DataError, EnvFailure

NESTED = {
    "(a+)+$": "aaa", "^(([a-z])+.)+[A-Z]([a-z])+$": "abcDe", "(?:a|aa)+b": "aab", "(x+x+)+y": "xxy",
}  # fmt: skip
"""Patterns whose time doubles with each letter, and an answer that they match."""


@pytest.mark.parametrize(
    ("pattern", "answer", "is_right"),
    [
        ("5", "5", True), ("5", " 5 ", True), ("5", "0 1 2 3 4 5 6", False), ("5", "15", False),
        ("^5", "5 or 6", False), ("^[Tt]wo|2$", "Two", True), ("^[Tt]wo|2$", "12", False),
        (r"\d+", "12\n", True), (r"\d+", "12\nx", False), (".*", "x\ny", False),
        ("(?i)yes", "YES", True), (r"(a)\1", "aa", True), ("", "", True),
        (".*", "x" * 1000, True), (".*", "x" * 1001, False), ("\ud800", "\ud800", True),
    ],
)  # fmt: skip
def test_the_whole_answer_has_to_match(pattern: str, answer: str, is_right: bool) -> None:
    assert same_answer(answer, pattern, True) is is_right


@pytest.mark.slow
@pytest.mark.parametrize("pattern", NESTED)
def test_a_pattern_that_never_ends_costs_the_answer_and_bounded_time(
    pattern: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(patterns, "SECONDS", 1)
    for letter in "ax":
        assert not matches(pattern, letter * 60 + "!")
    assert "counts as wrong" in caplog.text
    assert matches(pattern, NESTED[pattern])


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("(", "row 1"), ("a" * 1001, "at most 1,000 characters"),
        ("a{99999999999999999999}", "too large"),
        ("*a", "nothing to repeat"),
    ],
)  # fmt: skip
def test_what_is_no_pattern_is_refused_when_it_is_read(pattern: str, words: str) -> None:
    with pytest.raises(DataError, match=words):
        check_patterns({"row 0": "fine", "row 1": pattern})


def test_a_pattern_that_was_not_checked_is_no_fault_of_the_answer() -> None:
    with pytest.raises(EnvFailure, match="expected a regular expression"):
        matches("(", "a")


def test_sound_patterns_pass() -> None:
    check_patterns({})
    check_patterns({"0": "a", "1": r"^\d+$", "2": "(?i)x"})


@pytest.mark.parametrize(
    ("pattern", "anchored"),
    [
        ("^5$", True), ("5", False), ("^5", False), ("5$", False), (r"\A5\Z", True), ("^", False),
        ("^a|b$", False), ("^a$|^b$", True), ("^(?:a|b)$", True), ("^[|]$", True),
        (r"^a\|b$", True), (r"^a\$", False), (r"^a\\$", True), ("^[a$]", False), ("", False),
        ("^[]|]$", True), (r"^[\]|]$", True),
    ],
)  # fmt: skip
def test_patterns_without_anchors_are_known(pattern: str, anchored: bool) -> None:
    assert is_anchored(pattern) is anchored


def rows(tmp_path: Path, *expressions: Any) -> Path:
    file = tmp_path / "test.json"
    content = [
        {"description": "How many?", "evaluation": {"match": {"regex": expression}}}
        for expression in expressions
    ]
    file.write_text(json.dumps(content), "utf-8")
    return file


def test_a_file_says_which_rows_are_loose(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    read_problems(rows(tmp_path, "^5$", "5", "6"), "")
    assert "2 patterns without ^ and $" in caplog.text and "record 1" in caplog.text
    caplog.clear()
    read_problems(rows(tmp_path, "^5$", "^(a|b)$"), "")
    assert not caplog.text


@pytest.mark.parametrize("pattern", ["(", 5, None, ["a"], "x" * 1001, "a{99999999999999999999}"])
def test_a_file_with_a_row_that_has_no_pattern_is_refused(tmp_path: Path, pattern: Any) -> None:
    with pytest.raises(DataError, match="record 1"):
        read_problems(rows(tmp_path, "^5$", pattern), "")

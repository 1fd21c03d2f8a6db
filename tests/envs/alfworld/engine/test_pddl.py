"""Reading PDDL problems."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym.envs.alfworld.engine.pddl import PddlProblem, parse_problem, read_tree, typed_list
from agentgym.errors import DataError

MINIMAL = """; a comment (with parentheses
(define (problem p) (:domain Alfred)
  (:objects A b - Object c)
  (:init (Openable A) (in A b) (= (total-cost) 0) (not (opened A)) (= (distance A b) 3))
  (:goal (and (openable a)(exists(?x - object)(openable?x)))))"""

BREAKS = "();? \t\r\n\x0b\x0c\x1c\x1d\x1e\x1f"
words = st.text(st.characters(codec="ascii", exclude_characters=BREAKS), min_size=1).map(str.lower)
trees = st.recursive(words, lambda inner: st.lists(inner, max_size=4), max_leaves=30)


def write(tree: object) -> str:
    return tree if isinstance(tree, str) else f"({' '.join(map(write, tree))})"  # type: ignore[call-overload]


def test_a_problem_is_read_in_lower_case_without_comments_and_costs() -> None:
    assert parse_problem(MINIMAL) == PddlProblem(
        types={"a": "object", "b": "object", "c": "object"},
        facts={"openable": [("a",)], "in": [("a", "b")]},
        goal=["and", ["openable", "a"], ["exists", ["?x", "-", "object"], ["openable", "?x"]]],
    )


@given(st.lists(trees, max_size=5))
def test_what_is_written_is_read(tree: list[object]) -> None:
    assert read_tree(write(tree)) == tree


@given(st.text(max_size=300))
def test_any_text_is_read_or_refused(text: str) -> None:
    for reader in (read_tree, parse_problem):
        try:
            reader(text)
        except DataError as error:
            assert "expected" in str(error) and "got" in str(error)


@pytest.mark.parametrize(
    "text",
    [
        "", "()", "(define", "(define))", "word", "(define (x)) (define (y))", "(define é)",
        "(" * 100_000, "(a" * 500 + ")" * 500, "(define (:init))",
        MINIMAL.replace("Alfred", "blocks"),
        MINIMAL.replace("(Openable A)", "Openable"),
        MINIMAL.replace("(Openable A)", "(Openable (A))"),
        MINIMAL.replace("(Openable A)", "((Openable) A)"),
        MINIMAL.replace("(Openable A)", "()"),
        MINIMAL.replace("A b - Object", "A a - Object"),
        MINIMAL.replace("A b - Object c", "A b -"),
        MINIMAL.replace("A b - Object", "A (b) - Object"),
        MINIMAL.replace("(:goal ", "(:goal () "),
        MINIMAL.replace("(:objects", "(:goal x) (:objects"),
    ],
)  # fmt: skip
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(DataError, match="expected"):
        parse_problem(text)


def test_names_take_the_type_that_follows() -> None:
    assert typed_list(["a", "b", "-", "t", "c", "-", "u", "d"]) == [
        ("a", "t"), ("b", "t"), ("c", "u"), ("d", "object"),
    ]  # fmt: skip

"""Reading JSON as annotations say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypedDict

import pytest
from pydantic_core import ValidationError

from agentgym.errors import DataError
from agentgym.support.typed_json import _validator, read_json


@dataclass(frozen=True)
class Leaf:
    size: float
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Tree:
    title: str | None
    leaf: Leaf | None
    leaves: tuple[Leaf, ...] = ()
    parts: Mapping[str, float] = field(default_factory=dict)
    pairs: Mapping[str, tuple[Any, int]] = field(default_factory=dict)
    anything: dict[str, Any] = field(default_factory=dict)


class Note(TypedDict, total=False):
    step: int
    labels: list[str]


WHOLE = {
    "title": None,
    "leaf": {"size": 1, "names": ["a"]},
    "leaves": [{"size": 0.5}],
    "parts": {"x": 1, "y": True},
    "pairs": {"k": [[1], 2]},
    "anything": {"deep": [{"er": None}]},
    "later": "ignored",
}


def test_a_whole_value_is_read() -> None:
    assert read_json(Tree, WHOLE) == Tree(
        None,
        Leaf(1, ("a",)),
        (Leaf(0.5),),
        {"x": 1, "y": True},
        {"k": ([1], 2)},
        {"deep": [{"er": None}]},
    )
    assert read_json(Note, {"step": 1, "more": {}}) == {"step": 1, "more": {}}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"title": 1}, r"'title' to be a text, got 1"),
        ({"leaf": []}, r"'leaf' to be an object, got \[\]"),
        ({"leaf": {"size": "1"}}, "'leaf.size' to be a finite number, got '1'"),
        ({"leaf": {"size": True}}, "'leaf.size' to be a finite number, got True"),
        ({"leaf": {"size": float("nan")}}, "'leaf.size' to be a finite number, got nan"),
        ({"leaf": {"size": 10**400}}, "'leaf.size' to be a finite number, got 1000"),
        ({"leaf": {}}, "the field 'leaf.size', but it is missing"),
        ({"leaves": {}}, r"'leaves' to be a list, got {}"),
        ({"leaves": [{"size": 1, "names": ["a", 2]}]}, r"'leaves\[0\].names\[1\]' to be a text"),
        ({"leaves": [3]}, r"'leaves\[0\]' to be an object, got 3"),
        ({"parts": {"x": "1"}}, r"'parts.x' to be a finite number, got '1'"),
        ({"pairs": {"k": [1]}}, r"the field 'pairs.k\[1\]', but it is missing"),
        ({"anything": None}, "'anything' to be an object, got None"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(change: dict[str, Any], words: str) -> None:
    with pytest.raises(DataError, match=words):
        read_json(Tree, {**WHOLE, **change})


def test_numbers_that_json_lacks_are_read_on_request() -> None:
    assert read_json(Leaf, {"size": float("inf")}, finite=False).size == float("inf")


def test_only_some_fields_may_be_missing() -> None:
    with pytest.raises(DataError, match=r"the field 'leaves\[0\].names', but it is missing"):
        read_json(Tree, WHOLE, may_lack=())
    assert read_json(Leaf, {"size": 2}, may_lack=("names",)) == Leaf(2)
    with pytest.raises(DataError, match="expected the top to be an object, got 3"):
        read_json(Tree, 3)
    with pytest.raises(DataError, match=r"'extra.labels\[0\]' to be a text, got 5"):
        read_json(Note, {"labels": [5]}, "extra")


def test_a_person_can_misspell_no_key() -> None:
    message = r"'leaf' to be made of the keys size, names; got 'sise' \(did you mean 'size'\?\)$"
    with pytest.raises(DataError, match=message):
        read_json(Tree, {"title": None, "leaf": {"size": 1, "sise": 2}}, closed=True)


def test_a_file_full_of_errors_takes_no_memory_for_each() -> None:
    bad_inputs: list[dict[str, Any]] = [
        {"parts": dict.fromkeys("abcdef", "x")},
        {"leaves": [{}] * 9},
        {"leaves": [{"size": 1, "names": [1] * 9}]},
    ]
    for change in bad_inputs:
        with pytest.raises(ValidationError) as caught:
            _validator(Tree).validate_python({**WHOLE, **change})
        assert caught.value.error_count() == 1

"""Reading JSON as annotations say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypedDict

import pytest

from agentgym.errors import DataError
from agentgym.support.typed_json import read_json


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
        ({"title": 1}, r"'title' to be str \| None, got 1"),
        ({"leaf": []}, r"'leaf' to be Leaf \| None, got \[\]"),
        ({"leaf": {"size": "1"}}, "'leaf.size' to be float, got '1'"),
        ({"leaf": {"size": True}}, "'leaf.size' to be float, got True"),
        ({"leaf": {"size": float("nan")}}, "'leaf.size' to be float, got nan"),
        ({"leaf": {"size": 10**400}}, "'leaf.size' to be float, got 1000"),
        ({"leaf": {}}, "the field 'leaf.size', but it is missing"),
        ({"leaves": {}}, r"'leaves' to be tuple\[Leaf, ...\], got {}"),
        ({"leaves": [{"size": 1, "names": ["a", 2]}]}, r"'leaves\[0\].names\[1\]' to be str"),
        ({"leaves": [3]}, r"an object at leaves\[0\], got 3"),
        ({"parts": {"x": "1"}}, r"'parts.x' to be bool \| float, got '1'"),
        ({"pairs": {"k": [1]}}, r"'pairs.k' to be tuple\[Any, int\], got \[1\]"),
        ({"anything": None}, r"'anything' to be dict\[str, Any\], got None"),
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
    with pytest.raises(DataError, match="an object at the top, got 3"):
        read_json(Tree, 3)
    with pytest.raises(DataError, match=r"'extra.labels\[0\]' to be str, got 5"):
        read_json(Note, {"labels": [5]}, "extra")

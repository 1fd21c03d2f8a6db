"""An info dict that computes values when they are read is, in all else, the dict of all values."""

from __future__ import annotations

import copy
import json
import operator
import pickle
from collections.abc import Callable
from functools import partial
from typing import Any

import gymnasium
import pytest

from agentgym.core.info import WHOLE, Info
from tests.toy import TOY_ID, ToyEnv

ALL = {"a": 1, "b": [2], "c": "abc", "d": 3}
NEEDS_NO_VALUE = {
    "__class__", "__class_getitem__", "__contains__", "__delattr__", "__dir__", "__doc__",
    "__format__", "__ge__", "__getattribute__", "__getitem__", "__getstate__", "__gt__", "__hash__",
    "__init__", "__init_subclass__", "__ior__", "__le__", "__lt__", "__new__", "__reduce__",
    "__reduce_ex__", "__setattr__", "__setitem__", "__sizeof__", "__str__", "__subclasshook__",
    "fromkeys", "get", "update",
}  # fmt: skip
"""Attributes of dict that give the same with values missing, or by way of another of them."""


def make() -> Info:
    return Info.of({"a": 1, "b": [2]}, {"c": lambda source: source, "d": len}, "abc")


def touched() -> Info:
    info = make()
    assert info["d"] == 3
    return info


def test_every_method_of_dict_was_thought_of() -> None:
    assert set(dir(dict)) - NEEDS_NO_VALUE == set(WHOLE)


@pytest.mark.parametrize("fresh", [make, touched])
@pytest.mark.parametrize(
    "use",
    [
        lambda d: d == ALL, lambda d: d != ALL, lambda d: d == make(), partial(operator.eq, ALL),
        partial(operator.ne, ALL), len, list, sorted, bool, str, repr, dict, json.dumps,
        lambda d: json.dumps(d, indent=1), lambda d: {**d}, lambda d: dict(**d),
        lambda d: d | {"e": 4}, lambda d: {"e": 4} | d, lambda d: d.copy(),
        lambda d: list(d.items()), lambda d: list(d.values()), lambda d: list(reversed(d)),
        lambda d: d.keys() & {"a", "c"}, lambda d: "c" in d, lambda d: "e" in d,
        lambda d: d.get("c"), lambda d: d.get("e", 5), lambda d: d["c"], lambda d: f"{d}",
        lambda d: d.pop("c"), lambda d: d.popitem(), lambda d: d.setdefault("d", 9),
        lambda d: (d.clear(), d)[1], lambda d: d.__delitem__("c") or d,
        lambda d: d.update(c="x") or d, lambda d: d.__ior__({"c": "y"}),
        lambda d: d.__setitem__("c", "z") or d, lambda d: dict.fromkeys(d),
        copy.copy, copy.deepcopy, lambda d: pickle.loads(pickle.dumps(d)),
        lambda d: isinstance(d, dict),
    ],
)  # fmt: skip
def test_it_is_the_dict_of_all_values(
    fresh: Callable[[], Info], use: Callable[[dict[str, Any]], Any]
) -> None:
    assert use(fresh()) == use(copy.deepcopy(ALL))


@pytest.mark.parametrize("key", ["a", "c", "d"])
def test_a_value_is_computed_once(key: str) -> None:
    calls: list[str] = []
    info = Info.of({"a": 1}, {"c": calls.append, "d": calls.append}, "source")
    assert calls == []
    for _ in range(3):
        info[key]
    assert calls == ["source"] * (key != "a")
    assert set(info.names()) == {"a", "c", "d"}
    assert info == {"a": 1, "c": None, "d": None}
    assert calls == ["source"] * 2


def test_what_is_not_there_is_named() -> None:
    for info in (make(), touched()):
        with pytest.raises(KeyError, match="'e'"):
            info["e"]
        with pytest.raises(KeyError, match="'e'"):
            info.pop("e")


def test_a_copy_of_any_kind_is_a_plain_dict() -> None:
    for copied in (make().copy(), copy.deepcopy(make()), pickle.loads(pickle.dumps(make()))):
        assert type(copied) is dict


def test_an_info_read_late_is_that_of_its_own_turn() -> None:
    """Values are computed from what the turn left behind, not from where the episode is now."""
    late, early = gymnasium.make(TOY_ID), gymnasium.make(TOY_ID)
    infos = [late.reset(seed=3)[1]]
    readings = [early.reset(seed=3)[1].copy()]
    for action in (*[f"press {colour}" for colour in ("red", "blue", "green", "gold")], "nonsense"):
        infos.append(late.step(action)[4])
        readings.append(early.step(action)[4].copy())
    late.reset(seed=4)
    assert infos == readings
    assert len({info["state_key"] for info in infos}) > 1
    assert {type(info["stop_reason"]) for info in infos} == {str}


def test_an_info_of_which_nothing_was_read_is_written_as_json_in_full() -> None:
    """The encoder takes a dict for {} that stores nothing, without asking it for its values."""
    env = ToyEnv()
    for info in (env.reset(seed=3)[1], env.step("press red")[4]):
        text = json.dumps(info)
        assert json.loads(text) == info.copy() and len(info) > 10


def test_nothing_is_hashed_unless_a_key_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    states: list[str] = []

    def hashed(state: str) -> str:
        states.append(state)
        return "key"

    monkeypatch.setattr("agentgym.core.info.hashed", hashed)
    env = ToyEnv()
    env.reset(seed=0)
    info = env.step("press red")[4]
    assert (info["turn"], states) == (1, [])
    assert (info["state_key"], len(states)) == ("key", 1)

"""Images brought before they are needed: what is there stays, what fails is named."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from agentgym.envs.swe.official.prefetch import FAILURES, prefetch
from agentgym.sandbox import SandboxUnavailable


class Engine:
    """Stands for what brings images: some are there, some do not exist, each takes ten bytes."""

    def __init__(self, present: Collection[str] = (), missing: Collection[str] = ()) -> None:
        self.sizes = dict.fromkeys(present, 10)
        self.missing = missing
        self.pulls: list[str] = []

    def total_size(self) -> int:
        return sum(self.sizes.values())

    def find(self, name: str) -> object | None:
        return name if name in self.sizes else None

    def ensure(self, name: str) -> None:
        self.pulls.append(name)
        if name in self.missing:
            raise SandboxUnavailable(f"no {name}")
        self.sizes[name] = 10


def run(engine: Engine, names: str, **arguments: Any) -> Any:
    return prefetch(list(names), engine, **arguments)


def test_what_is_missing_is_pulled_once() -> None:
    engine, names = Engine(present="b"), list[str]()
    found_faults = run(engine, "abaca", watch=names.append)
    assert (
        found_faults.pulled,
        found_faults.existing,
        found_faults.failed,
        found_faults.untried,
    ) == (["a", "c"], ["b"], {}, ())
    assert engine.pulls == ["a", "c"]
    assert names == ["a", "b", "c"]


def test_an_image_that_cannot_be_had_does_not_keep_the_others_back() -> None:
    found_faults = run(Engine(missing="bd"), "abcd")
    assert found_faults.pulled == ["a", "c"]
    assert found_faults.failed == {"b": "no b", "d": "no d"}


def test_several_failures_in_a_row_end_it() -> None:
    engine = Engine(missing="bcde")
    found_faults = run(engine, "abcdef")
    assert engine.pulls == list("abcd")
    assert (len(found_faults.failed), found_faults.untried) == (FAILURES, ("e", "f"))
    assert "one after the other" in found_faults.why


def test_the_budget_ends_it() -> None:
    found_faults = run(Engine(present="x"), "abxc", budget=30)
    assert (found_faults.pulled, found_faults.existing, found_faults.untried) == (
        ["a", "b"],
        ["x"],
        ("c",),
    )
    assert "budget" in found_faults.why
    assert run(Engine(), "a", budget=0).untried == ("a",)

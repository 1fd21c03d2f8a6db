"""The fast selection: small, the same everywhere, and of everything something."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests import selection

WHOLE = 4000
"""Fewer tests than this are not the whole suite, or its fast selection."""


class Case:
    """What the selection reads of a test."""

    def __init__(self, name: str, slow: bool = False, **indices: int) -> None:
        self.path = Path("tests/test_a.py")
        self.nodeid = f"{self.path}::{name}[{indices}]"
        self.callspec = SimpleNamespace(indices=indices, params={})
        self._slow = slow

    def get_closest_marker(self, name: str) -> str | None:
        return name if self._slow else None


def case(name: str, slow: bool = False, **indices: int) -> Any:
    return Case(name, slow, **indices)


def test_a_function_with_many_cases_keeps_few_and_all_stay_in_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(selection, "vocabulary", lambda: set())
    items = [case("test_many", n=n) for n in range(20)]
    items += [case("test_few", n=n) for n in range(2)] + [case("test_slow", slow=True)]
    fast, deselected = selection.select_fast(items)
    assert Counter(item.nodeid.partition("[")[0] for item in fast) == {
        "tests/test_a.py::test_many": selection.CASES,
        "tests/test_a.py::test_few": 2,
    }
    assert fast == [item for item in items if item in fast]
    assert deselected == [item for item in items if item not in fast]
    assert fast == selection.select_fast(items[::-1])[0][::-1]  # Names decide, not the order.


def test_functions_of_a_module_share_out_their_arguments() -> None:
    used: set[selection.Argument] = set()
    for function in range(5):
        cases = [case(f"test_{function}", grammar=n) for n in range(15)]
        assert len([*selection.choose_cases(cases, used)]) == selection.CASES
    assert used == {("grammar", n) for n in range(15)}


def test_a_name_that_no_chosen_case_has_gets_one_more(monkeypatch: pytest.MonkeyPatch) -> None:
    items = [case("test_many", n=n) for n in range(20)]
    first, *others_left = sorted(items, key=selection.name_hash)[selection.CASES :]
    first.callspec.params["family"] = others_left[0].callspec.params["family"] = SimpleNamespace(
        name="x"
    )
    only_slow = case("test_slow", slow=True)
    only_slow.callspec.params["backend"] = "ray"
    monkeypatch.setattr(selection, "vocabulary", lambda: {"x", "ray"})
    fast, _ = selection.select_fast([*items, only_slow])
    assert first in fast and others_left[0] not in fast and only_slow in fast
    assert len(fast) == selection.CASES + 2


def test_every_family_grammar_back_end_and_preset_is_met(request: pytest.FixtureRequest) -> None:
    items = request.session.items
    if len(items) < WHOLE:
        pytest.skip("the tests of some folders alone need not meet every name")
    fast, _ = selection.select_fast(items)
    assert not selection.vocabulary() - {word for item in fast for word in selection.words_of(item)}

"""The tree of prefixes gives every row its own tokens and positions, and holds none twice."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainers.rollouts.scoring.prefix_tree import KEY_SHARE, divided_rows, prefix_tree

ROWS = st.lists(st.lists(st.integers(0, 2), max_size=9), max_size=12)
"""Few ids, so that rows share prefixes of every length, and some are prefixes of others."""


def arrays(rows: list[list[int]]) -> list[Any]:
    return [np.array(row, dtype=np.int64) for row in rows]


def prefixes(rows: list[list[int]]) -> set[tuple[int, ...]]:
    """All distinct prefixes that end with a token."""
    return {tuple(row[: k + 1]) for row in rows for k in range(len(row))}


@given(ROWS)
def test_every_row_is_found_again_and_every_prefix_is_held_once(rows):
    tree = prefix_tree(arrays(rows))
    for row, places in zip(rows, tree.places, strict=True):
        assert tree.ids[places].tolist() == row
        assert tree.positions[places].tolist() == list(range(len(row)))
    assert len(tree.ids) == len(tree.positions) == len(prefixes(rows))


@given(ROWS)
def test_every_token_belongs_to_one_row_behind_what_that_row_shares(rows):
    tree = prefix_tree(arrays(rows))
    owned = [
        place
        for places, shared in zip(tree.places, tree.shared, strict=True)
        for place in places[shared:]
    ]
    assert sorted(owned) == list(range(len(tree.ids)))


@given(ROWS, st.integers(1, 30))
def test_trees_hold_every_row_once_and_stay_within_the_budget(rows, budget):
    parts = divided_rows(arrays(rows), budget)
    placed = [row for part in parts for row in part]
    assert sorted(placed) == [k for k, row in enumerate(rows) if row]
    sizes = []
    for part in parts:
        tree = prefix_tree(arrays([rows[k] for k in part]))
        sizes.append(len(tree.ids) + sum(int(n) // KEY_SHARE for n in tree.shared))
        assert sizes[-1] <= budget or len(part) == 1
    assert sizes == sorted(sizes, reverse=True)


def test_members_of_a_group_sit_together():
    opening, other_opening = [1, 2, 3, 4], [1, 2, 9, 9]
    rows = arrays(
        [[*opening, 5], [*other_opening, 5], [*opening, 6], [*other_opening, 6], [*opening, 7]]
    )
    assert [sorted(part) for part in divided_rows(rows, 7)] == [[0, 2, 4], [1, 3]]
    assert [sorted(part) for part in divided_rows(rows, None)] == [[0, 1, 2, 3, 4]]
    assert prefix_tree(rows).shared.tolist() == [0, 2, 4, 4, 4]


def test_a_long_shared_prefix_costs_its_keys():
    rows = arrays([[*range(80), 100 + k] for k in range(4)])
    assert len(divided_rows(rows, 81 + 3 * 11)) == 1
    assert len(divided_rows(rows, 81 + 3 * 11 - 1)) == 2


@pytest.mark.parametrize("rows", [[], [[]], [[], []]], ids=["none", "empty", "two empty"])
def test_nothing_makes_an_empty_tree(rows):
    tree = prefix_tree(arrays(rows))
    assert len(tree.ids) == 0
    assert [len(places) for places in tree.places] == [0] * len(rows)
    assert divided_rows(arrays(rows), 4) == []

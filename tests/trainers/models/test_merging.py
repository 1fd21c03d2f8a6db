"""Merges of what policies changed, against numbers worked by hand."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from agentgym.errors import ConfigurationError
from trainers.models.merging import METHODS, Merge

FIRST, SECOND = [1.0, 0.0, 0.0, 0.5, -3.0], [0.0, 2.0, 0.0, 0.3, 1.0]
HAND = {
    # The RAM example of the paper's authors, and an entry on which the two disagree.
    Merge("ram", ()): [1.0, 2.0, 0.0, 0.4, -1.0],
    # Each policy has one entry alone and two in common: lambda = 1 + .1 min(2, .2) = 1.02.
    Merge("ram+", ()): [1.02, 2.04, 0.0, 0.4, -1.0],
    Merge("linear", (0.5, 0.5)): [0.5, 1.0, 0.0, 0.4, -1.0],
    Merge("linear", (0.25, 0.75)): [0.25, 1.5, 0.0, 0.35, 0.0],
    # Of five entries two stay: -3 and 1, 2 and 1. The last has the sign of -3 + 1.
    Merge("ties", (1.0, 1.0), 0.4): [1.0, 2.0, 0.0, 0.0, -3.0],
    Merge("ties", (1.0, 1.0), 1.0): [1.0, 2.0, 0.0, 0.4, -3.0],
    Merge("ties", (2.0, 1.0), 1.0): [2.0, 2.0, 0.0, 0.65, -6.0],
}


def merged(merge: Merge, *deltas: list[float]) -> list[float]:
    values: list[float] = merge([{"w": torch.tensor(delta)} for delta in deltas])["w"].tolist()
    return values


@pytest.mark.parametrize("merge", HAND, ids=lambda m: f"{m.method} {m.weights} {m.density}")
def test_by_hand(merge: Merge) -> None:
    assert merged(merge, FIRST, SECOND) == pytest.approx(HAND[merge], abs=1e-6)


def test_lambda_counts_over_all_tensors() -> None:
    first = {"a": torch.tensor([1.0] * 20), "b": torch.tensor([1.0])}
    second = {"a": torch.zeros(20), "b": torch.tensor([3.0])}
    tensors = Merge("ram+", ())([first, second])
    # One shared entry beside 20 of its own: lambda = 1 + .1 / 20.
    assert tensors["a"].tolist() == pytest.approx([1.005] * 20) and tensors["b"].item() == 2.0


def test_what_hardly_changed_has_not_changed() -> None:
    assert merged(Merge("ram", ()), [5e-6, 1.0], [1.0, 2e-6]) == [1.0, 1.0]


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.lists(st.floats(-9, 9, width=32), min_size=6, max_size=6), min_size=1, max_size=4),
    st.sampled_from(METHODS),
)
def test_the_order_does_not_matter_and_equal_policies_stay(
    deltas: list[list[float]], method: str
) -> None:
    count = len(deltas)
    share = (1.0 / count if method == "linear" else 1.0,) * count
    merge = Merge(method, share, 1.0)  # type: ignore[arg-type]
    forward, back = merged(merge, *deltas), merged(merge, *reversed(deltas))
    assert forward == pytest.approx(back, rel=1e-4, abs=1e-5)
    same_weights = merged(merge, *[deltas[0]] * count)
    grown = 1.1 if method == "ram+" and count == 1 else 1.0
    for value, expected in zip(same_weights, deltas[0], strict=True):
        assert value == pytest.approx(expected, rel=1e-4, abs=2e-5) or grown > 1.0


@pytest.mark.parametrize("density", [0.0, 1.5, -1.0])
def test_a_density_is_a_share(density: float) -> None:
    with pytest.raises(ConfigurationError, match=r"--density in \(0, 1\]"):
        Merge("ties", (1.0,), density)

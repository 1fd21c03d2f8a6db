"""Where episodes branch: rules, and a budget that no tree exceeds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym.errors import ConfigurationError
from trainers.methods.forks.branching import (
    Branching,
    EntropyRise,
    EveryTurn,
    RandomTurns,
    uncertainty,
)


@given(
    leaves=st.integers(1, 40),
    copies=st.integers(1, 6),
    nested=st.booleans(),
    rate=st.floats(0, 1),
    seed=st.integers(0, 99),
)
def test_a_tree_never_exceeds_its_budget(leaves, copies, nested, rate, seed):
    branching = Branching(RandomTurns(rate), copies=copies, nested=nested)
    rng = np.random.default_rng(seed)
    live = [leaves]
    for turn in range(1, 30):
        live = [
            share
            for live_episode in live
            for share in branching.shares(live_episode, turn, 0.0, float(rng.random()))
        ]
        assert sum(live) == leaves and min(live) >= 1
    if rate == 1.0:
        assert len(live) == min(leaves, 1 + 29 * copies if not nested else leaves)


def test_forks_follow_the_rise_of_entropy():
    branching, rng = Branching(EntropyRise(0.5, 0.2)), np.random.default_rng(0)
    rates = [
        np.mean([len(branching.shares(2, 1, rise, rng.random())) == 2 for _ in range(4000)])
        for rise in (-5, 0, 1, 5)
    ]
    np.testing.assert_allclose(rates, [0, 0.5, 0.7, 1], atol=0.03)


def test_a_fork_divides_what_is_left():
    assert Branching(EveryTurn(), copies=2).shares(8, 1, 0.0, 0.0) == [3, 3, 2]
    assert Branching(EveryTurn(), copies=2, nested=False).shares(8, 1, 0.0, 0.0) == [6, 1, 1]
    assert Branching(EveryTurn(), copies=4).shares(3, 1, 0.0, 0.0) == [1, 1, 1]
    every_third = Branching(EveryTurn(3))
    assert [len(every_third.shares(2, turn, 0.0, 0.0)) for turn in range(1, 7)] == [
        1,
        1,
        2,
        1,
        1,
        2,
    ]


def test_the_entropy_of_a_turn_is_that_of_its_first_tokens():
    """ARPO: summed over twenty tokens, over that of a uniform draw from the vocabulary."""
    assert uncertainty(np.full(50, np.log(100)), 100) == pytest.approx(20.0)
    assert uncertainty(np.full(3, np.log(10)), 100) == pytest.approx(1.5)


@pytest.mark.parametrize("wrong", [lambda: EveryTurn(0), lambda: RandomTurns(1.5),
                                   lambda: EntropyRise(float("nan")),
                                   lambda: Branching(EveryTurn(), roots=0),
                                   lambda: Branching(EveryTurn()).leaves(8),
                                   lambda: Branching(EveryTurn()).leaves(12)])  # fmt: skip
def test_what_cannot_branch_is_refused(wrong):
    with pytest.raises(ConfigurationError, match="expected"):
        wrong()

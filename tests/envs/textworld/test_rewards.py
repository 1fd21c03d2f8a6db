from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym.core.outcome import total
from agentgym.envs.textworld.rewards import (
    REWARDS,
    Status,
    potential,
    progress,
    value,
)

steps = st.lists(
    st.tuples(st.integers(-3, 40), st.one_of(st.none(), st.integers(1, 60))), max_size=30
)


def rewards(mode: str, statuses: list[Status]) -> list[float]:
    """Return the reward of each turn; the first status is that of the start."""
    phi = potential(statuses[0])
    values = [value(mode, statuses[0], phi)]
    for status in statuses[1:]:
        phi = potential(status, phi)
        values.append(value(mode, status, phi))
    assert values[0] == 0.0
    return [after - before for before, after in pairwise(values)]


def episode(path: list[tuple[int, int | None]], top: int, initial: int, end: str) -> list[Status]:
    statuses = [Status(0, top, initial, initial)]
    statuses += [Status(score, top, turns_left, initial) for score, turns_left in path]
    if end:
        last = statuses[-1]
        turns_left = 0 if end == "won" else last.remaining
        statuses.append(
            Status(last.score, top, turns_left, initial, won=end == "won", lost=end == "lost")
        )
    return statuses


@pytest.mark.parametrize("mode", REWARDS)
@given(path=steps, top=st.integers(1, 40), initial=st.integers(1, 40))
def test_a_won_game_pays_exactly_one(
    mode: str, path: list[tuple[int, int | None]], top: int, initial: int
) -> None:
    won = rewards(mode, episode(path, top, initial, "won"))
    assert total(won) == 1.0 and total(reversed(won)) == 1.0


@pytest.mark.parametrize("mode", REWARDS)
@given(path=steps, top=st.integers(1, 40), initial=st.integers(1, 40))
def test_a_lost_game_never_pays(
    mode: str, path: list[tuple[int, int | None]], top: int, initial: int
) -> None:
    rewards_of_loss = rewards(mode, episode(path, top, initial, "lost"))
    assert total(rewards_of_loss) <= 0.0 and rewards_of_loss[-1] <= 0.0
    unfinished = rewards(mode, episode(path, top, initial, ""))
    assert total(unfinished) <= 1.0


def test_sparse() -> None:
    statuses = episode([(1, 3), (2, 2)], 3, 4, "won")
    assert rewards("sparse", statuses) == [0.0, 0.0, 1.0]
    assert rewards("sparse", episode([(1, 3), (2, 2)], 3, 4, "lost")) == [0.0, 0.0, 0.0]


def test_score_pays_each_point_once() -> None:
    statuses = episode([(1, 3), (1, 3), (3, 1)], 4, 4, "won")
    assert rewards("score", statuses) == [0.25, 0.0, 0.5, 0.25]
    assert rewards("score", episode([(3, 1)], 4, 4, "lost")) == [0.75, -0.75]


def test_dense_charges_a_detour_and_gives_it_back() -> None:
    statuses = episode([(0, 5), (0, 4), (0, 3)], 1, 4, "won")
    assert rewards("dense", statuses) == [-0.25, 0.25, 0.25, 0.75]
    assert rewards("dense", episode([(0, 5)], 1, 4, "lost")) == [-0.25, 0.0]
    assert rewards("dense", episode([(0, 1)], 1, 4, "lost")) == [0.75, -0.75]


def test_a_game_that_no_plan_wins_gives_nothing() -> None:
    assert rewards("dense", episode([(0, 1), (0, None), (0, None)], 1, 4, "")) == [0.75, -0.75, 0.0]
    assert rewards("dense", episode([(0, 6), (0, None)], 1, 4, "")) == [-0.5, 0.0]


def test_progress_is_a_share() -> None:
    assert progress(Status(1, 4, 3, 4)) == 0.25
    assert progress(Status(-1, 4, 3, 4)) == 0.0
    assert progress(Status(3, 4, 0, 4, won=True)) == 1.0
    assert progress(Status(4, 4, 3, 4, lost=True)) == 0.0
    assert progress(Status(3, 0, 3, 4)) == 0.0

"""Packing and validation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from agentgym.core.outcome import StopReason
from tests.trainers.algorithms.helpers import pack
from trainers.algorithms.batch import Batch


def example() -> Batch:
    return Batch.from_trajectories(
        [[2, 1], [], [3]],
        [[0.0, 1.0], [], [0.5]],
        ["b", "b", "a"],
        states=[["s0", "s1"], [], ["s0"]],
        stop_reasons=[StopReason.SUCCESS, StopReason.ERROR, StopReason.HORIZON],
        aux={"flag": [[0, 1], [], [0]], "entropy": [[0.1, 0.2, 0.3], [], [0.4, 0.5, 0.6]]},
    )


def test_packs_nested_lists() -> None:
    batch = example()
    assert (batch.n_tokens, batch.n_turns, batch.n_trajectories) == (6, 3, 3)
    assert batch.turn.tolist() == [0, 0, 1, 2, 2, 2]
    assert batch.traj.tolist() == [0, 0, 2]
    assert batch.group.tolist() == [0, 0, 1]
    assert batch.state.tolist() == [0, 1, 0]
    assert batch.turn_index.tolist() == [0, 1, 0]
    assert batch.turn_count.tolist() == [2, 0, 1]
    assert batch.is_final_turn.tolist() == [False, True, True]
    assert batch.returns.tolist() == [1.0, 0.0, 0.5]
    assert len(batch.aux["flag"]) == 3
    assert len(batch.aux["entropy"]) == 6


@pytest.mark.parametrize("end", list(StopReason))
def test_reward_sits_on_the_last_action_token_for_every_ending(end: StopReason) -> None:
    rewards = [[0.25, 1.0], [2.0]]
    batch = Batch.from_trajectories([[2, 3], [1]], rewards, [0, 0], stop_reasons=[end, end])
    assert batch.stop_reason.tolist() == [end.value] * 2
    assert batch.token_reward.tolist() == [0, 0.25, 0, 0, 1.0, 2.0]
    assert batch.token_reward.sum() == batch.returns.sum()


def test_arrays_are_read_only_and_the_callers_stay_writable() -> None:
    reward = np.zeros(1)
    batch = replace(pack([[1.0]], [0]), reward=reward)
    with pytest.raises(ValueError, match="read-only"):
        batch.reward[0] = 1.0
    reward[0] = 1.0


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("turn", [1, 0, 0, 1, 2, 2], "turn to be sorted"),
        ("turn", [0, 0, 0, 2, 2, 2], "none for turn 1"),
        ("turn", [0, 0, 1, 2, 2, 3], r"turn in \[0, 3\)"),
        ("turn", [[0], [1]], "one dimension"),
        ("traj", [0, 2, 1], "traj to be sorted"),
        ("traj", [0, 0, 3], r"traj in \[0, 3\)"),
        ("reward", [0.0, 1.0], "reward to have 3 entries"),
        ("reward", [0.0, np.nan, 1.0], "reward to be finite, got nan at 1"),
        ("logp_old", [-np.inf] * 6, "logp_old to be finite"),
        ("values", [0.0] * 5, "values to have 6 entries"),
        ("stop_reason", [0, 0, 5], "stop_reason to hold strings"),
        ("group", [0.5, 1.0, 2.0], "group to hold integers"),
        ("aux", {"x": np.zeros(4)}, "repeat trajectory values"),
    ],
)
def test_refuses_what_breaks_an_invariant(field: str, value: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(example(), **{field: value})


def test_refuses_a_batch_without_action_tokens() -> None:
    with pytest.raises(ValueError, match="at least one action token"):
        pack([[], []], [0, 0])


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"states": [["s"], [], ["s"]]}, r"states\[0\] to have 2 entries, got 1"),
        ({"logp_behave": [[0.0], [], [0.0]]}, r"logp_behave\[0\] to have 3 entries"),
        ({"aux": {"x": [[0.0]]}}, "one list for each of 3 trajectories"),
    ],
)
def test_refuses_ragged_lists_that_disagree(more: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Batch.from_trajectories([[2, 1], [], [3]], [[0, 1], [], [1]], [0, 0, 0], **more)

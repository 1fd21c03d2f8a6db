"""Reward corrections on the packed batch."""

from __future__ import annotations

import pytest

from agentgym.core.outcome import StopReason
from tests.trainers.algorithms.helpers import pack
from trainers.algorithms.batch import Batch
from trainers.algorithms.preset import Preset
from trainers.algorithms.presets import get_preset
from trainers.algorithms.shaping import EndPenalty, FlagPenalty, Overlong, shape_rewards


def test_end_penalty_sits_on_the_last_turn_of_its_endings() -> None:
    batch = pack(
        [[0, 1.0], [0, 0.5]], [0, 0], stop_reasons=[StopReason.SUCCESS, StopReason.HORIZON]
    )
    assert shape_rewards(batch, [EndPenalty()]).reward.tolist() == [0, 1.0, 0, 0.3]


def test_overlong_is_linear_up_to_the_limit() -> None:
    batch = Batch.from_trajectories([[40, 40], [90], [120]], [[0, 0], [0], [0]], [0, 0, 0])
    assert Overlong(limit=100)(batch).tolist() == [0, 0, -0.5, -1]
    assert Overlong(limit=100, share=0.5)(batch).tolist() == pytest.approx([0, -0.6, -0.8, -1])


def test_overlong_takes_the_token_budget_for_its_limit() -> None:
    """20,480 tokens, the paper's limit, are beyond the budgets of any episode here."""
    batch = Batch.from_trajectories([[400], [512]], [[0], [0]], [0, 0])
    dapo = get_preset("dapo").within(512)
    assert shape_rewards(batch, dapo.shapers).reward.tolist() == pytest.approx([0, -1])
    assert Preset("fixed", "", None, dapo.terms, shapers=(Overlong(450),)).within(512).shapers == (
        Overlong(450),
    )
    with pytest.raises(ValueError, match="limit in tokens for Overlong, got None"):
        shape_rewards(batch, get_preset("dapo").shapers)


@pytest.mark.parametrize("bad_input", [{"share": 0.0}, {"share": 1.5}, {"limit": 0}])
def test_overlong_refuses_what_makes_no_sense(bad_input: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="share in"):
        Overlong(**bad_input)


def test_flags_are_punished_turn_by_turn_and_shapers_add_up() -> None:
    batch = pack(
        [[1.0, 0.0]], [0], aux={"invalid_action": [[1, 0]]}, stop_reasons=[StopReason.TOKEN_LIMIT]
    )
    shaped = shape_rewards(batch, [FlagPenalty(), EndPenalty(-0.5)])
    assert shaped.reward.tolist() == [0.9, -0.5]
    assert shape_rewards(batch, []) is batch

from __future__ import annotations

import pytest

from agentgym.core.hooks import Cost
from agentgym.core.outcome import StopReason
from tests.trainers.row_checks import action_ids, check_rows
from trainers.rollouts.episode_figures import cost_metrics, family_metrics
from trainers.rollouts.trajectory import SampledTurn, Trajectory, to_batch, to_rows


def turn(context, ids, reward=0.0, fresh=False, text="", key="s"):
    logprobs = [-0.1 * i for i in ids]
    return SampledTurn(
        context, ids, logprobs, fresh=fresh, reward=reward, text=text, state_key=key, version=3
    )


def episode(stop="success", rewards=(0.5, 0.0, -0.25), fresh=(True, False, False), group=0):
    turns = [
        turn([10, 11], [1, 2], rewards[0], fresh[0], "1 2", "a"),
        turn([12], [3], rewards[1], fresh[1], "3", "b"),
        turn([13, 14], [4, 5, 6], rewards[2], fresh[2], "4 5 6", "a"),
    ]
    return Trajectory(group=group, task_id=f"t{group}", turns=turns, stop_reason=stop)


def decode(ids):
    return " ".join(map(str, ids))


def test_row_of_an_append_only_episode():
    (row,) = to_rows([episode()])
    assert row.ids == [10, 11, 1, 2, 12, 3, 13, 14, 4, 5, 6]
    assert row.mask == [0, 0, 1, 1, 0, 1, 0, 0, 1, 1, 1]
    assert row.prompt_length == 2
    assert action_ids(row) == [[1, 2], [3], [4, 5, 6]]
    check_rows([episode()], [row], decode)


@pytest.mark.parametrize("stop", [reason.value for reason in StopReason])
def test_turn_reward_sits_on_its_last_action_token_for_every_end(stop):
    trajectory = episode(stop)
    batch = to_batch([trajectory])
    assert batch.token_reward.sum() == trajectory.episode_return == 0.25
    assert batch.token_reward.tolist() == [0, 0.5, 0, 0, 0, -0.25]
    assert batch.returns.tolist() == [0.25]


def test_rewritten_history_starts_new_rows():
    trajectory = episode(fresh=(True, False, True))
    rows = to_rows([trajectory])
    assert [row.ids for row in rows] == [[10, 11, 1, 2, 12, 3], [13, 14, 4, 5, 6]]
    assert [row.prompt_length for row in rows] == [2, 2]
    check_rows([trajectory], rows, decode)


def test_batch_columns():
    empty = Trajectory(group=1, task_id="t1", stop_reason="error")
    invalid = episode("horizon", group=1)
    invalid.turns[1].valid = False
    batch = to_batch([episode(), empty, invalid])
    assert (batch.n_tokens, batch.n_turns, batch.n_trajectories) == (12, 6, 3)
    assert batch.stop_reason.tolist() == ["success", "error", "horizon"]
    assert batch.group.tolist() == [0, 1, 1]
    assert batch.state[0] == batch.state[2] != batch.state[1]
    assert batch.version.tolist() == [3] * 6
    assert batch.aux["invalid_action"].tolist() == [0, 0, 0, 0, 1, 0]
    assert batch.logp_behave[:2].tolist() == [-0.1, -0.2]


def test_tokens_stand_in_the_same_order_in_rows_and_batch():
    episodes = [episode(), episode(fresh=(True, True, True), group=1)]
    packed = [
        p
        for row in to_rows(episodes)
        for p, sampled in zip(row.logprobs, row.mask, strict=True)
        if sampled
    ]
    assert packed == to_batch(episodes).logp_behave.tolist()


def test_each_of_several_families_has_its_own_costs_and_prices():
    a, b, c = (episode(group=group) for group in range(3))
    a.family, b.family, c.family = "toy", "other", "third"
    for trajectory, price in ((a, 0.5), (b, 1.5)):
        trajectory.options = {"prices": {"calls": price}}
        trajectory.turns[0].costs = {"calls": Cost(4.0 * price, 3.0)}
    figures = family_metrics([a, b, c])
    assert [figures[f"family/{name}/cost_calls"] for name in ("toy", "other")] == [2.0, 6.0]
    assert figures["family/toy/cost_calls_above"] == 0.0
    assert figures["family/other/price_calls"] == 1.5 and "family/third/cost_calls" not in figures
    assert cost_metrics([a, b, c])["costs/cost_calls"] == 4.0

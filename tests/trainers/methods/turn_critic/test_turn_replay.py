"""The replay of turns: bounded, exact, drawn evenly, and the same after a checkpoint."""

from __future__ import annotations

import io

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from agentgym.conversation import BARE, Prompt
from agentgym.core.hooks import Verdict
from agentgym.support.random_stream import Stream
from tests.toy import ToyEnv
from tests.trainers import tiny_policy
from trainers.methods.turn_critic.turn_replay import PlayedEpisode, TurnReplay, tells_of_the_policy
from trainers.rollouts.expert_demonstrations import encode, play
from trainers.rollouts.trajectory import SampledTurn, Trajectory, to_rows


def episode(name: int, turns: int) -> PlayedEpisode:
    """Turn t reads (name, 0, 1, ... t) and writes nothing else: (100 + t)."""
    sampled_turns = [
        SampledTurn([name if t == 0 else t], [100 + t], [0.0], reward=t) for t in range(turns)
    ]
    return PlayedEpisode.of(Trajectory(turns=sampled_turns))


def test_a_turn_holds_observation_action_reward_and_next_observation() -> None:
    turns = [
        SampledTurn([1, 2], [3], [0.0], fresh=True, reward=0.5),
        SampledTurn([4], [5, 6], [0.0, 0.0]),
        SampledTurn([7, 8], [9], [0.0], fresh=True, reward=1.0),  # the history was rewritten
    ]
    played_episode = PlayedEpisode.of(Trajectory(turns=turns))
    assert played_episode.turn(0) == ([1, 2], [3], 0.5, [1, 2, 3, 4])
    assert played_episode.turn(1) == ([1, 2, 3, 4], [5, 6], 0.0, [7, 8])
    assert played_episode.turn(2) == ([7, 8], [9], 1.0, None)


@pytest.mark.parametrize("layout", [BARE, BARE.windowed(1)], ids=["whole", "window"])
def test_real_episodes_are_taken_down_as_the_policy_read_them(layout) -> None:
    """What a turn read is its row up to the action, also where a window begins rows anew."""
    env = ToyEnv()
    episodes = (play(env, options, env.oracle()) for options in tiny_policy.tasks(4))
    for trajectory in encode(episodes, tiny_policy.chat(), Prompt(layout)):
        played_episode = PlayedEpisode.of(trajectory)
        assert played_episode.rows == [row.ids for row in to_rows([trajectory])]
        for number, turn in enumerate(trajectory.turns):
            replayed = played_episode.turn(number)
            assert (replayed.action, replayed.reward) == (turn.ids, turn.reward)
            assert replayed.state[len(replayed.state) - len(turn.context) :] == turn.context
            assert not turn.fresh or replayed.state == turn.context


@given(st.lists(st.integers(0, 7), max_size=40), st.integers(1, 12))
def test_it_never_holds_more_than_fits_and_forgets_the_oldest(sizes, capacity) -> None:
    replay = TurnReplay(capacity)
    names: list[int] = []
    for name, turns in enumerate(sizes):
        replay.add([episode(name, turns)])
        if 0 < turns <= capacity:
            names.append(name)
        while sum(sizes[member] for member in names) > capacity:
            names.pop(0)
        assert len(replay) == sum(sizes[member] for member in names) <= capacity
    if len(replay):
        drawn = {turn.state[0] for turn in replay.draw(300, Stream("all"))}
        assert drawn <= set(names)


def test_all_turns_are_equally_likely() -> None:
    replay = TurnReplay(100)
    replay.add([episode(0, 1), episode(1, 5), episode(2, 2)])
    drawn = replay.draw(8000, Stream("even"))
    for name, turns in ((0, 1), (1, 5), (2, 2)):
        for turn in range(turns):
            count = sum(
                replayed.state[0] == name and replayed.action == [100 + turn] for replayed in drawn
            )
            assert 880 < count < 1120  # four standard errors of 30


def test_a_checkpoint_brings_all_of_it_back() -> None:
    replay, restored = TurnReplay(9), TurnReplay(9)
    replay.add([episode(name, 1 + name % 4) for name in range(6)])
    file = io.BytesIO()
    torch.save(replay.state_dict(), file)
    file.seek(0)
    restored.add([episode(9, 3)])
    restored.load_state_dict(torch.load(file, weights_only=True))
    assert len(restored) == len(replay)
    assert restored.draw(50, Stream("a")) == replay.draw(50, Stream("a"))
    for buffer in (replay, restored):
        buffer.add([episode(7, 4)])
    assert restored.draw(50, Stream("b")) == replay.draw(50, Stream("b"))


@pytest.mark.parametrize(
    ("changes", "verdict", "tells"),
    [
        ({"stop_reason": "horizon"}, None, True),
        ({"stop_reason": "error"}, None, False),
        ({}, Verdict("k", None), False),
        ({}, Verdict("k", 1.0), True),
    ],
)
def test_rewards_that_tell_nothing_of_the_policy_are_not_learned_from(
    changes, verdict, tells
) -> None:
    turn = SampledTurn([1], [2], [0.0], verdicts={"judge": verdict} if verdict else {})
    assert tells_of_the_policy(Trajectory(turns=[turn], **changes)) == tells

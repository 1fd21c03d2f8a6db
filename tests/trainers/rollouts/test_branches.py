"""Live episodes are forked, and every branch is the episode that it would be alone."""

from __future__ import annotations

import numpy as np
import pytest

from agentgym.conversation import BARE, Prompt
from agentgym.vector import TextVectorEnv
from tests.toy import ToyEnv
from tests.trainers import tiny_policy
from trainers.algorithms.branching import Branching, EntropyRise, EveryTurn, RandomTurns
from trainers.rollouts.budget import TokenBudget
from trainers.rollouts.engines.hf import HFEngine
from trainers.rollouts.rollout_runner import RolloutRunner
from trainers.rollouts.trajectory import (
    Trajectory,
    fork_metrics,
    nodes_of,
    sampled_once,
    to_batch,
    to_rows,
)

BUDGET = TokenBudget(turn_tokens=5, episode_tokens=150, context=240)
ALWAYS = Branching(EveryTurn(), roots=1, nested=False, refill=False)


def play(branching, leaves=4, slots=8, roots=3, kind=ToyEnv, prompt=None, backend="sync", **how):
    """Trees of a random policy, some roots in each of some groups."""
    chat = tiny_policy.chat()
    envs = TextVectorEnv([kind] * slots, backend=backend)
    engine = HFEngine(tiny_policy.model(), chat.pad_id)
    runner = RolloutRunner(envs, chat, engine, BUDGET, prompt=prompt)
    count = roots * leaves
    tasks = [task for task in tiny_policy.tasks(roots) for _ in range(leaves)]
    try:
        return runner.run(
            tasks, horizon=5, groups=[k // leaves for k in range(count)], branching=branching,
            leaves=leaves, **how,
        )  # fmt: skip
    finally:
        envs.close()


def told(episodes):
    """All that a rollout decided."""
    return [
        (each.number, each.parent, each.shared, each.unplayed, each.stop_reason, each.success,
         [(turn.text, turn.ids, turn.observation, turn.state_key, turn.reward)
          for turn in each.turns])
        for each in episodes
    ]  # fmt: skip


def test_a_branch_goes_on_from_the_state_it_was_forked_in():
    episodes = play(ALWAYS)
    assert [each.number for each in episodes] == list(range(12))
    copies = [each for each in episodes if each.parent is not None]
    assert len(copies) == 9 and not any(each.unplayed for each in episodes)
    assert {each.shared for each in copies} == {1, 2, 3}
    for each in copies:
        parent = episodes[each.parent]
        assert all(
            ours is theirs
            for ours, theirs in zip(each.turns[: each.shared], parent.turns, strict=False)
        ), "a shared turn is one turn"
        first, theirs = each.turns[each.shared], parent.turns[each.shared]
        assert (first.state_key, first.observation) == (theirs.state_key, theirs.observation)
        assert first.context == theirs.context and len(each.turns) <= 5
    drawn = {tuple(map(tuple, (turn.ids for turn in each.turns))) for each in episodes}
    assert len(drawn) == 12


def test_a_branch_replays_alone():
    """Its actions, from the start of its task, lead where it went."""
    for each in play(ALWAYS, roots=2):
        env = ToyEnv()
        env.reset(seed=each.seed, options=dict(each.options))
        for turn in each.turns:
            _, reward, *_, info = env.step(turn.text)
            assert reward == turn.reward
        assert info["score"] == each.score


@pytest.mark.parametrize("prompt", [None, Prompt(BARE.windowed(1))])
def test_rows_hold_each_sampled_token_once(prompt):
    episodes = play(ALWAYS, prompt=prompt)
    rows = to_rows(episodes, once=True)
    held = [p for row in rows for p, m in zip(row.logprobs, row.mask, strict=True) if m]
    own = [p for each in episodes for turn in each.own_turns for p in turn.logprobs]
    assert held == own
    everywhere = [p for each in episodes for turn in each.turns for p in turn.logprobs]
    assert np.array(own)[sampled_once(episodes)].tolist() == everywhere
    whole = to_rows(episodes)
    assert sum(map(sum, (row.mask for row in whole))) == len(everywhere) > len(own)
    if prompt is None:  # What a branch reads is the same; only what of it trains is not.
        assert [row.ids for row in rows] == [row.ids for row in whole]


@pytest.mark.parametrize("slots", [1, 3, 12])
@pytest.mark.parametrize(
    "branching",
    [
        Branching(EntropyRise(0.5, 1.0), roots=1),
        Branching(RandomTurns(0.4), roots=1, copies=2),
        ALWAYS,
    ],
)
def test_what_is_forked_does_not_depend_on_the_slots(branching, slots):
    assert told(play(branching, slots=slots)) == told(play(branching, slots=5))


def test_other_processes_play_the_same_trees():
    """A part of the roots, numbered as in the whole; environments in workers of their own."""
    branching = Branching(RandomTurns(0.4), roots=1)
    whole = play(branching)
    again = play(branching, backend="process")
    assert [each[:4] for each in told(again)] == [each[:4] for each in told(whole)]
    first = play(branching, roots=1, first_episode=0)
    assert told(first) == told(whole[:4])


def test_what_no_fork_led_to_is_begun_anew_or_left_out():
    rarely = Branching(RandomTurns(0.15), roots=1)
    filled = play(rarely, leaves=6, roots=4)
    assert not any(each.unplayed for each in filled)
    fresh = [each for each in filled if each.parent is None]
    assert len(fresh) > 4 and all(each.turns for each in filled)
    left = play(Branching(RandomTurns(0.15), roots=1, refill=False), leaves=6, roots=4)
    empty = [each for each in left if each.unplayed]
    assert len(empty) == len(fresh) - 4 and not any(each.turns for each in empty)


def test_entropies_are_asked_for_only_where_a_fork_looks_at_them():
    assert all(turn.entropies == [] for each in play(ALWAYS) for turn in each.turns)
    for each in play(Branching(EntropyRise(), roots=1)):
        assert all(len(turn.entropies) == len(turn.ids) for turn in each.turns)
        assert all(entropy > 0 for turn in each.turns for entropy in turn.entropies)


def test_figures_of_forks():
    episodes = play(ALWAYS)
    figures = fork_metrics(episodes)
    assert (figures["rollout/forks"], figures["rollout/fork_rate"]) == (3.0, 1.0)
    assert figures["rollout/forked"] == 0.75 and 0.1 < figures["rollout/shared_tokens"] < 0.6
    assert fork_metrics([Trajectory()]) == {}
    batch, nodes = to_batch(episodes), nodes_of(episodes)
    assert len(np.unique(batch.node)) == len({node for each in nodes for node in each})


class Breaking(ToyEnv):
    """Dies in its third step, forked or not."""

    def _act(self, action):
        if self.turn == 2:
            raise OSError("the box is gone")
        return super()._act(action)


def test_an_environment_that_fails_ends_its_own_branch():
    episodes = play(ALWAYS, kind=Breaking)
    assert all(each.stop_reason == "error" for each in episodes if not each.unplayed)
    assert {each.shared for each in episodes if each.parent is not None} == {1, 2}
    assert sum(each.unplayed for each in episodes) == 3


def test_what_was_played_before_changes_no_bit():
    """Slots that never had an episode take a fork as those that had: a resumed run is the same."""
    chat = tiny_policy.chat()

    def made():
        envs = TextVectorEnv([ToyEnv] * 8)
        return RolloutRunner(envs, chat, HFEngine(tiny_policy.model(), chat.pad_id), BUDGET)

    def played(runner, seed):
        tasks = [tiny_policy.tasks(2)[k // 4] for k in range(8)]
        episodes = runner.run(tasks, horizon=5, branching=ALWAYS, leaves=4, seed=seed)
        return [p for each in episodes for turn in each.turns for p in turn.logprobs]

    used = made()
    played(used, 1)
    assert played(used, 2) == played(made(), 2)

"""Live episodes are forked, and every branch is the episode that it would be alone."""

from __future__ import annotations

import numpy as np
import pytest

from agentgym.conversation import BARE, Prompt
from agentgym.vector import TextVectorEnv
from tests.toy import ToyEnv
from tests.trainers import tiny_policy
from trainers.methods.forks.branches import Branches
from trainers.methods.forks.branching import Branching, EntropyRise, EveryTurn, RandomTurns
from trainers.methods.forks.forked_episodes import fork_metrics
from trainers.rollouts.budget import TokenBudget
from trainers.rollouts.engines.hf import HFEngine
from trainers.rollouts.rollout_runner import RolloutRunner
from trainers.rollouts.trajectory import Trajectory, nodes_of, sampled_once, to_batch, to_rows

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
            tasks, horizon=5, groups=[k // leaves for k in range(count)],
            parts=[Branches(branching, leaves)] if branching else [], **how,
        )  # fmt: skip
    finally:
        envs.close()


def describe_episodes(episodes):
    """All that a rollout decided."""
    return [
        (episode.number, episode.parent, episode.shared, episode.unplayed, episode.stop_reason,
         episode.success,
         [(turn.text, turn.ids, turn.observation, turn.state_key, turn.reward)
          for turn in episode.turns])
        for episode in episodes
    ]  # fmt: skip


def test_a_branch_goes_on_from_the_state_it_was_forked_in():
    episodes = play(ALWAYS)
    assert [episode.number for episode in episodes] == list(range(12))
    copies = [episode for episode in episodes if episode.parent is not None]
    assert len(copies) == 9 and not any(episode.unplayed for episode in episodes)
    assert {branch.shared for branch in copies} == {1, 2, 3}
    for branch in copies:
        parent = episodes[branch.parent]
        assert all(
            turn is source
            for turn, source in zip(branch.turns[: branch.shared], parent.turns, strict=False)
        ), "a shared turn is one turn"
        first, origin = branch.turns[branch.shared], parent.turns[branch.shared]
        assert (first.state_key, first.observation) == (origin.state_key, origin.observation)
        assert first.context == origin.context and len(branch.turns) <= 5
    drawn = {tuple(map(tuple, (turn.ids for turn in episode.turns))) for episode in episodes}
    assert len(drawn) == 12


def test_a_branch_replays_alone():
    """Its actions, from the start of its task, lead where it went."""
    for episode in play(ALWAYS, roots=2):
        env = ToyEnv()
        env.reset(seed=episode.seed, options=dict(episode.options))
        for turn in episode.turns:
            _, reward, *_, info = env.step(turn.text)
            assert reward == turn.reward
        assert info["score"] == episode.score


@pytest.mark.parametrize("prompt", [None, Prompt(BARE.windowed(1))])
def test_rows_hold_each_sampled_token_once(prompt):
    episodes = play(ALWAYS, prompt=prompt)
    rows = to_rows(episodes, once=True)
    row_logprobs = [p for row in rows for p, m in zip(row.logprobs, row.mask, strict=True) if m]
    own_logprobs = [p for episode in episodes for turn in episode.own_turns for p in turn.logprobs]
    assert row_logprobs == own_logprobs
    everywhere = [p for episode in episodes for turn in episode.turns for p in turn.logprobs]
    assert np.array(own_logprobs)[sampled_once(episodes)].tolist() == everywhere
    all_rows = to_rows(episodes)
    assert sum(map(sum, (row.mask for row in all_rows))) == len(everywhere) > len(own_logprobs)
    if prompt is None:  # What a branch reads is the same; only what of it trains is not.
        assert [row.ids for row in rows] == [row.ids for row in all_rows]


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
    assert describe_episodes(play(branching, slots=slots)) == describe_episodes(
        play(branching, slots=5)
    )


def test_other_processes_play_the_same_trees():
    """A part of the roots, numbered as in the whole; environments in workers of their own."""
    branching = Branching(RandomTurns(0.4), roots=1)
    expected = play(branching)
    parallel = play(branching, backend="process")
    assert [description[:4] for description in describe_episodes(parallel)] == [
        description[:4] for description in describe_episodes(expected)
    ]
    first = play(branching, roots=1, first_episode=0)
    assert describe_episodes(first) == describe_episodes(expected[:4])


def test_what_no_fork_led_to_is_begun_anew_or_left_out():
    rarely = Branching(RandomTurns(0.15), roots=1)
    filled = play(rarely, leaves=6, roots=4)
    assert not any(episode.unplayed for episode in filled)
    fresh = [episode for episode in filled if episode.parent is None]
    assert len(fresh) > 4 and all(episode.turns for episode in filled)
    value = play(Branching(RandomTurns(0.15), roots=1, refill=False), leaves=6, roots=4)
    empty = [episode for episode in value if episode.unplayed]
    assert len(empty) == len(fresh) - 4 and not any(episode.turns for episode in empty)


def test_entropies_are_asked_for_only_where_a_fork_looks_at_them():
    assert all(turn.entropies == [] for episode in play(ALWAYS) for turn in episode.turns)
    for episode in play(Branching(EntropyRise(), roots=1)):
        assert all(len(turn.entropies) == len(turn.ids) for turn in episode.turns)
        assert all(entropy > 0 for turn in episode.turns for entropy in turn.entropies)


def test_figures_of_forks():
    episodes = play(ALWAYS)
    figures = fork_metrics(episodes)
    assert (figures["rollout/forks"], figures["rollout/fork_rate"]) == (3.0, 1.0)
    assert figures["rollout/forked"] == 0.75 and 0.1 < figures["rollout/shared_tokens"] < 0.6
    assert fork_metrics([Trajectory()]) == {}
    batch, nodes = to_batch(episodes), nodes_of(episodes)
    assert len(np.unique(batch.node)) == len({node for path in nodes for node in path})


class Breaking(ToyEnv):
    """Dies in its third step, forked or not."""

    def _act(self, action):
        if self.turn == 2:
            raise OSError("the box is gone")
        return super()._act(action)


def test_an_environment_that_fails_ends_its_own_branch():
    episodes = play(ALWAYS, kind=Breaking)
    assert all(episode.stop_reason == "error" for episode in episodes if not episode.unplayed)
    assert {episode.shared for episode in episodes if episode.parent is not None} == {1, 2}
    assert sum(episode.unplayed for episode in episodes) == 3


def test_what_was_played_before_changes_no_bit():
    """Slots that never had an episode take a fork as those that had: a resumed run is the same."""
    chat = tiny_policy.chat()

    def make_runner():
        envs = TextVectorEnv([ToyEnv] * 8)
        return RolloutRunner(envs, chat, HFEngine(tiny_policy.model(), chat.pad_id), BUDGET)

    def play_logprobs(runner, seed):
        tasks = [tiny_policy.tasks(2)[k // 4] for k in range(8)]
        episodes = runner.run(tasks, horizon=5, parts=[Branches(ALWAYS, 4)], seed=seed)
        return [p for episode in episodes for turn in episode.turns for p in turn.logprobs]

    used = make_runner()
    play_logprobs(used, 1)
    assert play_logprobs(used, 2) == play_logprobs(make_runner(), 2)

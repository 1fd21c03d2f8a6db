from __future__ import annotations

import threading

import gymnasium
import numpy as np
import pytest

from agentgym.conversation import BARE, Prompt
from agentgym.core.outcome import StopReason
from agentgym.errors import ConfigurationError, DataError, NotSupported
from agentgym.vector import TextVectorEnv
from tests.toy import COLOURS, ToyEnv
from tests.trainers import tiny_policy
from tests.trainers.row_checks import check_rows
from tests.trainers.scripted_engine import ScriptedEngine
from trainers.rollouts.budget import TokenBudget
from trainers.rollouts.chat import TurnTokenizer
from trainers.rollouts.engines.base import Request, Sampling
from trainers.rollouts.engines.hf import HFEngine
from trainers.rollouts.episode_figures import rollout_metrics
from trainers.rollouts.rollout_runner import RolloutRunner
from trainers.rollouts.trajectory import to_batch, to_rows

BUDGET = TokenBudget(turn_tokens=6, episode_tokens=200, context=250)
WINDOWED = Prompt(BARE.windowed(1))


def varied(prompt):
    """A different colour for every prompt length, never the same twice in a row."""
    return f"press {COLOURS[len(prompt) % 4]}"


def runner(script=varied, budget=BUDGET, count=8, chat=None, envs=None, **kwargs):
    chat = chat or tiny_policy.chat()
    engine = ScriptedEngine(chat, script)
    return RolloutRunner(envs or tiny_policy.envs(count), chat, engine, budget, **kwargs)


class Oracle:
    """Reads the next button from the end of the prompt."""

    def __init__(self, chat):
        self.chat = chat

    def __call__(self, prompt):
        return "press " + self.chat.tokenizer.decode(prompt[-3:-2])


@pytest.mark.parametrize("slots", [3, 12, 40])
def test_rows_agree_with_episodes_for_any_number_of_slots(slots):
    play = runner(count=slots)
    episodes = play.run(tiny_policy.tasks(6), horizon=5, group_size=4)
    rows = to_rows(episodes)
    check_rows(episodes, rows, play.chat.action_text)
    assert len(rows) == len(episodes) == 24
    assert [e.group for e in episodes] == [g for g in range(6) for _ in range(4)]
    assert len({e.task_id for e in episodes[:4]}) == 1
    assert all(len(e.turns) <= 5 and e.horizon == 5 for e in episodes)
    assert max(len(prompts) for prompts in play.engine.calls) <= slots


def test_each_prompt_is_the_row_so_far():
    play = runner(count=1)
    (episode,) = play.run(tiny_policy.tasks(1), horizon=4)
    (row,) = to_rows([episode])
    for (prompt,) in play.engine.calls:
        assert row.ids[: len(prompt)] == prompt
        assert row.mask[len(prompt)] == 1


def test_oracle_script_wins_and_collects_the_reward():
    chat = tiny_policy.chat()
    episodes = runner(Oracle(chat)).run(tiny_policy.tasks(10), horizon=8)
    assert all(e.success and e.stop_reason == "success" for e in episodes)
    assert all(e.episode_return == 1.0 and len(e.turns) == e.oracle_turns for e in episodes)
    assert to_batch(episodes).returns.tolist() == [1.0] * 10
    assert all(sum(t.reward_terms.values()) == t.reward for e in episodes for t in e.turns)


def test_turns_that_read_the_same_prompt_draw_apart():
    """Otherwise the turns of an episode, and its members, would not be drawn independently."""
    play = runner(lambda p: "look", prompt=WINDOWED, count=4)
    batch = []
    submit = play.engine.submit
    play.engine.submit = lambda requests, how: (batch.extend(requests), submit(requests, how))[1]
    play.run(tiny_policy.tasks(1), horizon=4, group_size=2)
    drawn = {np.random.default_rng(request.seed).random() for request in batch}
    assert len(drawn) == len(batch) == 8


def test_members_of_a_group_start_from_one_seed_and_groups_from_their_own():
    play, settings = runner(lambda p: "look"), {"horizon": 1, "group_size": 2, "seed": 5}
    episodes = play.run(tiny_policy.tasks(2), **settings)
    assert [(e.group, e.seed) for e in episodes] == [(0, 5), (0, 5), (1, 6), (1, 6)]
    # A process of several plays groups of the whole, under their own numbers.
    episodes = play.run(tiny_policy.tasks(2), groups=[7, 3], **settings)
    assert [(e.group, e.seed) for e in episodes] == [(7, 12), (7, 12), (3, 8), (3, 8)]


def test_horizon_of_a_task_goes_before_that_of_the_run():
    options = [{**tiny_policy.tasks(1)[0], "horizon": 2}, tiny_policy.tasks(1)[0]]
    first, second = runner(lambda p: "press pink").run(options, horizon=3)
    assert (len(first.turns), len(second.turns)) == (2, 3)
    assert first.stop_reason == second.stop_reason == "horizon"
    assert not first.turns[0].valid


def test_token_budget_is_checked_before_each_generation():
    budget = TokenBudget(turn_tokens=6, episode_tokens=30, context=250)
    play = runner(lambda p: "press pink", budget)
    (episode,) = play.run(tiny_policy.tasks(1), horizon=50)
    assert episode.stop_reason == StopReason.TOKEN_LIMIT.value
    (row,) = to_rows([episode])
    assert len(row.ids) - row.prompt_length <= 30
    assert all(turn.stopped for turn in episode.turns)
    (short,) = runner(budget=TokenBudget(6, 200, context=8)).run(tiny_policy.tasks(1))
    assert short.stop_reason == StopReason.TOKEN_LIMIT.value
    assert not short.turns
    with pytest.raises(ConfigurationError, match="turn_tokens"):
        TokenBudget(turn_tokens=64, episode_tokens=32)


def test_consecutive_invalid_actions_end_an_episode_that_still_trains():
    """They need not be equal, and a valid one between them starts the count anew."""
    script = iter(["press pink", "press red", "press pink", "look", "look"])
    play = runner(lambda p: next(script), end_after_invalid=2, count=1)
    (episode,) = play.run(tiny_policy.tasks(1), horizon=6)
    assert [turn.valid for turn in episode.turns] == [False, True, False, False]
    assert (episode.stop_reason, episode.success) == ("invalid_actions", False)
    assert to_batch([episode]).turn_count.tolist() == [4]
    assert rollout_metrics([episode])["rollout/ended_by_invalid_actions"] == 1.0
    (unlimited,) = runner(lambda p: "press pink").run(tiny_policy.tasks(1), horizon=6)
    assert (len(unlimited.turns), unlimited.stop_reason) == (6, "horizon")


def test_action_cut_by_the_turn_limit_is_closed_and_masked():
    budget = TokenBudget(turn_tokens=2, episode_tokens=100, context=250)
    play = runner(budget=budget)
    (episode,) = play.run(tiny_policy.tasks(1), horizon=3)
    (row,) = to_rows([episode])
    assert not any(turn.stopped for turn in episode.turns)
    end = row.ids.index(play.chat.end_of_turn, row.prompt_length)
    assert row.mask[end] == 0
    assert sum(row.mask) == 2 * len(episode.turns)


class Failing(ToyEnv):
    """Fails at its start or on a button."""

    def _start(self, task, rng):
        if task.index == 1:
            raise RuntimeError("no power")
        return super()._start(task, rng)

    def _act(self, action):
        if self.task.index == 2 and self.turn == 1:
            raise RuntimeError("short circuit")
        return super()._act(action)


def test_failed_environments_end_their_own_episode_only():
    play = runner(envs=TextVectorEnv([Failing] * 2))
    episodes = play.run(tiny_policy.tasks(4), horizon=4)
    assert [e.stop_reason == "error" for e in episodes] == [False, True, True, False]
    assert "no power" in episodes[1].error
    assert not episodes[1].turns
    assert "short circuit" in episodes[2].error
    assert len(episodes[2].turns) == 2
    assert len(to_rows(episodes)) == 3


@pytest.mark.parametrize("key", ["action_valid", "reward_terms", "state_key", "stop_reason"])
def test_an_environment_that_breaks_the_contract_is_named(key):
    class Silent(gymnasium.Wrapper):
        def step(self, action):
            *answer, info = self.env.step(action)
            return (*answer, {name: value for name, value in info.items() if name != key})

    play = runner(envs=TextVectorEnv([lambda: Silent(ToyEnv())]))
    with pytest.raises(ConfigurationError, match=f"expected info\\['{key}'\\]"):
        play.run(tiny_policy.tasks(1), horizon=3)


def test_an_episode_that_a_wrapper_cut_off_ended_by_its_turns():
    """Gymnasium's own time limit tells the environment nothing."""
    limited = TextVectorEnv([lambda: gymnasium.wrappers.TimeLimit(ToyEnv(), 2)])
    (episode,) = runner(lambda p: "press pink", envs=limited).run(tiny_policy.tasks(1), horizon=9)
    assert (len(episode.turns), episode.stop_reason) == (2, "horizon")
    assert not episode.success


def test_stripped_thinking_gives_several_rows():
    words = ("<think>", "</think>", "go")
    tokenizer = tiny_policy.tokenizer(tiny_policy.QWEN_LIKE, words)
    tokenizer.add_tokens(["<think>", "</think>"])
    chat = TurnTokenizer(tokenizer, history="auto")
    script = lambda p: "<think>go</think> press red"  # noqa: E731
    play = runner(script, TokenBudget(10, 300, 400), chat=chat)
    (episode,) = play.run(tiny_policy.tasks(1), horizon=4)
    rows = to_rows([episode])
    check_rows([episode], rows, chat.action_text)
    assert len(rows) == len(episode.turns) == 4
    thinking = tokenizer.convert_tokens_to_ids("<think>")
    assert all(row.ids.count(thinking) == 1 for row in rows)
    assert all(row.mask[row.ids.index(thinking)] == 1 for row in rows)
    plain_trajectories = runner(varied, chat=chat).run(tiny_policy.tasks(1), horizon=4)
    assert len(to_rows(plain_trajectories)) == 1
    keeper = runner(
        script, TokenBudget(10, 300, 400), chat=TurnTokenizer(tokenizer, history="keep")
    )
    assert len(to_rows(keeper.run(tiny_policy.tasks(1), horizon=4))) == 1


def test_window_trains_exactly_the_prompt_sampled_from():
    play = runner(prompt=WINDOWED, count=1)
    (episode,) = play.run(tiny_policy.tasks(1), horizon=4)
    rows = to_rows([episode])
    check_rows([episode], rows, play.chat.action_text)
    # The first two turns fit the window; each later one drops the turn before and is a new row.
    assert [sum(row.mask) for row in rows] == [6, 3, 3]
    for (prompt,), row in zip(play.engine.calls[2:], rows[1:], strict=True):
        assert row.ids[: row.prompt_length] == prompt


def test_system_message_and_mismatched_arguments():
    play = runner(prompt=Prompt(BARE, instructions="press red"))
    (episode,) = play.run(tiny_policy.tasks(1), horizon=1)
    assert play.chat.tokenizer.decode(episode.turns[0].context).startswith("<|system|> press red")
    with pytest.raises(ConfigurationError, match="one group and one seed"):
        play.run(tiny_policy.tasks(2), groups=[0])


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["sync", "thread", "process"])
def test_episodes_do_not_depend_on_slots_or_back_end(backend):
    """Sampling is seeded by episode and turn, not by what happened to be generated together."""
    model, chat = tiny_policy.model(), tiny_policy.chat()
    rollouts = []
    for kind, slots, calls in (("sync", 12, (12,)), (backend, 5, (12,)), (backend, 12, (4, 8))):
        envs = TextVectorEnv([ToyEnv] * slots, backend=kind, workers=2)
        play = RolloutRunner(envs, chat, HFEngine(model, chat.pad_id), BUDGET)
        tasks, ids, first = tiny_policy.tasks(12), range(12), 0
        episodes = []
        for count in calls:
            part = slice(first, first + count)
            episodes += play.run(
                tasks[part], groups=ids[part], horizon=4, seed=3, first_episode=first
            )
            first += count
        rollouts.append([[turn.ids for turn in episode.turns] for episode in episodes])
        envs.close()
    assert rollouts[0] == rollouts[1] == rollouts[2]
    assert len({tuple(map(tuple, episode)) for episode in rollouts[0]}) > 6


class Gated(ToyEnv):
    """Task 0 waits in its first turn until the last task has begun."""

    gate = threading.Event()

    def _start(self, task, rng):
        if task.index == 3:
            self.gate.set()
        return super()._start(task, rng)

    def _act(self, action):
        if self.task.index == 0:
            assert self.gate.wait(60)
        return super()._act(action)


def test_no_episode_waits_for_another():
    """With two slots, three episodes are played while the first one's environment is busy."""
    envs = TextVectorEnv([Gated] * 2, backend="thread", workers=2)
    play = runner(envs=envs)
    episodes = play.run(tiny_policy.tasks(4), horizon=3)
    assert all(len(episode.turns) >= 1 and not episode.error for episode in episodes)
    stats = play.stats
    assert stats.turns == sum(len(episode.turns) for episode in episodes)
    assert 0 < stats.engine_seconds + stats.env_seconds <= stats.seconds
    assert 0 < stats.env_busy_seconds <= stats.seconds
    envs.close()


def test_what_is_interrupted_leaves_engine_and_environments_at_rest():
    envs = TextVectorEnv([ToyEnv] * 4, backend="thread", workers=2)
    play = runner(iter(["press red"] * 6), envs=envs)
    with pytest.raises(DataError, match="used up"):
        play.run(tiny_policy.tasks(8), horizon=4)
    assert play.engine.running == 0
    second_runner = RolloutRunner(envs, play.chat, ScriptedEngine(play.chat, varied), BUDGET)
    assert len(second_runner.run(tiny_policy.tasks(8), horizon=4)) == 8
    second_runner.engine.submit([Request(0, [1], 1, 0)], Sampling())
    with pytest.raises(NotSupported, match="in flight"):
        second_runner.run(tiny_policy.tasks(1), horizon=4)
    envs.close()


def test_an_episode_is_played_where_its_family_is():
    """Three slots of one family and one of the other: the other's episodes wait for theirs."""
    slots = ["short"] * 3 + ["long"]
    tasks = [
        {**task, "family": "long" if k % 2 else "short", "horizon": 2 + 2 * (k % 2)}
        for k, task in enumerate(tiny_policy.tasks(8))
    ]
    play = runner(
        count=4,
        families=slots,
        prompt={
            "short": Prompt(BARE, instructions="press"),
            "long": Prompt(BARE, instructions="press red"),
        },
    )
    episodes = play.run(tasks, group_size=2)
    assert [e.family for e in episodes] == [task["family"] for task in tasks for _ in range(2)]
    assert {(e.family, e.horizon) for e in episodes} == {("short", 2), ("long", 4)}
    assert all("family" not in e.options for e in episodes)
    openings = {e.family: len(e.turns[0].context) for e in episodes}
    assert openings["long"] != openings["short"]


@pytest.mark.parametrize("task", [{"index": 0}, {"index": 0, "family": "other"}])
def test_a_task_of_no_family_that_is_there_is_an_error(task):
    with pytest.raises(ConfigurationError, match=r"one of the families short, long as 'family'"):
        runner(count=2, families=["short", "long"]).run([task])


def test_every_slot_needs_a_family():
    with pytest.raises(ConfigurationError, match="each of the 2 slots, got 1"):
        runner(count=2, families=["short"])

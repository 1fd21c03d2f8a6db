from __future__ import annotations

import threading
import time

import pytest

from agentgym.conversation import BARE, Prompt
from agentgym.core.guard import GuardedEnv
from agentgym.errors import EnvFailure, NotSupported
from agentgym.policies import CallablePolicy, OraclePolicy, RandomPolicy
from tests.toy import ToyEnv
from tests.trainers import tiny_policy, toy_runs
from tests.trainers.row_checks import check_rows
from tests.trainers.scripted_engine import ScriptedEngine
from trainers.rollouts.budget import TokenBudget
from trainers.rollouts.expert_demonstrations import encode, play, watch
from trainers.rollouts.rollout_runner import RolloutRunner
from trainers.rollouts.trajectory import to_rows

TASKS = tiny_policy.tasks(12)


def test_texts_are_observations_and_actions_in_turn():
    env = ToyEnv()
    texts = list(play(env, TASKS[0], OraclePolicy(env)).texts)
    assert texts[0].startswith("press ")
    assert all(text.startswith("press ") for text in texts[1::2])
    assert texts[-1] == "the door opens"


def test_an_episode_in_tokens_says_what_it_says_as_text():
    env, chat = ToyEnv(), tiny_policy.chat()
    episodes = [play(env, options, OraclePolicy(env)) for options in TASKS]
    trajectories = list(encode(episodes, chat, Prompt(BARE)))
    rows = to_rows(trajectories)
    check_rows(trajectories, rows, chat.action_text)
    for episode, trajectory in zip(episodes, trajectories, strict=True):
        answers = [turn.observation for turn in trajectory.turns] + [trajectory.observation]
        actions = [turn.text for turn in trajectory.turns]
        texts = [text for pair in zip(answers, [*actions, ""], strict=True) for text in pair][:-1]
        assert texts == list(episode.texts)
        assert trajectory.success
        assert trajectory.episode_return == 1.0


@pytest.mark.parametrize("window", [None, 1, 2])
def test_a_window_hides_the_same_turns_as_in_a_rollout(window):
    chat, answers = tiny_policy.chat(), ["press red", "press blue", "press green", "press gold"]
    prompt = Prompt(BARE.windowed(window))
    rollout = RolloutRunner(
        tiny_policy.envs(1),
        chat,
        ScriptedEngine(chat, iter(answers)),
        TokenBudget(6, 200, 250),
        prompt=prompt,
    ).run(TASKS[:1], horizon=4)[0]
    env = ToyEnv()
    episode = play(env, {**TASKS[0], "horizon": 4}, saying(answers))
    (encoded,) = encode([episode], chat, prompt)
    assert [(t.context, t.ids, t.fresh) for t in encoded.turns] == [
        (t.context, t.ids, t.fresh) for t in rollout.turns
    ]
    assert len(to_rows([encoded])) == {None: 1, 1: 3, 2: 2}[window]


def saying(answers):
    """A policy that says one thing after the other."""
    script = iter(answers)
    return CallablePolicy(lambda observation, info: next(script))


def expert(env, seed):
    """Who plays an episode: the expert of its environment."""
    return OraclePolicy(env)


def test_episodes_that_fail_are_left_out():
    env, ended_reasons = GuardedEnv(toy_runs.FlakyEnv()), []
    episodes = watch([env], TASKS, expert, on_episode=lambda: ended_reasons.append(1))
    task_ids = [episode.info["task_id"] for episode in episodes]
    assert task_ids == [env.unwrapped.tasks.task("train", i).id for i in range(12) if i % 3]
    assert len(ended_reasons) == 12, "those that failed are done, too"
    with pytest.raises(EnvFailure, match="all 2 failed; first: RuntimeError: no power"):
        list(watch([env], [TASKS[0], TASKS[6]], expert))


def test_an_environment_without_an_expert_is_an_error_of_its_own():
    for count in (1, 3):
        envs = [GuardedEnv(toy_runs.NoExpertEnv()) for _ in range(count)]
        with pytest.raises(NotSupported, match="expert action"):
            next(watch(envs, TASKS, expert))


@pytest.mark.parametrize("player", [expert, lambda env, seed: RandomPolicy(seed)])
def test_episodes_and_their_order_do_not_depend_on_how_many_are_played_at_once(player):
    """The first to start are the last to end."""

    class Slow(toy_runs.FlakyEnv):
        def _start(self, task, rng):
            time.sleep(0.02 * (task.index % 4 == 0))
            return super()._start(task, rng)

    def watch_episodes(count):
        envs = [GuardedEnv(Slow()) for _ in range(count)]
        return [(e.info["task_id"], list(e.texts)) for e in watch(envs, TASKS, player, seed=3)]

    assert watch_episodes(1) == watch_episodes(4) == watch_episodes(20)


def test_as_many_are_played_at_once_as_there_are_environments():
    """Each episode waits until three have begun."""
    together = threading.Barrier(3, timeout=20)

    class Waiting(ToyEnv):
        def _start(self, task, rng):
            together.wait()
            return super()._start(task, rng)

    envs = [GuardedEnv(Waiting()) for _ in range(3)]
    assert len(list(watch(envs, TASKS[:6], expert))) == 6


def test_closing_the_watch_stops_the_episodes():
    started = []

    class Counting(ToyEnv):
        def _start(self, task, rng):
            started.append(task.index)
            return super()._start(task, rng)

    episodes = watch([GuardedEnv(Counting()) for _ in range(2)], TASKS, expert)
    next(episodes)
    episodes.close()
    assert len(started) < len(TASKS)

from __future__ import annotations

import pytest

from agentgym.errors import EnvFailure, NotSupported
from agentgym.policies import OraclePolicy
from tests.toy import ToyEnv
from tests.trainers import tiny_policy, toy_runs
from tests.trainers.row_checks import check_rows
from trainers.config.plan import GuardedEnv
from trainers.rollouts.demonstrations import demonstrate, encode, play, watch
from trainers.rollouts.runner import initial_messages
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
    shown = [play(env, options, OraclePolicy(env)) for options in TASKS]
    trajectories = list(encode(shown, chat, initial_messages()))
    rows = to_rows(trajectories)
    check_rows(trajectories, rows, chat.action_text)
    for episode, trajectory in zip(shown, trajectories, strict=True):
        answers = [turn.observation for turn in trajectory.turns] + [trajectory.observation]
        actions = [turn.text for turn in trajectory.turns]
        said = [text for pair in zip(answers, [*actions, ""], strict=True) for text in pair][:-1]
        assert said == list(episode.texts)
        assert trajectory.success
        assert trajectory.episode_return == 1.0
    assert trajectories == list(demonstrate(ToyEnv(), TASKS, chat))


def test_episodes_that_fail_are_left_out():
    env = GuardedEnv(toy_runs.FlakyEnv())
    kept = [episode.info["task_id"] for episode in watch(env, TASKS, OraclePolicy(env))]
    assert kept == [env.base.tasks.task("train", i).id for i in range(12) if i % 3]
    with pytest.raises(EnvFailure, match="all 2 failed; first: RuntimeError: no power"):
        list(watch(env, [TASKS[0], TASKS[6]], OraclePolicy(env)))


def test_an_environment_without_an_expert_is_an_error_of_its_own():
    env = GuardedEnv(toy_runs.NoExpertEnv())
    with pytest.raises(NotSupported, match="expert action"):
        next(watch(env, TASKS, OraclePolicy(env)))

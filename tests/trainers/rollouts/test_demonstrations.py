from __future__ import annotations

import pytest

from agentgym.errors import EnvFailure, NotSupported
from agentgym.guarded import GuardedEnv
from agentgym.policies import CallablePolicy, OraclePolicy
from tests.toy import ToyEnv
from tests.trainers import tiny_policy, toy_runs
from tests.trainers.row_checks import check_rows
from tests.trainers.scripted_engine import ScriptedEngine
from trainers.rollouts.budget import TokenBudget
from trainers.rollouts.demonstrations import encode, play, watch
from trainers.rollouts.runner import RolloutRunner, make_initial_messages
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
    trajectories = list(encode(shown, chat, make_initial_messages()))
    rows = to_rows(trajectories)
    check_rows(trajectories, rows, chat.action_text)
    for episode, trajectory in zip(shown, trajectories, strict=True):
        answers = [turn.observation for turn in trajectory.turns] + [trajectory.observation]
        actions = [turn.text for turn in trajectory.turns]
        said = [text for pair in zip(answers, [*actions, ""], strict=True) for text in pair][:-1]
        assert said == list(episode.texts)
        assert trajectory.success
        assert trajectory.episode_return == 1.0


@pytest.mark.parametrize("window", [None, 1, 2])
def test_a_window_hides_the_same_turns_as_in_a_rollout(window):
    chat, answers = tiny_policy.chat(), ["press red", "press blue", "press green", "press gold"]
    played = RolloutRunner(
        tiny_policy.envs(1),
        chat,
        ScriptedEngine(chat, iter(answers)),
        TokenBudget(6, 200, 250, window=window),
    ).run(TASKS[:1], horizon=4)[0]
    env = ToyEnv()
    shown = play(env, {**TASKS[0], "horizon": 4}, saying(answers))
    (encoded,) = encode([shown], chat, make_initial_messages(), window)
    assert [(t.context, t.ids, t.fresh) for t in encoded.turns] == [
        (t.context, t.ids, t.fresh) for t in played.turns
    ]
    assert len(to_rows([encoded])) == {None: 1, 1: 3, 2: 2}[window]


def saying(answers):
    """A policy that says one thing after the other."""
    said = iter(answers)
    return CallablePolicy(lambda observation, info: next(said))


def test_episodes_that_fail_are_left_out():
    env = GuardedEnv(toy_runs.FlakyEnv())
    kept = [episode.info["task_id"] for episode in watch(env, TASKS, OraclePolicy(env))]
    assert kept == [env.unwrapped.tasks.task("train", i).id for i in range(12) if i % 3]
    with pytest.raises(EnvFailure, match="all 2 failed; first: RuntimeError: no power"):
        list(watch(env, [TASKS[0], TASKS[6]], OraclePolicy(env)))


def test_an_environment_without_an_expert_is_an_error_of_its_own():
    env = GuardedEnv(toy_runs.NoExpertEnv())
    with pytest.raises(NotSupported, match="expert action"):
        next(watch(env, TASKS, OraclePolicy(env)))

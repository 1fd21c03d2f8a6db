"""Transcribers: the words of a task, rearranged, in every grammar and family."""

from __future__ import annotations

from typing import Any

import gymnasium
import pytest

import agentgym
from agentgym.actions.specs import GRAMMARS
from agentgym.core.env import TextEnv
from agentgym.envs.mathpython.engine.equivalence import equivalent
from agentgym.errors import ConfigurationError
from agentgym.policies import TRANSCRIBERS, Transcriber, begin, is_reference_policy
from agentgym.policies.transcriber import TEXTS


def text_of(name: str, task: str) -> str:
    return TEXTS[f"transcriber-{name}"](task)


@pytest.mark.parametrize(
    ("task", "formula"),
    [
        ("We pack 7 figs and 66 nuts in boxes of 13. How many boxes are full?",
         "floor((7 + 66) / 13)"),
        ("Start with 4. Multiply by 9. Subtract 1,200. What is the result?", "(4 * 9) - 1200"),
        ("What is the remainder when 3^9 + 2^8 is divided by 7?", "(3^9 + 2^8) mod 7"),
        ("Who leads the council?", ""),
    ],
)  # fmt: skip
def test_numbers_are_joined_by_the_signs_that_the_words_name(task: str, formula: str) -> None:
    assert text_of("formula", task) == formula


def test_words_names_and_numbers() -> None:
    task = "Which of the 3 rivers in `notes.txt` flows past Upper Tarn before 1934?"
    assert text_of("goal", f" {task}\n") == task
    assert text_of("words", task) == "3 rivers notes.txt flows past Upper Tarn before 1934"
    assert (text_of("name", task), text_of("number", task)) == ("Upper Tarn", "1934")
    assert text_of("name", "who?") == text_of("number", "who?") == ""


def typed(policy: Transcriber, env: TextEnv, **options: Any) -> list[str]:
    observation, info = env.reset(seed=0, options=options)
    begin(policy, observation, info)
    actions = []
    while not info["stop_reason"]:
        actions.append(policy.act(observation, info))
        info = env.step(actions[-1])[4]
    return actions


@pytest.mark.parametrize("grammar", GRAMMARS)
def test_the_same_text_goes_into_every_action_and_the_answer_comes_last(grammar: str) -> None:
    env = gymnasium.make("agentgym/Database-v0", grammar=grammar).unwrapped
    assert isinstance(env, TextEnv)
    actions = typed(Transcriber("transcriber-goal", env), env, split="test", index=3)
    read_actions = [env.spoken.read(action).native for action in actions]
    goal = env.task.goal
    assert read_actions == [f"sql[{goal}]", f"answer[{goal}]"]
    with pytest.raises(ConfigurationError, match="transcriber-lines"):
        Transcriber("transcriber-verbs", env)


def test_lines_are_typed_as_they_stand() -> None:
    env = gymnasium.make("agentgym/TextCraft-v0").unwrapped
    assert isinstance(env, TextEnv)
    observation, info = env.reset(seed=0)
    recipe = next(line for line in observation.split("\n") if line.startswith("craft "))
    policy, info_with_horizon = Transcriber("transcriber-lines", env), {**info, "horizon": 99}
    begin(policy, observation, info_with_horizon)
    planned = [policy.act(observation, info_with_horizon) for _ in range(90)]
    assert recipe in planned and recipe.partition(",")[0] in planned
    begin(policy, observation, info_with_horizon)
    offered = {**info_with_horizon, "admissible_actions": ["craft nothing"]}
    assert policy.act(observation, offered).split()[0].lower() == "craft", "known verbs first"


@pytest.mark.slow
def test_a_forgiving_check_pays_copies_of_sums_and_the_family_does_not() -> None:
    env = gymnasium.make("agentgym/MathPython-v0", difficulty="easy").unwrapped
    assert isinstance(env, TextEnv)
    paid = [
        equivalent(task.content["answer"], text_of("formula", task.goal))
        for task in (env.tasks.task("train", index) for index in range(100))
    ]
    assert all(paid)
    for name in TRANSCRIBERS:
        assert agentgym.evaluate(name, env, "train", 25).success <= 0.1


def test_names() -> None:
    assert all(is_reference_policy(name) for name in TRANSCRIBERS) and not is_reference_policy(
        "transcriber"
    )
    with pytest.raises(ConfigurationError, match="blind-verbs, transcriber-lines"):
        agentgym.evaluate("nope", "database", num_tasks=1)

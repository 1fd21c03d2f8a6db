"""Reward functions of other projects as hooks: what they are given, and what is refused."""

from __future__ import annotations

import asyncio
import copy
import re
from typing import Any

import pytest

from agentgym import make
from agentgym.core.reward_functions import FORMS, RewardFunction
from agentgym.errors import ConfigurationError
from tests.toy import TOY_ID

GOAL = "press gold then red"


def play(function: Any, *texts: str, **fields: Any) -> list[float]:
    """Play a task of two buttons; return what the function earns on each turn."""
    hook = RewardFunction(function, **fields) if fields else function
    with make(TOY_ID, reward_hooks=[hook]) as env:
        env.reset(options={"task_id": "toy/gold-red"})
        terms = [env.step(text)[4]["reward_terms"] for text in texts]
    (name,) = {*terms[0]} - {"task"}
    return [term[name] for term in terms]


def kept(keep: list[dict[str, Any]], value: Any) -> Any:
    """Return functions of every form that keep what they are given."""

    def trl(prompts: Any, completions: Any, buttons: Any, **columns: Any) -> Any:
        keep.append({"prompts": prompts, "completions": completions, "buttons": buttons, **columns})
        return [value]

    def verl(data_source: Any, solution_str: Any, ground_truth: Any, extra_info: Any = None) -> Any:
        keep.append({"source": data_source, "text": solution_str, "truth": ground_truth})
        keep[-1]["extra"] = extra_info
        return value

    def rubric(prompt: Any, completion: Any, answer: Any, info: Any) -> Any:
        keep.append({"prompt": prompt, "completion": completion, "answer": answer, "info": info})
        return value

    return {"trl": trl, "verl": verl, "rubric": rubric}


def test_trl_is_given_messages_and_the_columns_of_the_task() -> None:
    calls: list[dict[str, Any]] = []
    assert play(kept(calls, 2.0)["trl"], "press gold", "press red") == [0.0, 2.0]
    (call,) = calls
    (prompt,), (completion,) = call["prompts"], call["completions"]
    assert [message["role"] for message in prompt] == ["user"] and GOAL in prompt[0]["content"]
    assert [message["role"] for message in completion] == ["assistant", "user", "assistant"]
    assert completion[0]["content"] == "press gold" and completion[2]["content"] == "press red"
    assert call["buttons"] == [["gold", "red"]] and call["task_id"] == ["toy/gold-red"]
    assert call["trainer_state"].global_step == 0


def test_verl_is_given_the_whole_text() -> None:
    calls: list[dict[str, Any]] = []
    assert (
        play(kept(calls, {"score": 0.25, "acc": 1})["verl"], "press gold", "press red")[1] == 0.25
    )
    (call,) = calls
    assert call["text"].startswith("press gold\n") and call["text"].endswith("\npress red")
    assert call["source"] == "toy" and call["truth"] is None
    assert call["extra"]["buttons"] == ["gold", "red"] and call["extra"]["num_turns"] == 4
    assert call["extra"]["rollout_reward_scores"] == {"task": 1.0}


def test_a_turn_can_be_a_completion_by_itself() -> None:
    calls: list[dict[str, Any]] = []
    assert play(kept(calls, 1.0)["trl"], "press gold", "press red", each=True) == [1.0, 1.0]
    assert [call["completions"][0][0]["content"] for call in calls] == ["press gold", "press red"]
    assert [len(call["prompts"][0]) for call in calls] == [1, 3]
    assert play(kept(calls, 1.0)["verl"], "nonsense", "press gold", each=True) == [1.0, 1.0]
    assert [call["text"] for call in calls[2:]] == ["nonsense", "press gold"]


def test_a_function_that_takes_texts_gets_them() -> None:
    def annotated(completions: list[str], **columns: object) -> list[float]:
        return [float(completions[0].startswith("press gold\n"))]

    def silent(completions, **columns):  # type: ignore[no-untyped-def]
        return [float(isinstance(completions[0], str))]

    assert play(annotated, "press gold", "press red") == [0.0, 1.0]
    assert play(silent, "press gold", "press red") == [0.0, 0.0]
    assert play(silent, "press gold", "press red", plain=True) == [0.0, 1.0]


def test_the_text_is_the_policys_and_not_the_action() -> None:
    def thinks(completion: str) -> float:
        return float(completion.count("<think>"))

    assert play(thinks, "<think>gold</think>press gold", "press red") == [0.0, 1.0]


def test_asynchronous_functions_are_awaited_within_an_event_loop_too() -> None:
    async def slow(solution_str: str, ground_truth: object) -> float:
        await asyncio.sleep(0)
        return float(len(solution_str))

    async def main() -> list[float]:
        return play(slow, "press gold", each=True)

    assert asyncio.run(main()) == [10.0] == play(slow, "press gold", each=True)


def test_a_reward_that_does_not_apply_is_nothing() -> None:
    assert play(kept([], None)["trl"], "press gold", "press red") == [0.0, 0.0]


def test_the_right_answer_has_the_name_that_the_function_asks_for() -> None:
    def accuracy(completions: list[str], solution: list[str], gold: list[str]) -> list[float]:
        return [float(completions[0] == f"answer[{solution[0]}]" and gold == solution)]

    def verl(solution_str: str, ground_truth: str) -> float:
        return float(solution_str == f"answer[{ground_truth}]")

    with make("mathpython", reward_hooks=[accuracy, verl]) as env:
        for right in (True, False):
            env.reset(seed=3)
            action = env.unwrapped.oracle_action() if right else "answer[none]"
            terms = env.step(action)[4]["reward_terms"]
            assert terms["accuracy"] == terms["verl"] == float(right)
    calls: list[dict[str, Any]] = []
    with make("search", horizon=1, reward_hooks=[kept(calls, 0.0)["verl"]]) as env:
        env.reset(seed=0)
        env.step("<answer>x</answer>")
        assert calls[0]["truth"] == {"target": env.unwrapped.task.content["answers"]}


def test_a_fork_continues_with_the_conversation_so_far() -> None:
    calls: list[dict[str, Any]] = []
    make_function = kept(calls, 1.0)["trl"]
    with make(TOY_ID, reward_hooks=[make_function]) as env:
        env.reset(options={"task_id": "toy/gold-red"})
        env.step("press gold")
        fork = copy.deepcopy(env.unwrapped.snapshot())
        env.step("press red")
        env.unwrapped.restore(fork)
        env.step("press red")
        env.reset(options={"task_id": "toy/gold-red"})
        env.step("press gold")
        env.step("press red")
    assert len(calls) == 3
    assert calls[0]["completions"] == calls[1]["completions"] == calls[2]["completions"]


@pytest.mark.parametrize(
    "function", [lambda: 1.0, lambda context: 1.0, lambda prompt, response: 1.0, dict, 7]
)
def test_an_unknown_signature_is_refused_with_those_that_are_known(function: Any) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(FORMS)):
        RewardFunction(function)
    if callable(function):
        with pytest.raises(ConfigurationError, match=re.escape(FORMS)):
            make(TOY_ID, reward_hooks=[function])


def test_what_an_environment_lacks_is_refused() -> None:
    def of_tokens(completions: object, completion_ids: object) -> list[float]:
        return [0.0]

    with pytest.raises(ConfigurationError, match="'of_tokens', which needs completion_ids: an"):
        RewardFunction(of_tokens)

    def of_column(completions: object, style: object) -> list[float]:
        return [0.0]

    message = "lacks style; it has task_id, split, goal, buttons: give the parameter a default"
    with (
        make(TOY_ID, reward_hooks=[of_column]) as env,
        pytest.raises(ConfigurationError, match=message),
    ):
        env.reset()


def test_a_list_of_another_length_is_refused() -> None:
    def double(completions: object, **columns: object) -> list[float]:
        return [0.0, 1.0]

    with pytest.raises(ConfigurationError, match="a reward for each completion, got 2 for 1"):
        play(double, "press gold", each=True)

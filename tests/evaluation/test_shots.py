"""Worked examples: the demonstrator's first turns of training tasks in the prompt of a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from agentgym import Session
from agentgym.conversation import (
    BARE,
    DEFAULT,
    Conversation,
    Layout,
    Prompt,
    SeenTurn,
    Shot,
    ShotTurn,
)
from agentgym.core.tasks import TaskList
from agentgym.errors import ConfigurationError
from agentgym.evaluation import evaluate
from agentgym.evaluation.demonstrations import SHOT_TURNS, make_shots
from agentgym.policies import ChatConfig, ChatPolicy
from agentgym.protocols import find_prompt
from tests.policies.endpoint import completion
from tests.toy import TOY_ID, ToyEnv, ToyTasks

GRAMMARS = ("native", "react", "tool_call", "xml", "action_tag")


def messages(prompt: Prompt) -> list[dict[str, Any]]:
    return Conversation(prompt, "press red").messages(SeenTurn("next is red"))


@pytest.mark.parametrize("grammar", GRAMMARS)
def test_examples_are_valid_turns_of_solved_training_tasks(grammar: str) -> None:
    env = ToyEnv(grammar=grammar)
    shots = make_shots(env, 3, seed=5)
    assert len(shots) == 3 and len({shot.task for shot in shots}) == 3
    for shot in shots:
        [task_id] = [
            task.id
            for index in range(ToyTasks().len("train"))
            if (task := ToyTasks().task("train", index)).goal == shot.task
        ]
        observation, _ = env.reset(options={"task_id": task_id})
        assert 1 <= len(shot.turns) <= SHOT_TURNS
        for turn in shot.turns:
            assert observation == turn.observation
            observation, _, _, _, info = env.step(turn.action)
            assert info["action_valid"]
        assert observation == shot.result


def test_examples_depend_on_the_seed_alone() -> None:
    first, same_seed, other_shots = (make_shots(ToyEnv(), 2, seed) for seed in (1, 1, 2))
    assert first == same_seed != other_shots
    assert make_shots(ToyEnv(), 4, seed=1)[:2] == first, "more examples begin with the fewer"
    assert make_shots(ToyEnv(), 0, seed=1) == ()


def test_examples_that_cannot_be_made_are_refused() -> None:
    class Held(TaskList):
        def __init__(self) -> None:
            super().__init__("held", {"test": [ToyTasks().task("test", 0)]})

    class Silent(ToyEnv):
        def _oracle_action(self) -> str | None:
            return None

    without_training = ToyEnv()
    without_training.tasks = Held()
    for env, words in (
        (without_training, "expected training tasks for --shots"),
        (Silent(), "expected a demonstrator for --shots"),
        (ToyEnv(horizon=1), "expected the demonstrator to solve 2 training tasks"),
    ):
        with pytest.raises(ConfigurationError, match=words):
            make_shots(env, 2)
    with pytest.raises(ConfigurationError, match="shots"):
        make_shots(ToyEnv(), -1)


def test_examples_stand_between_the_opening_and_the_first_observation() -> None:
    [shot] = shots = make_shots(ToyEnv(), 1)
    plain_prompt, prompt = Prompt(DEFAULT, "Press."), Prompt(DEFAULT, "Press.").with_shots(shots)
    system, *example, opening = messages(prompt)
    assert [system, opening] == messages(plain_prompt)
    pairs = [(turn.observation, turn.action) for turn in shot.turns]
    assert [message["role"] for message in example] == ["user", "assistant"] * len(pairs)
    assert [message["content"] for message in example] == [text for turn in pairs for text in turn]
    assert prompt.identity != plain_prompt.identity
    assert Layout.from_dict(prompt.layout.to_dict()) == prompt.layout
    assert "shots" not in BARE.to_dict(), "layouts without examples keep their hash"


def test_an_example_is_no_template() -> None:
    shot = Shot("{task}", (ShotTurn("{observation} {history}", "{actions}"),))
    _, user, assistant, _ = messages(Prompt(DEFAULT, "Press.").with_shots([shot]))
    assert (user["content"], assistant["content"]) == ("{observation} {history}", "{actions}")


def test_a_prompt_of_one_message_shows_examples_in_that_form() -> None:
    named = find_prompt("verl-agent", "alfworld")
    assert named.layout.kind == "step" and named.layout.lists_actions
    shots = make_shots(ToyEnv(grammar="action_tag"), 1)
    prompt = Prompt(named.layout).with_shots(shots)
    *example, opening = messages(prompt)
    assert opening == messages(Prompt(named.layout))[0]
    [shot] = shots
    assert shot.turns[0].observation in example[0]["content"]
    assert "press gold" in example[0]["content"], "the admissible actions are listed"
    bare = Prompt(BARE).with_shots(shots)
    assert not bare.layout.shots[0].turns[0].admissible, "what is not shown is not stored"


@pytest.mark.parametrize("grammar", GRAMMARS)
def test_a_model_at_an_endpoint_reads_the_same_examples_for_every_task(
    serve: Callable[..., Any], grammar: str
) -> None:
    server = serve(lambda body, number: completion("press red"))
    policy = ChatPolicy(ChatConfig("m", server.url), "Press.")
    play = {"num_tasks": 3, "horizon": 1, "env_kwargs": {"grammar": grammar}, "seed": 4}
    plain_report = evaluate(policy, TOY_ID, **play)
    prompts_before, server.requests = [request["messages"] for request in server.requests], []
    report = evaluate(policy, TOY_ID, shots=2, **play)
    prompts_after = [request["messages"] for request in server.requests]
    shots = make_shots(ToyEnv(grammar=grammar), 2, seed=4)
    opening = Prompt(DEFAULT, "Press.").with_shots(shots).opening("")
    assert [conversation[: len(opening)] for conversation in prompts_after] == [opening] * 3
    key = lambda conversation: conversation[-1]["content"]  # noqa: E731
    assert sorted([*map(key, prompts_after)]) == sorted([*map(key, prompts_before)])
    assert report.policy_facts["prompt"] != plain_report.policy_facts["prompt"]


def test_examples_for_a_model_with_tools_are_calls(serve: Callable[..., Any]) -> None:
    server = serve(lambda body, number: completion("press red"))
    policy = ChatPolicy(ChatConfig("m", server.url, tools=True), "Press.")
    kwargs = {"grammar": "tool_call"}
    evaluate(policy, TOY_ID, num_tasks=1, horizon=1, env_kwargs=kwargs, shots=2)
    conversation = server.requests[0]["messages"]
    calls = [message for message in conversation if message.get("tool_calls")]
    shots = make_shots(ToyEnv(grammar="tool_call"), 2)
    assert len(calls) == sum(len(shot.turns) for shot in shots)
    functions = [call["function"] for message in calls for call in message["tool_calls"]]
    assert {function["name"] for function in functions} == {"press"}
    for index, message in enumerate(conversation):
        if message.get("tool_calls"):
            [call] = message["tool_calls"]
            result = conversation[index + 1]
            assert result["tool_call_id"] == call["id"], "every call has its result"
    ids = [call["id"] for message in calls for call in message["tool_calls"]]
    assert len(set(ids)) == len(ids)
    results = [message["content"] for message in conversation if message["role"] == "tool"]
    assert results[-1] == shots[-1].result


def test_policies_that_read_no_prompt_are_played_without() -> None:
    assert evaluate("random", TOY_ID, num_tasks=2, shots=2).n == 2

    def agent(session: Session) -> None:
        session.call("press", {"colour": "red"})

    with pytest.raises(ConfigurationError, match="expected no shots with an agent"):
        evaluate(agent, TOY_ID, num_tasks=2, shots=2)

    class Laconic:
        def act(self, observation: str, info: Mapping[str, Any]) -> str:
            return "press red"

        def with_prompt(self, prompt: Prompt, sampling: Mapping[str, Any]) -> Laconic:
            return self

    with pytest.raises(ConfigurationError, match="attribute prompt"):
        evaluate(Laconic(), TOY_ID, num_tasks=2, shots=2)

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import gymnasium
import pytest

from agentgym.agents import Session
from agentgym.episodes import read_episodes, replay
from agentgym.evaluation import evaluate
from agentgym.policies import ChatConfig, ChatPolicy, begin, public_info
from tests.policies.endpoint import call, completion, press_next, texts
from tests.toy import TOY_ID

pytest.importorskip("openai")

TOOLS = [{"type": "function", "function": {"name": "press", "parameters": {"type": "object"}}}]


def check(messages: list[Mapping[str, Any]]) -> None:
    """Hold a history against the rules of endpoints: results follow their calls, all of them."""
    open_calls: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            assert message["tool_call_id"] == open_calls.pop(0)
            continue
        assert not open_calls, f"{message} comes before the results of {open_calls}"
        calls = message.get("tool_calls", [])
        assert message["role"] == "assistant" or not calls
        open_calls = [tool_call["id"] for tool_call in calls]
        for tool_call in calls:
            assert re.fullmatch("[a-zA-Z0-9_-]{1,64}", tool_call["function"]["name"])
        assert all(
            isinstance(json.loads(tool_call["function"]["arguments"]), dict) for tool_call in calls
        )
        assert message["content"] is not None or calls
    assert not open_calls


def strict(answer: Any) -> Any:
    """Answer only to histories that keep the rules."""

    def checked(body: dict[str, Any], number: int) -> Any:
        check(body["messages"])
        return answer(body, number)

    return checked


def press_by_call(body: dict[str, Any], number: int) -> dict[str, Any]:
    colour = body["messages"][-1]["content"].split()[-1]
    return completion(None, tool_calls=[call(json.dumps({"colour": colour}), f"id{number}")])


def test_the_window_keeps_the_task(serve):
    server = serve(press_next)
    env = gymnasium.make(TOY_ID)
    policy = ChatPolicy(ChatConfig("m", server.url, window=1), "")
    observation, info = env.reset(options={"task_id": "toy/red-blue-green-gold"})
    begin(policy, observation, info)
    for turn in range(4):
        observation, *_, info = env.step(policy.act(observation, info))
        messages = server.requests[-1]["messages"][1:]
        assert len(messages) == (1 if turn == 0 else 3)
        assert messages[0] == server.requests[0]["messages"][1], "the task, and no word beside it"
        assert "press red then blue" in messages[0]["content"]


def test_calls_go_back_as_calls_and_observations_as_their_results(serve, tmp_path):
    server = serve(strict(press_by_call))
    env = gymnasium.make(TOY_ID, grammar="tool_call")
    policy = ChatPolicy(ChatConfig("m", server.url, tools=True), "sys")
    report = evaluate(policy, env, "test", 3, concurrency=1, record=tmp_path / "episodes.jsonl")
    assert report.success == 1.0
    turns = report.rows[0].turns
    messages = server.requests[turns - 1]["messages"]
    assert [m["role"] for m in messages] == ["system", "user", *["assistant", "tool"] * (turns - 1)]
    answer, tool_result = messages[2:4]
    first = json.loads(answer["tool_calls"][0]["function"]["arguments"])
    assert answer["tool_calls"] == [call(json.dumps(first), "id1")] and answer["content"] is None
    assert tool_result["tool_call_id"] == "id1" and tool_result["content"].startswith("click")
    # The environment was given text, from which the episodes replay.
    for episode in read_episodes(tmp_path / "episodes.jsonl"):
        assert episode.turns[0].action.startswith("<tool_call>")
        assert replay(episode, env).equal


def test_a_model_with_native_tools_is_told_no_notation(serve):
    server = serve(strict(press_by_call))
    env = gymnasium.make(TOY_ID, grammar="tool_call")
    config = ChatConfig("m", server.url, tools=True, instructions="Play.")
    policy = ChatPolicy(config, env.unwrapped.action_prompt())
    assert evaluate(policy, env, "test", 1).success == 1.0
    with Session(env, options={"split": "test", "index": 0}) as session:
        instruction = session.instruction
    for request in server.requests:
        assert request["tools"] == env.unwrapped.language.tools()
        system = request["messages"][0]["content"]
        assert "<" not in system and "{" not in system
        action_prompt = system.removeprefix("Play.\n\n")
        assert "calling tools" in action_prompt
        assert instruction.startswith(action_prompt), "one and the same text"


def test_without_tools_the_notation_is_told(serve):
    server = serve(press_next)
    env = gymnasium.make(TOY_ID, grammar="tool_call")
    policy = ChatPolicy(ChatConfig("m", server.url), env.unwrapped.action_prompt())
    evaluate(policy, env, "test", 1, horizon=2)
    assert all("<tool_call>" in r["messages"][0]["content"] for r in server.requests)


SHOP, HOUSE, CAVE = "agentgym/WebShop-v0", "agentgym/ALFWorld-v0", "agentgym/TextWorld-v0"


@pytest.mark.parametrize(
    ("env_id", "kwargs", "phrase"),
    [
        *((SHOP, {"observation_mode": mode}, "invalid: write search[{query}] or click[{element}]")
          for mode in ("text", "text_rich", "compact")),
        (HOUSE, {}, "is no command"),
        (CAVE, {}, "the rules of the game know no such command"),
    ],
)  # fmt: skip
def test_a_model_is_told_why_its_action_was_invalid(serve, env_id, kwargs, phrase):
    server = serve(lambda body, number: completion("I would like to buy shoes."))
    env = gymnasium.make(env_id, **kwargs)
    reason = invalid_turn(env)
    assert phrase in reason
    for invalid_reasons in (True, False):
        config = ChatConfig("m", server.url, invalid_reasons=invalid_reasons)
        evaluate(ChatPolicy(config, ""), env, "test", 1, horizon=2)
        content = server.requests[-1]["messages"][-1]["content"]
        observed = kwargs.get("observation_mode") == "compact"
        assert content.count(reason.removeprefix("invalid: ")) == (invalid_reasons or observed)
        assert ("[The last action was invalid: " in content) == (invalid_reasons and not observed)


def invalid_turn(env: gymnasium.Env[str, str]) -> str:
    env.reset(seed=0)
    info = env.step("I would like to buy shoes.")[-1]
    assert not info["action_valid"]
    return str(info["details"]["reason"])


def test_of_the_details_a_policy_reads_the_reason_alone():
    details = {"reason": "no such button", "points": 3, "price": 9.0}
    info = {"turn": 1, "action_valid": False, "details": details, "oracle_turns": 2}
    shown_info = {"turn": 1, "action_valid": False, "details": {"reason": "no such button"}}
    assert public_info(info) == shown_info
    assert "details" not in public_info({**info, "action_valid": True})
    for bad_input in ({}, {"reason": ""}, {"reason": 7}, None):
        assert "details" not in public_info({**info, "details": bad_input})


@pytest.mark.parametrize("window", [1, 2, 3])
def test_a_window_never_parts_a_call_from_its_result(serve, window):
    # With and without calls, and with several.
    def answer(body: dict[str, Any], number: int) -> dict[str, Any]:
        calls = [call('{"colour": "red"}') for _ in range(number % 3)]
        return completion(f"turn {number}", tool_calls=calls)

    server = serve(strict(answer))
    policy = ChatPolicy(ChatConfig("m", server.url, tools=True, window=window), "")
    policy.reset("the task", {"tools": TOOLS})
    for turn in range(8):
        policy.act("the task" if turn == 0 else f"seen {turn}", {})
    for turn, request in enumerate(server.requests):
        messages = request["messages"]
        past_turns = min(turn, window)
        assert sum(m["role"] == "assistant" for m in messages) == past_turns
        assert messages[1]["role"] == "user" and messages[1]["content"].startswith("the task")
        assert messages[1]["content"] == "the task"
        if turn > window:
            assert messages[2]["content"].startswith(f"turn {turn - window + 1}")


def test_only_the_first_call_counts_and_the_others_are_told_so(serve):
    calls = [call('{"colour": "red"}', "a"), call('{"colour": "blue"}', "b")]
    server = serve(strict(lambda body, number: completion("Both!", tool_calls=calls)))
    policy = ChatPolicy(ChatConfig("m", server.url, tools=True), "")
    policy.reset("", {"tools": TOOLS})
    action = policy.act("next is red", {})
    assert action.startswith("<tool_call>") and "red" in action and "blue" not in action
    assert policy.last_output.text == f"Both!{action}"
    policy.act("click", {})
    answer, first, second = server.requests[1]["messages"][2:]
    assert answer["content"] == "Both!"
    assert [tool_call["id"] for tool_call in answer["tool_calls"]] == ["a", "b"]
    assert first == {"role": "tool", "tool_call_id": "a", "content": "click"}
    assert second["tool_call_id"] == "b" and "ot carried out" in second["content"]


def test_an_answer_without_a_call_is_followed_by_a_user_message(serve):
    server = serve(lambda body, number: completion("Hm."))
    policy = ChatPolicy(ChatConfig("m", server.url, tools=True), "sys")
    policy.reset("", {"tools": TOOLS})
    policy.act("next is red", {})
    policy.act("no action found", {})
    assert texts(server.requests[1]["messages"])[1:] == [
        ("user", "next is red"),
        ("assistant", "Hm."),
        ("user", "no action found"),
    ]


def test_ids_that_are_missing_or_doubled_are_made_alike_in_every_run(serve):
    calls = [call("{}"), call("{}", "twice"), call("{}", "twice"), call("{}", "")]
    calls.append({**call("{}"), "id": 7})

    def ids() -> list[str]:
        server = serve(strict(lambda body, number: completion("", tool_calls=calls)))
        policy = ChatPolicy(ChatConfig("m", server.url, tools=True), "")
        policy.reset("", {"tools": TOOLS})
        for _ in range(3):
            policy.act("look", {})
        turns = [m["tool_calls"] for m in server.requests[-1]["messages"] if "tool_calls" in m]
        return [tool_call["id"] for turn in turns for tool_call in turn]

    call_ids = ids()
    assert call_ids == ids() and len(call_ids) == 10 and call_ids[1] == "twice"
    generated_ids = [id_ for id_ in call_ids if id_ != "twice"]
    assert len(set(generated_ids)) == 8
    assert all(len(id_) == 9 and id_.isalnum() for id_ in generated_ids)  # what Mistral accepts


@pytest.mark.parametrize("arguments", ["{not json", "[1]", "", '"text"', "{}\nand more"])
def test_calls_that_are_no_json_do_not_end_the_episode(serve, arguments):
    # Endpoints parse the arguments of earlier turns, and refuse what is no object.
    calls = [call(arguments, "a")]
    server = serve(strict(lambda body, number: completion(None, tool_calls=calls)))
    env = gymnasium.make(TOY_ID, grammar="tool_call")
    policy = ChatPolicy(ChatConfig("m", server.url, tools=True), "")
    report = evaluate(policy, env, "test", 1, horizon=3)
    assert report.errors == 0 and report.rows[0].invalid == 3
    tool_result = server.requests[-1]["messages"][3]["content"]
    assert tool_result.startswith("invalid") or "JSON" in tool_result


@pytest.mark.parametrize(
    "calls",
    [
        "press red",
        [None, 3, "press"],
        [{"function": None}],
        [call("{}", "a", "press the red one!")],
        [{"function": {"name": ["press"] * 9, "arguments": {"colour": "red"}}}],
        [call('{"colour": "red"}', "x" * 100_000)],
        [call("{}")] * 10_000,
    ],
)
def test_odd_calls_are_endured(serve, calls):
    server = serve(strict(lambda body, number: completion("hm", tool_calls=calls)))
    policy = ChatPolicy(ChatConfig("m", server.url, tools=True), "")
    policy.reset("", {"tools": TOOLS})
    policy.act("look", {})
    policy.act("look", {})
    assert len(json.dumps(server.requests[1])) < 20_000


def test_calls_of_tools_that_were_not_offered_are_returned_as_text(serve):
    server = serve(lambda body, number: completion("So: ", tool_calls=[call("{}", "a")]))
    policy = ChatPolicy(ChatConfig("m", server.url), "")
    policy.reset("", {"tools": TOOLS})
    action = policy.act("look", {})
    policy.act("look", {})
    assert "tools" not in server.requests[0]
    assert server.requests[1]["messages"][2] == {"role": "assistant", "content": action}


def test_an_episode_begins_without_the_one_before(serve):
    server = serve(press_next)
    policy = ChatPolicy(ChatConfig("m", server.url), "")
    policy.act("next is red", {})
    policy.reset("next is blue", {})
    assert policy.last_output is None
    policy.act("next is blue", {})
    assert texts(server.requests[1]["messages"])[1:] == [("user", "next is blue")]


def test_content_in_parts_and_refusals_are_text(serve):
    parts = [{"type": "text", "text": "press "}, {"type": "image"}, {"type": "text", "text": "red"}]
    assert ChatPolicy(
        ChatConfig("m", serve(lambda body, number: completion(parts)).url), ""
    ).act("", {}) == "press red"  # fmt: skip
    refused = serve(lambda body, number: completion(None, refusal="I will not."))
    assert ChatPolicy(ChatConfig("m", refused.url), "").act("", {}) == "I will not."

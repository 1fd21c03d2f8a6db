"""Rollouts of agents that own their loop: what is recorded of their calls, and what they may do."""

from __future__ import annotations

import copy
import json
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import gymnasium
import pytest
import torch

from agentgym import Session
from agentgym.core.guard import GuardedEnv
from agentgym.episodes import replay
from agentgym.episodes.recorder import origin
from agentgym.support import json_rpc
from tests.toy import TOY_ID, ToyEnv
from tests.trainers import tiny_policy, toy_agents
from tests.trainers.grpo import helpers
from tests.trainers.methods.gateway.agent_runners import (
    BUDGET,
    RecordingEngine,
    play,
    press,
    runner,
)
from tests.trainers.row_checks import check_rows
from trainers.methods.gateway.agent_envs import AgentEnvs
from trainers.methods.gateway.agent_runner import AgentRunner
from trainers.methods.gateway.agents import find_agent
from trainers.models.tiny import build_tokenizer
from trainers.output.episode_log import to_episode
from trainers.rollouts.budget import TokenBudget
from trainers.rollouts.chat import TurnTokenizer
from trainers.rollouts.trajectory import Trajectory, to_rows

GOAL = ("green", "gold")
"""The buttons of the first task."""


def post(session: Session, path: str = "/chat/completions", **body: Any) -> Any:
    """Ask the endpoint, and return what it says, or the status of its refusal."""
    request = urllib.request.Request(
        session.base_url + path,
        json.dumps(body).encode(),
        {"Authorization": f"Bearer {session.api_key}", "Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())["error"]["message"]


# -- the same as the trainer's own loop ------------------------------------------------------------


@pytest.mark.slow
def test_a_loop_like_ours_gives_the_weights_of_our_own(tmp_path: Path) -> None:
    trained, warm = [], helpers.warm_model()
    for agent in (None, toy_agents.words):
        changes: dict[str, Any] = {}
        if agent is not None:
            changes["envs"] = AgentEnvs([lambda: GuardedEnv(ToyEnv())] * 16)
            changes["player"] = lambda *parts, **named: AgentRunner(
                *parts, agent=toy_agents.words, **named
            )
        model = copy.deepcopy(warm)
        trainer = helpers.make_trainer(tmp_path / str(agent), model, args={"steps": 2}, **changes)
        weights_before = [parameter.detach().clone() for parameter in model.parameters()]
        trainer.train()
        trainer.runner.envs.close()
        assert any(
            not torch.equal(a, b) for a, b in zip(weights_before, model.parameters(), strict=True)
        )
        trained.append([parameter.detach().clone() for parameter in model.parameters()])
    for own_weight, through_agent in zip(*trained, strict=True):
        torch.testing.assert_close(own_weight, through_agent, atol=1e-6, rtol=0)


# -- tokens ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("agent", [toy_agents.words, toy_agents.tools, toy_agents.roles,
                                   toy_agents.window, toy_agents.later])  # fmt: skip
def test_the_sampled_tokens_are_the_trained_ones(agent: Callable[[Session], object]) -> None:
    engine = RecordingEngine()
    with runner(agent, engine=engine) as agent_runner:
        episodes = agent_runner.run(tiny_policy.tasks(3), group_size=2, horizon=3, seed=5)
    turns = [turn for episode in episodes for turn in episode.turns]
    sampled = {(request.seed, request.prompt): out for request, out in engine.pairs}
    assert turns and len(sampled) == len(turns)
    for episode in episodes:
        row: list[int] = []
        for turn in episode.turns:
            row = turn.context if turn.fresh else row + turn.context
            out = next(out for (_, prompt), out in sampled.items() if list(prompt) == row
                       and out.ids == turn.ids)  # fmt: skip
            assert (turn.ids, turn.logprobs) == (out.ids, out.logprobs)
            row = row + turn.ids
    check_rows(episodes, to_rows(episodes))
    rows = [sum(turn.fresh for turn in episode.turns) for episode in episodes]
    if agent is toy_agents.roles:
        assert rows == [len(episode.turns) for episode in episodes]
    elif agent is toy_agents.window:
        assert all(
            count == max(1, len(e.turns) - 1) for count, e in zip(rows, episodes, strict=True)
        )
    else:
        assert rows == [1] * 6


def test_nothing_of_an_answer_is_encoded_again() -> None:
    """Thinking that the template drops opens a row; else sampled ids stay, whatever they say."""
    thinking = TurnTokenizer(tiny_policy.tokenizer(tiny_policy.QWEN_LIKE, ("<think>", "</think>")))
    answers = ["<think> red </think> press green", "<think> gold </think> press gold"]
    episode = play(toy_agents.tools, answers, chat=thinking, budget=TokenBudget(12, 400, 4000))
    assert [turn.fresh for turn in episode.turns] == [True, True] and episode.success
    assert "think" not in thinking.raw_text(episode.turns[1].context)


def test_a_call_may_hold_several_tools_and_a_stream() -> None:
    parts: list[str] = []
    kinds: list[Any] = []

    def agent(session: Session) -> None:
        messages = [{"role": "user", "content": [{"type": "text", "text": session.observation}]}]
        request = {"messages": messages, "tools": session.openai_tools, "model": session.model}
        stream = post(session, **request, stream=True, stream_options={"include_usage": True})
        parts.extend(line[6:] for line in stream.split("\n") if line.startswith("data: "))
        for part in parts[:-1]:
            for choice in json.loads(part)["choices"]:
                for call in choice["delta"].get("tool_calls", ()):
                    kinds.append(call["index"])
                    session.call(call["function"]["name"], call["function"]["arguments"])

    answer = "".join(
        f'<tool_call>{{"name": "press", "arguments": {{"colour": "{colour}"}}}}</tool_call>'
        for colour in GOAL
    )
    exact = TurnTokenizer(
        build_tokenizer([f"{answer} press green then gold . next is"], exact=True)
    )
    episode = play(agent, [answer], chat=exact, budget=TokenBudget(200, 400, 4000))
    assert kinds == [0, 1] and parts[-1] == "[DONE]" and episode.success
    assert json.loads(parts[-2])["usage"]["completion_tokens"] == len(episode.turns[0].ids)
    (turn,) = episode.turns
    assert turn.reward == 1.0 and len(episode.record.turns) == 2
    assert [call["turn"] for call in episode.record.extra["calls"]] == [0]


def test_the_responses_api_is_answered_as_chat_completions_are() -> None:
    answers = ["press walrus", "press green", "press gold"]
    chat_episode, other_episode = (
        play(agent, answers) for agent in (toy_agents.tools, toy_agents.responses)
    )
    assert other_episode.success and [turn.fresh for turn in other_episode.turns] == [
        True,
        False,
        False,
    ]
    assert [(turn.context, turn.ids, turn.reward) for turn in other_episode.turns] == [
        (turn.context, turn.ids, turn.reward) for turn in chat_episode.turns
    ]
    refusals: list[Any] = []

    def asks(session: Session) -> None:
        bad_requests = ({"previous_response_id": "resp_0"}, {"stream": True}, {"input": 5},
                 {"input": [5]}, {"input": [{"type": "input_image"}]},
                 {"tools": [{"type": "web_search"}]}, {"background": True}, {"input": []},
                 {"max_output_tokens": 0},
                 {"input": [{"role": "user", "content": [{"type": "input_image"}]}]})  # fmt: skip
        for fields in bad_requests:
            refusals.append(post(session, "/responses", **{"input": "press", **fields}))
        short = post(session, "/responses", input="press", instructions="x", max_output_tokens=1)
        answer = json.loads(short)
        assert answer["incomplete_details"] == {"reason": "max_output_tokens"}
        assert answer["output"][0]["status"] == answer["status"] == "incomplete"

    assert not play(asks, ["press red"]).error
    assert [status for status, _ in refusals] == [400] * 10
    assert all(message.startswith("expected ") for _, message in refusals)
    assert "no background" in refusals[6][1] and "expected input" in refusals[7][1]
    assert "expected max_output_tokens" in refusals[8][1]


@pytest.mark.parametrize(
    ("path", "body"), [("/chat/completions", {"messages": 5}), ("/responses", {"input": 5})]
)
def test_requests_that_cannot_be_read_are_counted(path: str, body: dict[str, Any]) -> None:
    replies: list[Any] = []
    episode = play(lambda session: replies.extend(post(session, path, **body) for _ in range(6)),
                   calls=5)  # fmt: skip
    assert [status for status, _ in replies] == [400] * 5 + [403]
    assert "asked the model more than 5 times" in episode.error


def test_concurrent_calls_sample_independently_of_their_order() -> None:
    def agent(session: Session) -> None:
        def send(number: int) -> str:
            start.wait()
            text = f"{session.observation} {'red ' * number}"
            return str(toy_agents.ask(session, messages=[{"role": "user", "content": text}]))

        start = threading.Barrier(4)
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(send, (1, 1, 2, 3)))
        session.act("press green")

    drawn = []
    for _ in range(2):
        engine = RecordingEngine()
        episode = play(agent, engine=engine)
        assert len(episode.turns) == 4 and all(turn.fresh for turn in episode.turns)
        drawn.append({(request.prompt, request.seed) for request, _ in engine.pairs})
        assert len({seed for _, seed in drawn[-1]}) == 4
    # Whoever was first has the main conversation; of the others every one draws by what it says.
    assert len(drawn[0] & drawn[1]) >= 2


# -- what an agent may do to its episode -----------------------------------------------------------


def crash(session: Session) -> None:
    session.act("press green")
    raise KeyError("memory")


def leave(session: Session) -> None:
    sys.exit(3)


def hang(session: Session) -> None:
    session.act("press green")
    threading.Event().wait(30)


def flood(session: Session) -> None:
    while True:
        toy_agents.ask(session, messages=[{"role": "user", "content": "press"}])


def swell(session: Session) -> None:
    post(session, messages=[{"role": "user", "content": "a" * (5 << 20)}])
    toy_agents.ask(session, messages=[{"role": "user", "content": "press"}])


def other_model(session: Session) -> None:
    toy_agents.ask(session, model="gpt-9", messages=[{"role": "user", "content": "press"}])


@pytest.mark.parametrize(
    ("agent", "reason", "words"),
    [
        (crash, "stopped", "the agent raised KeyError: 'memory'"),
        (leave, "stopped", "SystemExit(3)"),
        (hang, "stopped", "the agent was not done after 0.3 s"),
        (flood, "stopped", "the agent asked the model more than 5 times"),
        (swell, "stopped", "the agent sent more than 4,194,304 bytes"),
        (other_model, "stopped", "asked for the model 'gpt-9', but here answers 'policy'"),
        (toy_agents.words, "token_limit", "used up the tokens of its episode"),
        (lambda session: None, "stopped", ""),
    ],
    ids=["crash", "exit", "hang", "flood", "swell", "model", "tokens", "nothing"],
)
def test_what_an_agent_does_wrong_costs_its_episode_alone(
    agent: Callable[[Session], object], reason: str, words: str
) -> None:
    def either(session: Session) -> None:
        is_first = session.goal.startswith("press green then gold")
        (agent if is_first else toy_agents.words)(session)

    short = TokenBudget(4, 9, 200) if reason == "token_limit" else BUDGET
    with runner(either, lambda prompt: "press blue", slots=2, seconds=0.3 if agent is hang else 60,
                calls=5, budget=short) as agent_runner:  # fmt: skip
        first, second = agent_runner.run(tiny_policy.tasks(2), horizon=3)
        assert (first.stop_reason, words in first.error) == (reason, True), first.error
        assert second.stop_reason == ("token_limit" if reason == "token_limit" else "horizon")
        # The slot is another's at once, and the endpoint still there.
        replayed, _ = agent_runner.run(tiny_policy.tasks(2)[::-1], horizon=3)
        assert replayed.stop_reason == second.stop_reason and replayed.turns


def test_an_environment_that_fails_costs_its_episode() -> None:
    class Down(ToyEnv):
        def _act(self, action: str) -> Any:
            raise OSError("the disk is gone")

    episode = play(toy_agents.words, press("green"), make=lambda: GuardedEnv(Down()))
    assert episode.stop_reason == "error" and "the disk is gone" in episode.error
    assert episode.turns[0].reward == 0.0


def test_a_token_opens_its_own_episode_and_only_while_it_is_played() -> None:
    sessions: list[Session] = []
    replies: list[Any] = []

    def agent(session: Session) -> None:
        sessions.append(session)
        session.api_key, key = "another", session.api_key
        replies.append(post(session, messages=[{"role": "user", "content": "x"}]))
        session.api_key = key
        replies.append(post(session, messages=[{"role": "walrus"}]))
        replies.append(post(session, messages=[{"role": "user", "content": "x"}], n=2))
        replies.append(post(session, "/session", name="press", arguments=[1]))
        toy_agents.words(session)
        replies.append(post(session, messages=[{"role": "user", "content": "and now?"}]))

    with runner(agent, press(*GOAL), slots=1) as agent_runner:
        (episode,) = agent_runner.run(tiny_policy.tasks(1), horizon=4)
        assert [status for status, _ in replies[:3]] == [401, 400, 400] and episode.success
        # After the end nothing of the policy answers, and nothing trains.
        assert "The episode is over (success)" in replies[4] and len(episode.turns) == 2
        # What a model calls a tool with is its turn, whatever it is.
        assert json.loads(replies[3])["turns"] == 1 and len(episode.record.turns) == 3
        # Answers are named by their number in the episode, whoever else plays.
        assert json.loads(replies[4])["id"] == "chatcmpl-2"
        assert post(sessions[0], messages=[{"role": "user", "content": "x"}])[0] == 401


# -- commands of other processes, and records ------------------------------------------------------

COMMAND = """
import json, os, urllib.request
def call(url, **body):
    headers = {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    return json.load(urllib.request.urlopen(request))
base, place = os.environ["OPENAI_BASE_URL"], os.environ["AGENTGYM_SESSION_URL"]
state = call(place)
messages = [{"role": "user", "content": state["observation"]}]
while not state["over"]:
    asked = dict(model=os.environ["AGENTGYM_MODEL"], messages=messages, tools=state["tools"])
    message = call(base + "/chat/completions", **asked)["choices"][0]["message"]
    function = message["tool_calls"][0]["function"]
    state = call(place, name=function["name"], arguments=function["arguments"])
    messages += [message, {"role": "tool", "content": state["observation"]}]
"""


def test_a_command_plays_as_a_function_does_and_its_record_replays() -> None:
    agent = find_agent(None, f"{sys.executable} -c '{COMMAND}'")
    episode = play(agent, press("blue", *GOAL))
    assert episode.success and [turn.fresh for turn in episode.turns] == [True, False, False]
    assert episode.score == 1.0 and sum(turn.reward for turn in episode.turns) == 1.0
    env = gymnasium.make(TOY_ID)
    record = to_episode(episode, origin(env, policy="tiny"), str)
    assert record.policy == "tiny" and replay(record).equal
    assert [turn.action for turn in record.turns] == ["press blue", "press green", "press gold"]
    assert [call["turn"] for call in record.extra["calls"]] == [0, 1, 2]
    failing = play(find_agent(None, "sh -c 'echo no such thing; exit 7'"))
    assert failing.stop_reason == "stopped" and "status 7: no such thing" in failing.error
    missing = play(find_agent(None, "no-such-command-here"))
    assert "could not be started" in missing.error and not missing.turns


MCP_COMMAND = """
import itertools, json, os, urllib.request
def post(url, **body):
    kind = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    headers = {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"], **kind}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request) as answer:
        return answer.status, answer.read()
numbers = itertools.count()
def ask(method, **params):
    sent = dict(jsonrpc="2.0", id=next(numbers), method=method, params=params)
    answer = json.loads(post(os.environ["AGENTGYM_MCP_URL"], **sent)[1])
    assert answer["id"] == sent["id"], answer
    return answer["result"] if "result" in answer else answer["error"]
me = dict(protocolVersion="2025-06-18", capabilities={}, clientInfo=dict(name="x", version="1"))
hello = ask("initialize", **me)
assert hello["protocolVersion"] == me["protocolVersion"], hello
told = post(os.environ["AGENTGYM_MCP_URL"], jsonrpc="2.0", method="notifications/initialized")
assert told == (202, b""), told
assert ask("ping") == {} and "tools/call" in ask("resources/list")["message"]
(press,) = ask("tools/list")["tools"]
function = dict(name=press["name"], parameters=press["inputSchema"])
messages = [dict(role="user", content=hello["instructions"])]
while "The episode is over" not in messages[-1]["content"]:
    asked = dict(messages=messages, tools=[dict(type="function", function=function)])
    body = post(os.environ["OPENAI_BASE_URL"] + "/chat/completions", **asked)[1]
    message = json.loads(body)["choices"][0]["message"]
    call = message["tool_calls"][0]["function"]
    called = ask("tools/call", name=call["name"], arguments=json.loads(call["arguments"]))
    messages += [message, dict(role="tool", content=called["content"][0]["text"])]
"""


def test_a_command_plays_by_mcp_as_a_function_does_by_calls() -> None:
    room = TokenBudget(turn_tokens=4, episode_tokens=400, context=4000)
    agent = find_agent(None, f"{sys.executable} -c '{MCP_COMMAND}'")
    through = play(agent, press("blue", *GOAL), budget=room)
    by_calls = play(toy_agents.tools, press("blue", *GOAL), budget=room)
    assert through.success and not through.error
    assert [turn.ids for turn in through.turns] == [turn.ids for turn in by_calls.turns]
    assert [turn.reward for turn in through.turns] == [turn.reward for turn in by_calls.turns]
    assert [turn.fresh for turn in through.turns] == [True, False, False]
    assert [turn.action for turn in through.record.turns] == [
        turn.action for turn in by_calls.record.turns
    ]


def test_what_is_wrong_by_mcp_takes_no_turn_and_late_calls_come_to_an_end() -> None:
    nameless: list[Any] = []
    late: list[Any] = []

    def agent(session: Session) -> None:
        def call(**params: Any) -> Any:
            request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
            return post(session, "/mcp", **request)

        nameless.extend(json.loads(call(**arguments))["error"] for arguments in ({}, {"name": 5}))
        for colour in GOAL:
            call(name="press", arguments={"colour": colour})
        late.extend(call(name="press", arguments=5) for _ in range(11))

    episode = play(agent)
    assert [error["code"] for error in nameless] == [json_rpc.INVALID_PARAMS] * 2
    assert [turn.action for turn in episode.record.turns] == ["press green", "press gold"]
    assert episode.success and not episode.error
    assert all("The episode is over" in answer for answer in late[:-1]) and late[-1][0] == 410


def test_two_rollouts_of_one_seed_are_alike_however_many_play_at_once() -> None:
    def play_episodes(slots: int) -> list[Trajectory]:
        with runner(toy_agents.roles, engine=RecordingEngine(), slots=slots) as agent_runner:
            return agent_runner.run(tiny_policy.tasks(2), group_size=3, horizon=3, seed=11)

    alone, together = play_episodes(1), play_episodes(6)
    assert [[t.ids for t in e.turns] for e in alone] == [[t.ids for t in e.turns] for e in together]


def test_consecutive_invalid_actions_end_the_episode_of_an_agent() -> None:
    with runner(toy_agents.words, press("pink", "rose", "pink"), slots=1) as agent_runner:
        agent_runner.end_after_invalid = 2
        (episode,) = agent_runner.run(tiny_policy.tasks(1), horizon=4, seed=3)
    assert (episode.stop_reason, len(episode.turns)) == ("invalid_actions", 2)

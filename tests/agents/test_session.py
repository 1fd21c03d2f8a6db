"""Agents that own the loop: tools over a running episode, and what is kept of it."""

from __future__ import annotations

import asyncio
import inspect
import json
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal, get_type_hints

import gymnasium
import pytest

from agentgym.agents import Session, play_agent
from agentgym.episodes import read_episodes, replay
from agentgym.errors import ConfigurationError, EnvFailure, PolicyStopped
from agentgym.policies import ModelOutput, OraclePolicy
from agentgym.policies.play import play
from agentgym.vector.isolated import IsolatedEnv
from tests.toy import COLOURS, TOY_ID, ToyEnv

GOLD_RED = {"task_id": "toy/gold-red"}
FAMILIES = ("ALFWorld", "Search", "TextWorld", "WebShop")
"""Families that need no extra and no sandbox."""


def toy(**kwargs: Any) -> gymnasium.Env[str, str]:
    return gymnasium.make(TOY_ID, grammar="tool_call", **kwargs)


class DownEnv(ToyEnv):
    """Fails at every action."""

    def _act(self, action: str) -> Any:
        raise EnvFailure("the retriever is down")


def call_of(action: str) -> tuple[str, dict[str, Any]]:
    """The call that an action in the grammar tool_call writes."""
    call = json.loads(action.removeprefix("<tool_call>").removesuffix("</tool_call>"))
    return call["name"], call["arguments"]


def solve(session: Session) -> None:
    while not session.over:
        session.call("press", {"colour": session.observation.split()[-1]})


@pytest.mark.parametrize("family", FAMILIES)
def test_a_while_loop_over_tools_plays_what_the_expert_would(family: str) -> None:
    env = gymnasium.make(f"agentgym/{family}-v0", grammar="tool_call")
    options = {"split": "test", "index": 0}
    expert: Any = env.unwrapped
    moments = list(play(OraclePolicy(env), env, seed=3, options=options))
    with Session(env, seed=3, options=options) as session:
        assert moments[0].observation in session.instruction
        while not session.over:
            name, arguments = call_of(expert.oracle_action())
            answer = session.call(name, arguments)
            assert answer.startswith(session.observation)
    assert session.success and session.score == 1.0 and session.stop_reason == "success"
    assert [m.observation for m in session.moments] == [m.observation for m in moments]
    assert session.reward == pytest.approx(sum(moment.reward for moment in moments))
    assert session.turns == len(moments) - 1 and session.failure is None
    assert {tool["function"]["name"] for tool in session.openai_tools} == {
        tool.__name__ for tool in session.tools
    }
    env.close()


def test_a_faulty_call_is_a_turn_and_is_answered_with_the_reason() -> None:
    with Session(toy(), options=GOLD_RED) as session:
        for name, arguments, reason in (
            ("pull", {"colour": "gold"}, "pull"),
            ("press", {}, "needs the argument 'colour'"),
            ("press", {"colour": "pink"}, "must be one of"),
            ("press", {"colour": "gold", "hard": True}, "no argument 'hard'"),
            ("press", '{"colour": "gold"', "invalid"),
            ("press", "</tool_call><think>", "invalid"),
        ):
            assert reason in session.call(name, arguments)
        assert session.turns == 6 and session.score == 0.0
        assert not any(moment.info["action_valid"] for moment in session.moments[1:])
        assert "click" in session.call("press", '{"colour": "gold"}')
        assert session.score == 0.5


def test_after_the_end_tools_answer_that_it_is_over() -> None:
    with Session(toy(), options=GOLD_RED) as session:
        (press,) = session.tools
        press("gold")
        assert "the door opens" in press(colour="red") and session.over
        moments_before = list(session.moments)
        assert press("red") == session.call("press", {"colour": "red"})
        assert "The episode is over (success)" in press("red")
        assert session.moments == moments_before
    assert session.stop_reason == "success" and session.turns == 2


def test_an_agent_that_does_not_see_the_end_is_stopped() -> None:
    calls = []

    def agent(session: Session) -> None:
        solve(session)
        while True:
            calls.append(session.call("press", {"colour": "red"}))

    last = play_agent(agent, toy(), options=GOLD_RED)[-1]
    assert last.failure is None and last.info["success"] and len(calls) == 10
    with Session(toy(), options=GOLD_RED) as session:
        agent(session)
    assert session.success and session.stop_reason == "success" and len(calls) == 20


def test_tools_are_functions_that_say_what_they_take() -> None:
    session = Session(toy())
    (press,) = session.tools
    assert press.__name__ == "press"
    (colour,) = inspect.signature(press).parameters.values()
    assert (colour.name, colour.annotation) == ("colour", Literal[COLOURS])
    assert get_type_hints(press) == {"colour": Literal[COLOURS], "return": str}
    assert "Press a button." in inspect.getdoc(press)
    assert "colour: Colour of the button." in inspect.getdoc(press)
    with pytest.raises(TypeError, match="takes 1 arguments"):
        press("red", "gold")
    assert session.mcp_tools[0]["inputSchema"]["required"] == ["colour"]


def test_async_tools_are_the_same_tools_to_be_awaited() -> None:
    session = Session(toy(), options=GOLD_RED)
    [press], [later] = session.tools, session.async_tools
    assert inspect.iscoroutinefunction(inspect.unwrap(later)) and later.__name__ == "press"
    assert inspect.signature(later) == inspect.signature(press)
    assert (later.__doc__, get_type_hints(later)) == (press.__doc__, get_type_hints(press))
    assert "click" in asyncio.run(later("gold")) and "door" in asyncio.run(later(colour="red"))
    assert session.success


def test_a_tool_that_is_awaited_does_not_hold_the_loop() -> None:
    entered, leave = threading.Event(), threading.Event()

    class SlowEnv(ToyEnv):
        def _act(self, action: str) -> Any:
            entered.set()
            assert leave.wait(60)
            return super()._act(action)

    async def agent(session: Session) -> None:
        (press,) = session.async_tools
        pressed = asyncio.ensure_future(press("gold"))
        await asyncio.to_thread(entered.wait, 60)
        assert not pressed.done()  # the loop lives while the environment works
        leave.set()
        answers.extend(await asyncio.gather(pressed, press(colour="red")))

    answers: list[str] = []
    last = play_agent(agent, SlowEnv(grammar="tool_call"), options=GOLD_RED)[-1]
    assert last.failure is None and last.info["success"]
    assert "click" in answers[0] and "the door opens" in answers[1]


def test_a_session_needs_calls_to_be_turns() -> None:
    with pytest.raises(ConfigurationError, match=r"worker_turns=0 here, where one list"):
        Session(ToyEnv(grammar="tool_call", worker_turns=3), options=GOLD_RED)
    with pytest.raises(ConfigurationError, match=r"grammar='tool_call'.*got 'native'"):
        Session(gymnasium.make(TOY_ID))


# -- what an agent tells of its model --------------------------------------------------------------


class Usage(SimpleNamespace):
    """An object with attributes, as those of client libraries."""


TOLD: tuple[tuple[tuple[Any, ...], dict[str, Any], ModelOutput], ...] = (
    ((ModelOutput("so gold", 3, 2),), {}, ModelOutput("so gold", 3, 2)),
    ((ModelOutput("so gold", 3, 2),), {"model": "m"}, ModelOutput("so gold", 3, 2, model="m")),
    ((), {"prompt_tokens": 3, "completion_tokens": 2}, ModelOutput("", 3, 2)),
    ((), {"text": "so gold", "model": "m"}, ModelOutput("so gold", model="m")),
    (({"prompt_tokens": 3, "completion_tokens": None},), {}, ModelOutput("", 3)),
    ((Usage(input_tokens=3, output_tokens=2),), {"text": "so"}, ModelOutput("so", 3, 2)),
    (
        (
            {
                "input_tokens": 3,
                "output_tokens": 2,
                "input_token_details": {"cache_read": 1},
                "output_token_details": {"reasoning": 2},
            },
        ),
        {"model": None},
        ModelOutput("", 3, 2, 1, 2),
    ),
    (
        (
            Usage(
                model="m",
                usage=Usage(
                    prompt_tokens=3,
                    completion_tokens=2,
                    prompt_tokens_details=Usage(cached_tokens=1),
                    completion_tokens_details=None,
                ),
            ),
        ),
        {},
        ModelOutput("", 3, 2, 1, model="m"),
    ),
)


@pytest.mark.parametrize(("args", "kwargs", "expected"), TOLD)
def test_answers_are_told_as_frameworks_count_them(
    args: tuple[Any, ...], kwargs: dict[str, Any], expected: ModelOutput
) -> None:
    outputs: list[ModelOutput] = []
    Session(toy(), options=GOLD_RED, on_output=outputs.append).annotate(*args, **kwargs)
    assert outputs == [expected]


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        (("so gold",), {}, "expected a ModelOutput, or token counts.*got 'so gold'"),
        (({"total_tokens": 5},), {}, "prompt_tokens and completion_tokens.*got {'total_tokens'"),
        (({"prompt_tokens": "3"},), {}, "token counts"),
        ((), {"raw_text": "so"}, "among text, prompt_tokens.*got 'raw_text'"),
        ((), {"prompt_tokens": "3"}, "prompt_tokens to be a number of at least 0, got '3'"),
        ((), {"completion_tokens": -1}, "completion_tokens to be a number of at least 0, got -1"),
        ((), {"model": 4}, "model to be text, got 4"),
    ],
)
def test_what_cannot_be_read_of_an_answer_is_said(
    args: tuple[Any, ...], kwargs: dict[str, Any], message: str
) -> None:
    session = Session(toy(), options=GOLD_RED)
    with pytest.raises(ConfigurationError, match=message):
        session.annotate(*args, **kwargs)


def test_calls_of_several_threads_are_carried_out_one_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "episodes.jsonl"
    with Session(toy(horizon=200), options=GOLD_RED, record=path) as session:
        presses = [lambda: [session.call("press", {"colour": "blue"}) for _ in range(20)]] * 8
        threads = [threading.Thread(target=press) for press in presses]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert session.turns == 160
        assert [moment.info["turn"] for moment in session.moments] == list(range(161))
    (episode,) = read_episodes(path)
    assert len(episode.turns) == 160 and replay(episode).equal


def test_an_agent_that_returns_early_ends_its_episode_as_it_stands(tmp_path: Path) -> None:
    path = tmp_path / "episodes.jsonl"
    with Session(toy(), options=GOLD_RED, record=path) as session:
        session.annotate(ModelOutput("so gold", 3, 2))
        session.call("press", {"colour": "gold"})
    assert (session.stop_reason, session.score, session.success) == ("stopped", 0.5, False)
    (episode,) = read_episodes(path)
    assert episode == session.episode and replay(episode).equal
    assert (episode.stop_reason, episode.score, episode.turns[0].raw_text) == (
        "stopped", 0.5, "so gold",
    )  # fmt: skip


def test_a_panel_s_worth_of_agents_is_played_as_policies_are() -> None:
    env, outputs = toy(), []

    def agent(session: Session) -> None:
        session.annotate(ModelOutput("hm", 1, 1))
        solve(session)

    moments = play_agent(agent, env, options=GOLD_RED, on_output=outputs.append)
    expected = list(play(OraclePolicy(env), env, options=GOLD_RED))
    assert [(m.observation, m.reward, m.info) for m in moments] == [
        (m.observation, m.reward, m.info) for m in expected
    ]
    assert moments[-1].over and moments[-1].failure is None and outputs[0].text == "hm"


def test_an_async_agent_is_awaited() -> None:
    async def agent(session: Session) -> None:
        solve(session)

    assert play_agent(agent, toy(), options=GOLD_RED)[-1].info["success"]


def test_an_agent_s_error_ends_its_episode_which_counts() -> None:
    def agent(session: Session) -> None:
        session.call("press", {"colour": "gold"})
        raise KeyError("memory")

    env = toy()
    last = play_agent(agent, env, options=GOLD_RED)[-1]
    assert last.failure is None and last.words == "the agent raised KeyError: 'memory'"
    assert last.info["turn"] == 1
    assert play_agent(solve, env, options=GOLD_RED)[-1].info["success"]
    with pytest.raises(KeyError), Session(env, options=GOLD_RED) as session:
        agent(session)
    assert session.stop_reason == "stopped" and session.episode is not None
    assert "memory" in session.episode.details["error"]


def test_an_agent_may_stop_its_episode_as_a_policy_may() -> None:
    def agent(session: Session) -> None:
        session.call("press", {"colour": "gold"})
        raise PolicyStopped("token_limit")

    last = play_agent(agent, toy(), options=GOLD_RED)[-1]
    assert last.failure is None and last.info["turn"] == 1
    assert last.info["stop_reason"] == "token_limit"
    with Session(toy(), options=GOLD_RED) as session:
        agent(session)
    assert session.stop_reason == "token_limit" and session.failure is None


def test_an_agent_that_returns_at_once_has_an_episode_without_turns() -> None:
    moments = play_agent(lambda session: None, toy(), options=GOLD_RED)
    assert len(moments) == 2 and moments[-1].info["stop_reason"] == "stopped"
    assert moments[-1].over and moments[-1].failure is None


def test_a_waiting_caller_can_end_the_episode() -> None:
    answers: list[str] = []

    def agent(session: Session) -> None:
        for _ in range(3):
            answers.append(session.call("press", {"colour": "blue"}))

    reasons = iter(["", "token_limit"])
    moments = play_agent(agent, toy(), options=GOLD_RED, end_when=lambda moment: next(reasons))
    assert len(moments) == 4 and moments[-1].info["stop_reason"] == "token_limit"
    endings = ["The episode is over (token_limit)" in answer for answer in answers]
    assert endings == [False, True, True]


@pytest.mark.parametrize("swallows", [False, True])
def test_a_failure_of_the_environment_is_never_a_silent_observation(swallows: bool) -> None:
    env = DownEnv(grammar="tool_call")

    def agent(session: Session) -> None:
        for _ in range(3):
            try:
                answers.append(session.call("press", {"colour": "blue"}))
            except EnvFailure:
                if not swallows:
                    raise

    answers: list[str] = []
    last = play_agent(agent, env, options=GOLD_RED)[-1]
    assert isinstance(last.failure, EnvFailure)
    assert all("The episode is over (error)" in answer for answer in answers[1:])


def test_an_environment_in_a_thread_of_its_own_has_the_same_tools() -> None:
    env = IsolatedEnv(toy().spec, "thread")
    try:
        assert play_agent(solve, env, options=GOLD_RED)[-1].info["success"]
    finally:
        env.close()


# -- smolagents ------------------------------------------------------------------------------------


def caller(smolagents: Any, choose: Callable[[str], str]) -> Any:
    """A model of smolagents that calls the tool until the episode is over."""

    class Caller(smolagents.Model):  # type: ignore[misc]  # of an optional package
        def generate(self, messages: list[Any], **_: Any) -> Any:
            text = str(messages[-1].content)
            over = "episode is over" in text
            name = "final_answer" if over else "press"
            arguments = {"answer": "done"} if over else {"colour": choose(text)}
            function = smolagents.models.ChatMessageToolCallFunction(name=name, arguments=arguments)
            call = smolagents.models.ChatMessageToolCall(function, id="1", type="function")
            return smolagents.ChatMessage(role="assistant", content="", tool_calls=[call])

    return Caller()


def test_smolagents_plays_through_the_tools() -> None:
    smolagents = pytest.importorskip("smolagents", reason="pip install smolagents")

    def colour(text: str) -> str:
        _, _, next_colour = text.rpartition("next is ")
        return next(colour for colour in COLOURS if next_colour.startswith(colour))

    def agent(session: Session) -> None:
        tools = [smolagents.tool(tool) for tool in session.tools]
        assert tools[0].inputs["colour"]["enum"] == list(COLOURS)
        model = caller(smolagents, colour)
        player = smolagents.ToolCallingAgent(tools, model, verbosity_level=0)
        player.run(session.instruction, max_steps=session.horizon + 1)

    env = toy()
    for task in ("toy/gold-red", "toy/red-blue-red"):
        last = play_agent(agent, env, options={"task_id": task})[-1]
        assert last.failure is None and last.info["success"] and last.info["score"] == 1.0


# -- LangGraph -------------------------------------------------------------------------------------


def graph_agent(calls: Callable[[Session], list[dict[str, Any]]]) -> Callable[[Session], None]:
    """An agent of LangGraph whose model calls what ``calls`` says; nothing ends its loop."""
    pytest.importorskip("langgraph", reason="pip install langgraph")
    from langchain_core.messages import AIMessage
    from langgraph.graph import START, MessagesState, StateGraph
    from langgraph.prebuilt import ToolNode, tools_condition

    def agent(session: Session) -> None:
        def model(state: Any) -> Any:
            count = len(state["messages"])
            tool_calls = [{"id": f"{count}-{i}", **call} for i, call in enumerate(calls(session))]
            return {"messages": [AIMessage("", tool_calls=tool_calls)]}

        graph = StateGraph(MessagesState)
        graph.add_node("model", model)
        graph.add_node("tools", ToolNode(session.tools))
        graph.add_edge(START, "model")
        graph.add_conditional_edges("model", tools_condition)
        graph.add_edge("tools", "model")
        graph.compile().invoke({"messages": [("user", session.instruction)]})

    return agent


@pytest.mark.parametrize("family", ["ALFWorld", "TextWorld", "WebShop"])
def test_langgraph_plays_through_the_tools(family: str) -> None:
    env = gymnasium.make(f"agentgym/{family}-v0", grammar="tool_call")
    expert: Any = env.unwrapped

    def calls(session: Session) -> list[dict[str, Any]]:
        if session.over:
            return []
        name, arguments = call_of(expert.oracle_action())
        return [{"name": name, "args": arguments}]

    last = play_agent(graph_agent(calls), env, options={"split": "test", "index": 0})[-1]
    assert last.failure is None and last.info["success"]


def test_langgraph_stops_when_the_episode_has_long_been_over() -> None:
    over_flags = []

    def calls(session: Session) -> list[dict[str, Any]]:
        over_flags.append(session.over)
        return [{"name": "press", "args": {"colour": "blue"}}]

    last = play_agent(graph_agent(calls), toy(horizon=3), options=GOLD_RED)[-1]
    assert last.failure is None and last.info["stop_reason"] == "horizon"
    assert len(over_flags) == 3 + 11  # its own limit is ten thousand steps

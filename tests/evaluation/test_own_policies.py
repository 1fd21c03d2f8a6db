"""Policies of one's own are evaluated alike, whether given as objects or by name."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import gymnasium
import pytest

from agentgym import Leaderboard
from agentgym.cli import main
from agentgym.errors import ConfigurationError
from agentgym.evaluation import Limits, Prices, evaluate, read_report
from agentgym.evaluation.policy_sources import policy_source
from agentgym.evaluation.protocol_terms import find_setup, resolve_terms
from tests.toy import TOY_ID

SLIP = """
TURNS = iter(range(10**6))

def slip(observation, info):
    return None if next(TURNS) == 7 else f"press {observation.split()[-1]}"

async def slip_later(observation, info):
    return slip(observation, info)

class Slip:
    def act(self, observation, info):
        return slip(observation, info)

class SlipLater:
    async def act(self, observation, info):
        return slip(observation, info)
"""

MEETING = """
import asyncio, threading

class Meeting:
    now = most = 0
    lock = threading.Lock()

    def enter(self):
        with self.lock:
            Meeting.now += 1
            Meeting.most = max(self.most, self.now)

    def leave(self):
        with self.lock:
            Meeting.now -= 1

    async def answer(self, observation):
        self.enter()
        for _ in range(400):  # until the others have come, if there are any
            if self.most < WANTED:
                await asyncio.sleep(0.005)
        self.leave()
        return f"press {observation.split()[-1]}"

async def function(observation, info):
    return await Meeting().answer(observation)

class Async:
    async def act(self, observation, info):
        return await Meeting().answer(observation)

class Copied:
    def act(self, observation, info):
        return asyncio.run(Meeting().answer(observation))

    def copy(self):
        return Copied()

def make_async():
    return Async()

def make_copied():
    return Copied()

def agent(session):
    session.call("press", {"colour": asyncio.run(Meeting().answer(session.observation))[6:]})

async def async_agent(session):
    session.call("press", {"colour": (await Meeting().answer(session.observation))[6:]})

def plain(observation, info):
    return asyncio.run(Meeting().answer(observation))

class Plain:
    def act(self, observation, info):
        return plain(observation, info)
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: Any) -> str:
    """Name of a module in which a test may write what it needs."""
    monkeypatch.syspath_prepend(tmp_path)
    name = "own_" + "".join(char if char.isalnum() else "_" for char in request.node.name)
    (tmp_path / f"{name}.py").write_text(SLIP + MEETING)
    return name


@pytest.mark.parametrize("by_name", [False, True])
@pytest.mark.parametrize("attribute", ["slip", "slip_later", "Slip", "SlipLater"])
def test_an_answer_that_is_no_text_ends_its_episode_which_counts(
    module: str, attribute: str, by_name: bool
) -> None:
    member = getattr(__import__(module), attribute)
    policy = f"{module}:{attribute}" if by_name else member
    report = evaluate(policy, TOY_ID, num_tasks=6, concurrency=1)
    assert report.errors == 0 and report.success == pytest.approx(5 / 6)
    [failed] = [row for row in report.rows if row.stop_reason == "stopped"]
    assert failed.error == "expected the policy to return the text of an action, got NoneType"


@pytest.mark.parametrize("by_name", [False, True])
@pytest.mark.parametrize(
    ("attribute", "together"),
    [
        *((name, 8) for name in ("function", "Async", "Copied", "make_async", "make_copied")),
        *((name, 8) for name in ("agent", "async_agent")),
        *((name, 1) for name in ("plain", "Plain")),
    ],
)
def test_as_many_episodes_play_at_the_same_time_however_a_policy_is_given(
    module: str, attribute: str, together: int, by_name: bool
) -> None:
    own_module: Any = __import__(module)
    own_module.WANTED = together
    policy = f"{module}:{attribute}" if by_name else getattr(own_module, attribute)
    report = evaluate(policy, TOY_ID, num_tasks=10, horizon=1)
    assert report.errors == 0 and own_module.Meeting.most == together


AGENTS = """
def agent(session):
    while not session.over:
        session.annotate({"prompt_tokens": 100, "completion_tokens": 20}, model="small")
        session.call("press", {"colour": session.observation.split()[-1]})

def told(session, model="large"):
    agent(session)

told.facts = lambda: {"model": "told", "api_key": "sk-live-8f3a1c77"}

def no_info(observation):
    return "press red"

def function(observation, info):
    return "press red"

function.facts = lambda: {"model": "asked"}
"""


@pytest.fixture
def agents(module: str, tmp_path: Path) -> Any:
    """A module of agents; its name is what it is called."""
    (tmp_path / f"{module}.py").write_text(AGENTS)
    return importlib.import_module(module)


@pytest.mark.parametrize("by_name", [False, True])
def test_an_agent_reports_its_model_tokens_and_cost(
    agents: Any, tmp_path: Path, by_name: bool
) -> None:
    policy = f"{agents.__name__}:agent" if by_name else agents.agent
    prices, out = Prices(1, 2), tmp_path / "out"
    report = evaluate(policy, TOY_ID, num_tasks=4, prices=prices, out=out)
    turns = sum(row.turns for row in report.rows)
    assert report.success == 1.0 and report.env_kwargs["grammar"] == "tool_call"
    assert (report.tokens["prompt"], report.tokens["completion"]) == (100 * turns, 20 * turns)
    assert report.cost == pytest.approx(140e-6 * turns)
    assert report.policy_facts["model"] == "small" and "model small" in report.markdown()
    assert read_report(out) == report
    assert Leaderboard([report]).to_dict()["rows"][0]["policy_facts"]["model"] == "small"
    longer = evaluate(
        policy, TOY_ID, num_tasks=5, out=out
    )  # the first four are read from their records
    assert longer.policy_facts["model"] == "small" and longer.rows[:4] == report.rows[:4]
    cut = evaluate(policy, TOY_ID, num_tasks=4, limits=Limits(tokens=120))
    assert {row.stop_reason for row in cut.rows} == {"token_limit"}


@pytest.mark.parametrize("by_name", [False, True])
@pytest.mark.parametrize(("attribute", "model"), [("told", "told"), ("function", "asked")])
def test_a_function_may_say_what_it_is(
    agents: Any, attribute: str, model: str, by_name: bool
) -> None:
    policy = f"{agents.__name__}:{attribute}" if by_name else getattr(agents, attribute)
    report = evaluate(policy, TOY_ID, num_tasks=2)
    assert report.policy_facts["model"] == model
    assert "sk-live" not in str(report.to_dict())


@pytest.mark.parametrize("by_name", [False, True])
def test_an_agent_needs_tools_where_a_grammar_is_given(agents: Any, by_name: bool) -> None:
    policy = f"{agents.__name__}:agent" if by_name else agents.agent
    refused = r"expected an environment with grammar='tool_call' for an agent.*got 'xml'"
    with pytest.raises(ConfigurationError, match=refused):
        evaluate(policy, TOY_ID, num_tasks=2, env_kwargs={"grammar": "xml"})
    with pytest.raises(ConfigurationError, match=refused):
        evaluate(policy, gymnasium.make(TOY_ID, grammar="xml"), num_tasks=2)


@pytest.mark.parametrize("by_name", [False, True])
def test_a_policy_function_without_info_is_no_agent(agents: Any, by_name: bool) -> None:
    policy = f"{agents.__name__}:no_info" if by_name else agents.no_info
    with pytest.raises(ConfigurationError, match=r"a function of \(observation, info\)"):
        evaluate(policy, TOY_ID, num_tasks=2)


def test_the_command_chooses_the_grammar_of_an_agent(
    agents: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name, out = f"{agents.__name__}:agent", tmp_path / "out"
    flags = ["eval", TOY_ID, "--policy", name, "--num-tasks", "3", "--no-scale"]
    assert main([*flags, "--out", str(out)]) == 0
    assert read_report(out).env_kwargs == {"grammar": "tool_call"}
    assert main([*flags, "--policy", "random", "--out", str(tmp_path / "several")]) == 0
    assert main([*flags, "--grammar", "native", "--out", str(tmp_path / "native")]) == 2
    assert "grammar='tool_call' for an agent" in " ".join(capsys.readouterr().err.split())


TOLD = """
import os
from agentgym.policies.chat import ChatConfig, ChatPolicy

class Told:
    def __init__(self, env=None):
        self.model = os.environ["OWN_MODEL"]

    def act(self, observation, info):
        return "press red"

    def facts(self):
        return {"model": self.model, "kind": "mine", "headers": {"api_key": "sk-live-8f3a1c77"}}

def make():
    return Told()

ONE = Told()

def chat():
    return ChatPolicy(ChatConfig("m", "http://127.0.0.1:9/v1", temperature=1.7), "own")
"""


@pytest.mark.parametrize("attribute", ["Told", "make", "ONE"])
def test_what_a_named_policy_says_of_itself_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, attribute: str
) -> None:
    (tmp_path / "own_told.py").write_text(TOLD)
    monkeypatch.syspath_prepend(str(tmp_path))
    name, out = f"own_told:{attribute}", tmp_path / "out"

    def play(model: str) -> Any:
        monkeypatch.setenv("OWN_MODEL", model)
        monkeypatch.delitem(sys.modules, "own_told", raising=False)
        return evaluate(name, TOY_ID, num_tasks=3, out=out)

    report = play("first")
    assert report.policy_facts["model"] == "first" and report.policy_facts["policy"] == name
    assert report.policy_facts["kind"] == "MODULE:ATTRIBUTE"
    assert report.policy_facts["headers"] == {"api_key": "[hidden]"}
    assert play("first") == report
    with pytest.raises(ConfigurationError, match=r"policy_facts.model was 'first' and is 'second'"):
        play("second")


def test_a_named_policy_departs_from_a_protocol_as_an_object_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own_told.py").write_text(TOLD)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "own_told", raising=False)
    monkeypatch.setenv("OWN_MODEL", "m")
    env = gymnasium.make("agentgym/WebShop-v0", data=None)
    chat = importlib.import_module("own_told").chat
    terms = resolve_terms(find_setup("verl-agent", "webshop"), env.unwrapped, None, 2, None, None)
    sources = [
        policy_source(policy, env, 0, terms.configured) for policy in (chat, "own_told:chat")
    ]
    by_object, by_name = (terms.used(source.facts) for source in sources)
    assert by_object is not None and by_name is not None
    assert by_object.departures == by_name.departures
    assert by_name.departures["policy.temperature"][1] == 1.7


class Later:
    """An object that is called like an async function."""

    async def __call__(self, observation: str, info: Any) -> str:
        return f"press {observation.split()[-1]}"


def test_an_object_that_answers_later_is_awaited() -> None:
    assert evaluate(Later(), TOY_ID, num_tasks=3).success == 1.0

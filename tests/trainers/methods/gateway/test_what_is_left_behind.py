"""Agents that leave calls, turns or environments behind cost nobody else anything."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from agentgym import Session
from agentgym.core.guard import GuardedEnv
from agentgym.errors import PolicyFailure
from agentgym.support.http_server import Refused
from tests.processes import alive
from tests.toy import ToyEnv
from tests.trainers import tiny_policy, toy_agents
from tests.trainers.methods.gateway.agent_runners import runner
from tests.trainers.methods.gateway.test_agent_runner import post
from tests.trainers.scripted_engine import ScriptedEngine
from trainers.methods.gateway import server
from trainers.methods.gateway.chat_answer import MOST_CALLS
from trainers.methods.gateway.chat_request import read_request
from trainers.methods.gateway.episode import AT_ONCE, AgentEpisode
from trainers.rollouts.engines.base import Completion

ASKED = [{"role": "user", "content": "press"}]


def first(session: Session) -> bool:
    """Whether an episode is that of the first task."""
    return session.goal.startswith("press green then gold")


def test_abandoned_calls_in_the_engine_do_not_affect_others() -> None:
    class HoldingEngine(ScriptedEngine):
        """Never ends the calls of one token."""

        def advance(self, timeout: float | None = None) -> list[tuple[int, Completion]]:
            waiting = [request for request in self._submitted if request.max_tokens == 1]
            self._submitted = [request for request in self._submitted if request.max_tokens > 1]
            completions = super().advance(timeout)
            self._submitted += waiting
            time.sleep(0.001)
            return completions

    engine = HoldingEngine(tiny_policy.chat(), lambda prompt: "press blue")

    def agent(session: Session) -> None:
        if not first(session):
            return toy_agents.words(session)

        def ask() -> None:
            with suppress(OSError, ValueError):  # the endpoint may be gone before it answers
                post(session, messages=ASKED, max_tokens=1)

        for _ in range(AT_ONCE):
            threading.Thread(target=ask, daemon=True).start()
        while engine.running < AT_ONCE:
            time.sleep(0.001)
        return None

    with runner(agent, engine=engine, slots=1) as agent_runner:
        for _ in range(2):
            trimmed, untouched = agent_runner.run(tiny_policy.tasks(2), horizon=3)
            assert not trimmed.turns and trimmed.stop_reason == "stopped"
            assert len(untouched.turns) == 3 and untouched.stop_reason == "horizon"
            assert engine.running == 0


def test_an_episode_that_ends_in_a_turn_does_not_block_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    in_turn, ending, go = threading.Event(), threading.Event(), threading.Event()
    waited: list[bool] = []

    class Slow(ToyEnv):
        def _act(self, action: str) -> Any:
            if action == "press red":
                in_turn.set()
                waited.append(go.wait(20))
            return super()._act(action)

    end = Session.end

    def end_and_signal(session: Session, *reasons: str) -> None:
        if first(session) and reasons:
            ending.set()
        end(session, *reasons)

    monkeypatch.setattr(Session, "end", end_and_signal)

    def agent(session: Session) -> None:
        if first(session):
            with ThreadPoolExecutor(1) as pool:
                turn = pool.submit(session.act, "press red")
                assert in_turn.wait(20)
                post(session, messages=[{"role": "user", "content": "a" * (5 << 20)}])
                turn.result()
        else:
            assert ending.wait(20)
            toy_agents.words(session)
            go.set()

    make = lambda: GuardedEnv(Slow())  # noqa: E731
    with runner(agent, lambda prompt: "press blue", slots=2, make=make) as agent_runner:
        swollen, untouched = agent_runner.run(tiny_policy.tasks(2), horizon=3)
    assert waited == [True] and untouched.stop_reason == "horizon"
    assert "sent more than 4,194,304 bytes" in swollen.error


@pytest.mark.parametrize(
    ("doors", "limit"), [(("/mcp", "/session"), MOST_CALLS), (("/responses",), AT_ONCE)]
)
def test_concurrent_requests_of_an_agent_do_not_block_others(
    doors: tuple[str, ...], limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of many requests behind a slow turn few wait for it: the others are refused at once."""
    spare = 4
    monkeypatch.setattr(server, "WORKERS", limit + spare)
    in_turn, full, go = threading.Event(), threading.Event(), threading.Event()
    refused: list[Any] = []

    class Slow(ToyEnv):
        def _act(self, action: str) -> Any:
            if action == "press red":
                in_turn.set()
                go.wait(20)
            return super()._act(action)

    call = {"name": "press", "arguments": {"colour": "red"}}
    bodies: dict[str, dict[str, Any]] = {
        "/session": call,
        "/mcp": {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call},
        "/responses": {"input": "press"},
    }

    def agent(session: Session) -> None:
        if not first(session):
            assert full.wait(20)
            toy_agents.ask(session, messages=ASKED)
            return go.set()
        with ThreadPoolExecutor(3 * limit) as pool:
            slow = pool.submit(session.act, "press red")
            assert in_turn.wait(20)
            futures = [pool.submit(post, session, door, **bodies[door])
                     for door in doors for _ in range(2 * limit // len(doors))]  # fmt: skip
            try:
                some = islice(as_completed(futures, timeout=10), limit - 1)
                refused.extend(future.result() for future in some)
            finally:
                full.set()
            slow.result()
        return None

    make = lambda: GuardedEnv(Slow())  # noqa: E731
    with runner(agent, lambda prompt: "press blue", slots=2, make=make) as agent_runner:
        # Turns that wait when the end does may come before it.
        busy, untouched = agent_runner.run(tiny_policy.tasks(2), horizon=2 * limit)
    assert [status for status, _ in refused] == [403] * (limit - 1)
    assert f"more than {limit} times at once" in busy.error
    assert len(untouched.turns) == 1


@pytest.mark.parametrize("in_reset", [True, False])
def test_an_environment_that_was_given_up_is_closed_and_tells_nothing_more(in_reset: bool) -> None:
    go, closed = threading.Event(), threading.Event()

    class Hanging(ToyEnv):
        def _start(self, task: Any, rng: Any) -> str:
            if in_reset:
                go.wait(20)
                raise OSError("too late")
            return super()._start(task, rng)

        def close(self) -> None:
            closed.set()

    def agent(session: Session) -> None:
        go.wait(20)

    make = lambda: GuardedEnv(Hanging())  # noqa: E731
    with runner(agent, slots=1, make=make, seconds=0.2) as agent_runner:
        (episode,) = agent_runner.run(tiny_policy.tasks(1), horizon=3)
        assert in_reset or closed.wait(20)
        error = episode.error
        assert "not done after 0.2 s" in error
        go.set()
        assert closed.wait(20)
        assert episode.error == error


def test_a_command_does_not_outlive_the_interpreter(tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    program = f"""
import threading, time
from pathlib import Path
from types import SimpleNamespace
from trainers.methods.gateway.agents import CommandAgent
agent = CommandAgent("sh -c 'echo $$ > {mark}; exec sleep 60'")
session = SimpleNamespace(base_url="", mcp_url="", api_key="", model="", over=False)
threading.Thread(target=agent, args=(session,), daemon=True).start()
while not Path({str(mark)!r}).exists() or not Path({str(mark)!r}).read_text().strip():
    time.sleep(0.01)
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=300)
    assert not alive(int(mark.read_text()))


def test_a_model_that_fails_leaves_no_score() -> None:
    def answers(request: Any) -> Any:
        raise PolicyFailure("the engine is gone")

    session = Session(GuardedEnv(ToyEnv()), options={"split": "test", "index": 0}, any_grammar=True)
    with pytest.raises(Refused, match="the engine is gone") as refused:
        AgentEpisode(session, answers).ask({"messages": ASKED, "model": None}, read_request)
    assert refused.value.status == 503
    assert session.stop_reason == "error" and isinstance(session.failure, PolicyFailure)

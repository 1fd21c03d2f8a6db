"""Ctrl-C ends async policies and agents where they wait."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import gymnasium
import pytest

from agentgym.agents import play_agent
from agentgym.errors import PolicyFailure
from agentgym.support.event_loop import EventLoop
from tests.toy import TOY_ID

ROOT = Path(__file__).parent.parent.parent
LIMIT = 60.0
"""Seconds after which nobody would still wait; the policies sleep for much longer."""
WAITING = """
import asyncio, pathlib, uuid

async def wait():
    (pathlib.Path(__file__).parent / f"{uuid.uuid4()}.waits").touch()
    await asyncio.sleep(300)

async def policy(observation, info):
    await wait()

class Policy:
    async def reset(self, observation, info):
        await wait()

    async def act(self, observation, info):
        return ""

async def stubborn(observation, info):
    while True:
        try:
            await wait()
        except asyncio.CancelledError:
            pass

async def agent(session):
    await wait()

def play(policy):
    import tests.toy
    from agentgym.evaluation import evaluate
    evaluate(policy, tests.toy.TOY_ID, num_tasks=4, concurrency=4)
"""
EVAL = ["-m", "agentgym", "eval", f"tests.toy:{TOY_ID}", "--num-tasks", "4", "--concurrency", "4"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("argv", "code", "expected_error"),
    [
        ([*EVAL, "--policy", "waiting:policy"], 130, "stopped\n"),
        ([*EVAL, "--policy", "waiting:Policy"], 130, "stopped\n"),
        ([*EVAL, "--policy", "waiting:agent", "--grammar", "tool_call"], 130, "stopped\n"),
        (["-c", "import waiting; waiting.play(waiting.policy)"], -signal.SIGINT, None),
        (["-c", "import waiting; waiting.play(waiting.Policy)"], -signal.SIGINT, None),
        (["-c", "import waiting; waiting.play(waiting.stubborn)"], -signal.SIGINT, None),
    ],
)
def test_ctrl_c_does_not_wait_for_coroutines(
    argv: list[str], code: int, expected_error: str | None, tmp_path: Path
) -> None:
    (tmp_path / "waiting.py").write_text(WAITING)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT), *sys.path])}
    command = subprocess.Popen(
        [sys.executable, *argv], cwd=tmp_path, env=env, text=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        while len([*tmp_path.glob("*.waits")]) < 4:
            assert command.poll() is None, command.communicate()
            time.sleep(0.02)
        command.send_signal(signal.SIGINT)
        _, error = command.communicate(timeout=LIMIT)
    finally:
        command.kill()
    assert command.returncode == code
    assert error == expected_error if expected_error else "KeyboardInterrupt" in error


def _in_thread(function: Callable[[], Any]) -> tuple[threading.Thread, list[BaseException]]:
    errors: list[BaseException] = []

    def call() -> None:
        try:
            function()
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    return thread, errors


def test_an_interrupt_ends_the_waits_of_its_owner_alone() -> None:
    started = threading.Semaphore(0)

    async def wait() -> None:
        started.release()
        await asyncio.sleep(300)

    with closing(EventLoop()) as loop:
        owner, other_owner = object(), object()
        first, failed = _in_thread(lambda: loop.run(wait(), owner))
        second, other_failures = _in_thread(lambda: loop.run(wait(), other_owner))
        assert started.acquire(timeout=LIMIT) and started.acquire(timeout=LIMIT)
        loop.interrupt(owner)
        first.join(LIMIT)
        assert isinstance(failed[0], PolicyFailure) and "the wait for it was interrupted" in str(
            failed[0]
        )
        assert second.is_alive() and not other_failures
        loop.interrupt(other_owner)
        second.join(LIMIT)
        assert isinstance(other_failures[0], PolicyFailure)

        async def return_one() -> int:
            return 1

        assert loop.run(return_one(), owner) == 1, "later ones are not affected"


def test_a_cancelled_async_agent_ends_its_episode_as_it_stands() -> None:
    waiting = threading.Event()

    async def agent(session: Any) -> None:
        session.call("press", {"colour": "red"})
        waiting.set()
        await asyncio.sleep(300)

    env = gymnasium.make(TOY_ID, grammar="tool_call")
    moments = play_agent(agent, env, options={"task_id": "toy/gold-red"}, cancelled=waiting.is_set)
    assert moments[-1].over and moments[-1].failure is None
    assert moments[-1].info["stop_reason"] == "stopped" and moments[-1].info["turn"] == 1

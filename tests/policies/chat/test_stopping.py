"""Who stops an evaluation does not wait for a model that does not answer."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agentgym.errors import PolicyFailure
from agentgym.evaluation import EpisodeResult, evaluate
from agentgym.policies import ChatConfig, ChatPolicy
from tests.policies.endpoint import Answer, Canned, ChatServer, press_next
from tests.toy import TOY_ID

pytest.importorskip("openai")

Serve = Callable[[Answer], ChatServer]
ROOT = Path(__file__).parents[3]
LONG = 3000.0
"""Seconds that nobody would wait here."""


@pytest.fixture
def silence(serve: Serve) -> Iterator[tuple[ChatServer, threading.Semaphore]]:
    """An endpoint that does not answer, and what counts those who have asked."""
    arrivals, over = threading.Semaphore(0), threading.Event()

    def answer(body: dict[str, Any], number: int) -> Any:
        arrivals.release()
        over.wait()
        return press_next(body, number)

    yield serve(answer), arrivals
    over.set()


def test_a_wait_for_an_answer_can_be_ended(
    silence: tuple[ChatServer, threading.Semaphore],
) -> None:
    server, arrivals = silence
    policy = ChatPolicy(ChatConfig("m", server.url, timeout=LONG), "")
    copied = policy.copy()
    failures: list[str] = []

    def act() -> None:
        try:
            policy.act("red", {})
        except PolicyFailure as failure:
            failures.append(str(failure))

    thread = threading.Thread(target=act)
    thread.start()
    assert arrivals.acquire(timeout=60)
    copied.interrupt()  # another's wait
    assert thread.is_alive()
    policy.interrupt()
    thread.join(60)
    assert "the wait for it was interrupted" in failures[0]


def test_a_wait_before_a_retry_can_be_ended(serve: Serve) -> None:
    arrivals = threading.Semaphore(0)

    def answer(body: dict[str, Any], number: int) -> Any:
        arrivals.release()
        return Canned({"error": {"message": "busy"}}, 429, headers={"retry-after": "100"})

    policy = ChatPolicy(ChatConfig("m", serve(answer).url), "")
    failures: list[PolicyFailure] = []

    def act() -> None:
        try:
            policy.act("red", {})
        except PolicyFailure as failure:
            failures.append(failure)

    thread = threading.Thread(target=act)
    thread.start()
    assert arrivals.acquire(timeout=60)
    while thread.is_alive():  # the wait begins when the answer has been read
        policy.interrupt()
        thread.join(0.02)
    assert len(failures) == 1


def test_an_interrupted_evaluation_ends_and_its_policy_can_go_on(serve: Serve) -> None:
    over = threading.Event()

    def answer(body: dict[str, Any], number: int) -> Any:
        if number > 30 and not over.is_set():
            over.wait()
        return press_next(body, number)

    class Enough(Exception):
        pass

    def stop(row: EpisodeResult) -> None:
        raise Enough

    policy = ChatPolicy(ChatConfig("m", serve(answer).url, timeout=LONG), "")
    with pytest.raises(Enough):
        evaluate(policy, TOY_ID, num_tasks=60, concurrency=4, on_episode=stop)
    over.set()
    report = evaluate(policy, TOY_ID, num_tasks=4)
    assert report.success == 1.0 and report.errors == 0


@pytest.mark.slow
def test_ctrl_c_ends_the_command_while_requests_wait(
    silence: tuple[ChatServer, threading.Semaphore], tmp_path: Path
) -> None:
    server, arrivals = silence
    argv = [
        "eval", f"tests.toy:{TOY_ID}", "--policy", "chat", "--model", "m", "--base-url", server.url,
        "--num-tasks", "8", "--concurrency", "4", "--timeout", str(LONG),
        "--out", str(tmp_path / "out"),
    ]  # fmt: skip
    command = subprocess.Popen(
        [sys.executable, "-m", "agentgym", *argv],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        for _ in range(4):
            assert arrivals.acquire(timeout=120)
        command.send_signal(signal.SIGINT)
        _, stderr = command.communicate(timeout=120)  # far less than the timeout of a request
    finally:
        command.kill()
    assert (command.returncode, stderr) == (130, "stopped\n")

"""The real engine in worker processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from agentgym.envs.alfworld.original.process import WorkerEngine
from agentgym.envs.alfworld.original.session import OriginalSession, open_original
from agentgym.errors import ConfigurationError, DataError, EnvFailure
from tests.envs.alfworld.tiny import IMPOSSIBLE, PLAN, TINY, needs_alfworld
from tests.processes import alive

pytestmark = [needs_alfworld,
              pytest.mark.skipif(os.name != "posix", reason="needs POSIX pipes")]  # fmt: skip
ROOT = Path(__file__).resolve().parents[4]


def engine_of(session: OriginalSession) -> WorkerEngine:
    """Return the worker of a session."""
    engine = session._engine
    assert isinstance(engine, WorkerEngine)
    return engine


def wait_for_end(pid: int, seconds: float = 20.0) -> bool:
    """Wait for the end of a process, zombies counting as alive."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


def test_the_second_session_has_a_worker_of_its_own() -> None:
    descriptors = set(os.listdir("/proc/self/fd"))
    with open_original(TINY) as first, open_original(TINY) as second:
        pid = engine_of(second).pid
        assert pid is not None
        for command in (*PLAN, "look"):
            first.step("look")
            answer = second.step(command)
        assert answer == ("You are facing the drawer 1. Next to it, you see nothing.", 1.0, True)
        assert second.won and not first.won
        second.restore(first.snapshot())
        assert second.state_text() == first.state_text()
    assert wait_for_end(pid, 0.1), "closing leaves a zombie or a worker"
    assert set(os.listdir("/proc/self/fd")) == descriptors
    with pytest.raises(EnvFailure, match="closed"):
        second.start(TINY)


def test_a_worker_that_dies_costs_one_game() -> None:
    with open_original(TINY, worker=True) as session:
        with pytest.raises(DataError, match="impossible"):
            session.start(IMPOSSIBLE)
        pid = engine_of(session).pid
        assert session.start(TINY) == session.intro() and engine_of(session).pid == pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        with pytest.raises(EnvFailure, match=r"died \(status -9\)"):
            session.step("look")
        with pytest.raises(EnvFailure, match="expected a running game"):
            session.step("look")
        assert wait_for_end(pid, 0.1)
        session.start(TINY)
        assert [session.step(command)[2] for command in PLAN][-1]


def test_a_worker_that_hangs_is_killed() -> None:
    with open_original(TINY, worker=True) as session:
        engine = engine_of(session)
        pid = engine.pid
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)
        engine._limit = 0.2
        with pytest.raises(EnvFailure, match=r"within 0\.2 s"):
            session.step("look")
        assert wait_for_end(pid, 0.1) and engine.pid is None


@pytest.mark.parametrize("limit", [0, -1, float("nan")])
def test_a_limit_is_above_zero(limit: float) -> None:
    with pytest.raises(ConfigurationError, match="above 0"):
        WorkerEngine(limit)


@pytest.mark.parametrize("end", ["pass", "os.kill(os.getpid(), 9)"])
def test_no_worker_outlives_its_parent(end: str) -> None:
    code = (
        "import os; from tests.envs.alfworld.tiny import TINY; "
        "from agentgym.envs.alfworld.original.session import open_original; "
        "session = open_original(TINY, worker=True); "
        f"print(session._engine.pid, flush=True); {end}"
    )
    command = [sys.executable, "-c", code]
    process = subprocess.run(command, stdout=subprocess.PIPE, text=True, cwd=ROOT, check=False)
    pid, deadline = int(process.stdout), time.monotonic() + 20
    while alive(pid) and time.monotonic() < deadline:  # An orphan may stay a zombie.
        time.sleep(0.05)
    assert not alive(pid)

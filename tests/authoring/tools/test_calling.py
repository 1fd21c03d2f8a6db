"""Calls with a time limit share a thread, until one is late."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
import time
from collections.abc import Iterator

import pytest

from agentgym.authoring.tools.calling import Caller

GATE = threading.Event()


def name() -> str:
    """Tell the thread."""
    return f"{threading.get_ident()}"


def wait() -> str:
    """Take too long."""
    GATE.wait(20)
    return "late"


def fail() -> None:
    """Raise."""
    raise LookupError("gone")


def interrupt() -> None:
    """Do as Ctrl-C does."""
    raise KeyboardInterrupt


@pytest.fixture
def caller() -> Iterator[Caller]:
    GATE.clear()
    caller = Caller(5.0)
    yield caller
    GATE.set()
    caller.close()


def workers() -> int:
    return sum(thread.name == "agentgym-tool" for thread in threading.enumerate())


def test_calls_share_a_thread_until_one_is_late(caller: Caller) -> None:
    workers_before = workers()
    answers = [caller.call(name, {}) for _ in range(3)]
    assert len({answer.text for answer in answers}) == 1 and answers[0].text != str(
        threading.get_ident()
    )
    assert caller.call(fail, {}) == ("error: LookupError: gone", True)
    assert caller.call(name, {}) == answers[0] and workers() == workers_before + 1
    caller._timeout = 0.05
    assert caller.call(wait, {}) == ("error: the call took longer than 0.05 seconds", True)
    assert caller.busy
    # What comes late is nobody's answer.
    caller._timeout = 5.0
    assert caller.call(name, {}).text not in (answers[0].text, "late")
    GATE.set()
    end = time.monotonic() + 10
    while caller.busy and time.monotonic() < end:
        time.sleep(0.01)
    assert not caller.busy
    caller.close()
    caller.close()
    while workers() > workers_before and time.monotonic() < end:
        time.sleep(0.01)
    assert workers() == workers_before


def test_a_caller_travels_and_goes_without_its_thread(caller: Caller) -> None:
    caller.call(name, {})
    for twin in (pickle.loads(pickle.dumps(caller)), copy.deepcopy(caller)):
        assert twin.call(name, {}) != caller.call(name, {})
        twin.close()
    with pytest.raises(KeyboardInterrupt):
        caller.call(interrupt, {})
    workers_before, dropped = workers(), Caller(5.0)
    dropped.call(name, {})
    del dropped
    gc.collect()
    end = time.monotonic() + 10
    while workers() > workers_before and time.monotonic() < end:
        time.sleep(0.01)
    assert workers() <= workers_before

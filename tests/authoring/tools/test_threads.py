"""Threads of calls end, whatever a call does."""

from __future__ import annotations

import threading

from agentgym.authoring.tools.calling import Caller


def _threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "agentgym-tool"]


def test_no_thread_outlives_its_caller() -> None:
    """Nor does one of a call inside a call, or of one that was late."""
    threads_before, release = set(_threads()), threading.Event()
    caller = Caller(5.0)
    assert caller.call(lambda: caller.call(lambda: 3, {}).text, {}).text == "3"
    late = Caller(0.05)
    assert late.call(release.wait, {}).failed and late.busy
    assert len(set(_threads()) - threads_before) <= 3
    release.set()
    caller.close()
    late.close()
    for thread in set(_threads()) - threads_before:
        thread.join(10)
        assert not thread.is_alive()
    assert not late.busy

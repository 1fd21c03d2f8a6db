"""Episodes that do not wait for each other: send, and receive one by one."""

from __future__ import annotations

import os
import signal
import threading
from typing import Any

import pytest

from agentgym.core.env import TextEnv
from agentgym.core.outcome import Outcome
from agentgym.errors import ConfigurationError, NotSupported, TaskNotFound
from agentgym.vector import TextVectorEnv
from tests.faulty import FaultyEnv
from tests.prepared import PreparedEnv
from tests.toy import ToyEnv

ACTIONS = ["roll", "press red", "press blue", "roll", "nonsense", "roll"]


@pytest.fixture(params=["sync", "thread", "process"])
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def collect(envs: TextVectorEnv) -> dict[int, Any]:
    """Receive until nothing is to come."""
    answers: dict[int, Any] = {}
    while batch := envs.receive():
        answers.update(batch)
    return answers


@pytest.mark.parametrize("workers", [1, 3])
def test_answers_are_those_of_lockstep(backend: str, workers: int) -> None:
    """Each slot goes on as soon as it has answered, and is some turns ahead of others."""
    streamed = TextVectorEnv.make(FaultyEnv, 5, backend=backend, workers=workers)
    lockstep = TextVectorEnv.make(FaultyEnv, 5)
    streams: list[list[Any]] = [[] for _ in range(5)]
    streamed.send_resets(range(5), range(5))
    while batch := streamed.receive():
        for slot, answer in batch:
            streams[slot].append(answer)
            if len(streams[slot]) <= len(ACTIONS) - slot:
                streamed.send_slots([slot], [ACTIONS[len(streams[slot]) - 1]])
    expected: list[list[Any]] = [[first] for first in lockstep.reset_slots(range(5), range(5))]
    for slot in range(5):
        for action in ACTIONS[: len(ACTIONS) - slot]:
            expected[slot] += lockstep.step_slots([slot], [action])
    assert streams == expected
    assert streamed.active == lockstep.active
    streamed.close()


def test_forks_go_on_alone_as_those_that_are_waited_for(backend: str) -> None:
    """Also in slots that never had an episode, and in one whose environment failed."""
    envs = TextVectorEnv.make(FaultyEnv, 4, backend=backend, workers=2)
    envs.reset_slots([0, 1], [0, 1])
    envs.step_slots([0], ["roll"])
    envs.step_slots([1], ["raise"])
    envs.send_snapshots([0])
    (fork,) = collect(envs).values()
    (snapshot,) = envs.snapshot_slots([0])
    assert (fork.observation, fork.info, fork.active) == (
        snapshot.observation, snapshot.info, True
    )  # fmt: skip
    outcomes = envs.step_slots([0], ["roll"])
    envs.send_restores([1, 2, 3], [fork] * 3)
    collected = collect(envs)
    assert collected == dict.fromkeys([1, 2, 3], (fork.observation, fork.info))
    assert envs.step_slots([1, 2, 3], ["roll"] * 3) == outcomes * 3
    assert envs.active == (True,) * 4
    envs.send_snapshots([2])
    with pytest.raises(ConfigurationError, match="still pending"):
        envs.send_slots([2], ["roll"])
    envs.close()


def test_what_cannot_be_forked_says_so(backend: str) -> None:
    envs = TextVectorEnv.make(Unforkable, 2, backend=backend)
    envs.reset_slots([0, 1])
    envs.send_snapshots([0])
    with pytest.raises(NotSupported, match="Unforkable cannot fork an episode"):
        collect(envs)
    envs.send_slots([0, 1], ["press red"] * 2)
    assert sorted(collect(envs)) == [0, 1]
    envs.close()


class Unforkable(ToyEnv):
    """An engine without snapshots."""

    def _snapshot(self) -> Any:
        return TextEnv._snapshot(self)


class Gated(ToyEnv):
    """Waits in its step until it is let go."""

    gate = threading.Event()

    def _act(self, action: str) -> Any:
        if action == "wait":
            assert self.gate.wait(60)
        return super()._act(action)


def test_a_quick_environment_does_not_wait_for_a_slow_one() -> None:
    envs = TextVectorEnv.make(Gated, 2, backend="thread", workers=2)
    envs.reset_slots([0, 1], [0, 1])
    envs.send_slots([0, 1], ["wait", "press red"])
    assert [slot for slot, _ in envs.receive()] == [1]
    assert envs.receive(timeout=0.0) == []
    with pytest.raises(ConfigurationError, match="still pending"):
        envs.send_slots([0], ["press red"])
    with pytest.raises(ConfigurationError, match="no pending"):
        envs.step_slots([1], ["press red"])
    envs.send_slots([1], ["press red"])
    assert [slot for slot, _ in envs.receive()] == [1]
    Gated.gate.set()
    assert [slot for slot, _ in envs.receive()] == [0]
    assert envs.receive() == []
    envs.close()


@pytest.mark.parametrize(
    ("backend", "how"),
    [("thread", "hang"), ("process", "hang"), ("process", "kill"), ("process", "exit")],
)
def test_a_hang_or_a_death_costs_its_episode_alone(backend: str, how: str) -> None:
    """One worker holds all of them where it is a process, and questions wait in its queue."""
    workers = 1 if backend == "process" else 3
    envs = TextVectorEnv.make(FaultyEnv, 3, backend=backend, workers=workers, step_timeout=1.0)
    expected = TextVectorEnv.make(FaultyEnv, 3)
    for member in (envs, expected):
        member.reset_slots(range(3), range(3))
        member.step_slots(range(3), ["roll"] * 3)
    for slot, action in enumerate(["roll", how, "roll"]):
        envs.send_slots([slot], [action])
    answers = collect(envs)
    assert answers[1][2] and answers[1][4]["stop_reason"] == "error"
    assert [answers[0], answers[2]] == expected.step_slots([0, 2], ["roll"] * 2)
    envs.send_resets([1], [1])
    assert collect(envs)[1] == expected.reset_slots([1], [1])[0]
    assert not envs.step_slots([1], ["roll"])[0][2]
    envs.close()


def test_a_worker_killed_between_questions_costs_nothing() -> None:
    envs = TextVectorEnv.make(FaultyEnv, 2, backend="process", workers=1)
    expected = TextVectorEnv.make(FaultyEnv, 2)
    for member in (envs, expected):
        member.reset_slots(range(2), range(2))
        member.step_slots(range(2), ["roll"] * 2)
    os.kill(envs._backend.pids[0], signal.SIGKILL)  # type: ignore[attr-defined]
    envs.send_slots([0], ["roll"])
    envs.send_slots([1], ["roll"])
    answers = collect(envs)
    assert [answers[0], answers[1]] == expected.step_slots(range(2), ["roll"] * 2)
    envs.close()


def test_a_mistake_is_raised_and_the_others_still_answer(backend: str) -> None:
    envs = TextVectorEnv.make(FaultyEnv, 3, backend=backend, workers=1)
    options = [None, {"split": "test", "index": 10**6}, None]
    envs.send_resets(range(3), range(3), options)
    answers: dict[int, Any] = {}
    with pytest.raises(TaskNotFound):
        while len(answers) < 3:
            answers.update(envs.receive())
    answers.update(collect(envs))
    assert sorted(answers) == [0, 2]
    envs.send_resets([1], [1])
    assert sorted(collect(envs)) == [1]
    envs.close()


def test_abandoned_slots_can_be_reset(backend: str) -> None:
    envs = TextVectorEnv.make(FaultyEnv, 2, backend=backend, workers=2)
    envs.reset_slots([0, 1], [0, 1])
    envs.send_slots([0], ["roll"])
    envs.abandon_slots()
    assert envs.active == (False, True)
    assert envs.receive() == []
    fresh = TextVectorEnv.make(FaultyEnv, 1)
    assert envs.reset_slots([0], [0]) == fresh.reset_slots([0], [0])
    assert envs.step_slots([0], ["roll"]) == fresh.step_slots([0], ["roll"])
    envs.close()


class BlockedEnv(ToyEnv):
    """Blocks while it acts on ``roll``, until it is released."""

    begun, released = threading.Event(), threading.Event()

    def _act(self, action: str) -> Outcome:
        if action == "roll":
            self.begun.set()
            assert self.released.wait(60)
        return super()._act(action)


def test_a_finished_turn_is_dropped_when_slots_are_abandoned() -> None:
    """Its thread goes on with the next turn, which is given up once and not for both."""
    envs = TextVectorEnv.make(BlockedEnv, 2, backend="thread", workers=1)
    first = envs.reset_slots([0, 1], [0, 1])
    envs.send_slots([0, 1], ["press red", "roll"])
    assert BlockedEnv.begun.wait(60)  # the only thread has finished the turn of slot 0
    envs.abandon_slots()
    BlockedEnv.released.set()
    assert envs.active == (False, False) and envs.receive() == []
    assert envs.reset_slots([0, 1], [0, 1]) == first
    assert len(envs.step_slots([0, 1], ["press red", "roll"])) == 2
    envs.close()


def test_turns_sent_together_are_prepared_together() -> None:
    envs = TextVectorEnv.make(PreparedEnv, 3)
    envs.reset_slots(range(3), range(3))
    envs.send_slots([0, 2], ["press red"] * 2)
    envs.send_slots([1], ["press red"])
    looked_up = {slot: step[4]["details"]["looked_up"] for slot, step in collect(envs).items()}
    assert looked_up == {0: 2, 2: 2, 1: 1}

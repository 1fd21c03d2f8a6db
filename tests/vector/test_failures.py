"""What a member of a vector environment does wrong costs its own episode, and nothing else."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import psutil
import pytest

from agentgym.core.info import Info
from agentgym.errors import EnvFailure
from agentgym.vector import TextVectorEnv
from agentgym.vector.formats import batch
from tests.faulty import RAISED, RESET_GARBAGE, STEP_GARBAGE, GarbageEnv, SlowEnv
from tests.toy import ToyEnv

ROOT = Path(__file__).resolve().parents[2]
BACKENDS = ("sync", "thread", "process")
SEPARATE = ("process", "ray")
"""Back ends whose results are sent between processes."""
UNSENDABLE = ("lock info", "unreadable info")


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def assert_failed(step: tuple[Any, ...]) -> str:
    observation, reward, terminated, truncated, info = step
    assert (reward, terminated, truncated) == (0.0, True, False)
    assert info["stop_reason"] == "error" and info["error"] in observation
    json.dumps(info)
    return str(info["error"])


# -- garbage -----------------------------------------------------------------------------------


def test_garbage_of_a_step_costs_one_episode(backend: str) -> None:
    """No transition of the others is lost, and the slot plays on after its next reset."""
    envs = TextVectorEnv.make(GarbageEnv, 3, backend=backend, workers=1)
    reference = GarbageEnv()
    bad_answers = [*STEP_GARBAGE, *RAISED, *(UNSENDABLE if backend in SEPARATE else ())]
    for kind in bad_answers:
        envs.reset_slots(range(3), range(3))
        first = envs.step_slots(range(3), ["press red", "press red", "press red"])
        assert not any(step[2] for step in first)
        results = envs.step_slots(range(3), ["press blue", kind, "press gold"])
        assert assert_failed(results[1]), kind
        assert results[1][4]["turn"] == 2
        for slot, action in ((0, "press blue"), (2, "press gold")):
            reference.reset(seed=slot)
            reference.step("press red")
            assert results[slot] == reference.step(action), kind
        assert envs.active == (True, False, True)
        (beginning,) = envs.reset_slots([1], [9])
        assert beginning == reference.reset(seed=9), kind
        assert envs.step_slots([1], ["press red"])[0] == reference.step("press red"), kind
    assert envs.restarts == 0
    envs.close()


def test_garbage_of_a_reset_costs_one_episode(backend: str) -> None:
    bad_answers = [*RESET_GARBAGE, *RAISED, *(UNSENDABLE if backend in SEPARATE else ())]
    options = [{"split": "train", "index": index} for index in (0, 1, 2)]
    envs = TextVectorEnv.make(GarbageEnv, 3, backend=backend, workers=1)
    for kind in bad_answers:
        envs.set_attr("bad_reset", kind)
        results = envs.reset_slots(range(3), range(3), options)
        assert [info["stop_reason"] for _, info in results] == ["", "error", ""], kind
        steps = envs.step_slots(range(3), ["press red"] * 3)
        assert assert_failed(steps[1]) == results[1][1]["error"]
        assert not steps[0][2] and not steps[2][2]
        assert envs.reset_slots([1], [1], options[:1])[0][1]["stop_reason"] == ""
        assert envs.step_slots([1], ["press red"])[0][4]["turn"] == 1
    assert envs.restarts == 0
    envs.close()


def test_the_reason_states_expected_and_actual_value(backend: str) -> None:
    envs = TextVectorEnv.make(GarbageEnv, 1, backend=backend)
    envs.reset_slots([0])
    assert "expected step() to return (str, a finite float, bool, bool, dict), got NoneType" in (
        assert_failed(envs.step_slots([0], ["none"])[0])
    )
    envs.reset_slots([0])
    assert "(str, nan, False, False, dict)" in assert_failed(envs.step_slots([0], ["nan"])[0])
    envs.close()


def test_numpy_transitions_become_plain_ones() -> None:
    class Numpy(ToyEnv):
        def step(self, action: str) -> Any:
            observation, reward, _, _, info = super().step(action)
            return observation, np.float32(reward), np.bool_(False), np.bool_(True), info

    envs = TextVectorEnv([Numpy])
    envs.reset_slots([0])
    step = envs.step_slots([0], ["press red"])[0]
    assert [type(part) for part in step] == [str, float, bool, bool, Info]


def test_calls_that_raise_anything_are_raised_alone(backend: str) -> None:
    envs = TextVectorEnv.make(GarbageEnv, 2, backend=backend, workers=1)
    envs.reset_slots([0, 1], [0, 1])
    for kind, error in RAISED.items():
        with pytest.raises(type(error)):
            envs.call_slots([1], "answer", kind)
    if backend in SEPARATE:
        for kind in ("lock", "unreadable"):
            with pytest.raises(EnvFailure, match="cannot be sent between processes"):
                envs.call_slots([1], "answer", kind)
    assert envs.step_slots([0, 1], ["press red", "press red"])[1][4]["turn"] == 1
    assert envs.restarts == 0
    envs.close()


def test_odd_infos_pass_the_gymnasium_face() -> None:
    class Odd(ToyEnv):
        def step(self, action: str) -> Any:
            *rest_of_step, info = super().step(action)
            return *rest_of_step, {**info, "big": 10**30, "mixed": [1, "a"], "turn": "third"}

    envs = TextVectorEnv([Odd, ToyEnv], autoreset_mode="NextStep")
    envs.reset(seed=0)
    infos = envs.step(["press red", "press red"])[4]
    assert infos["big"].tolist() == [10**30, 0]
    assert batch([{"a": 2**63}, {"a": 1}])["a"].tolist() == [2**63, 1]


# -- what is not the member's fault ------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("how", ["sigterm", "ctrl-c"])
def test_the_end_of_the_program_is_no_failure_of_an_environment(how: str, backend: str) -> None:
    """A handler that ends the program does so while a member runs, too."""
    code = f"""
import signal, sys
from agentgym.vector import TextVectorEnv
from tests.faulty import FaultyEnv
signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
envs = TextVectorEnv.make(FaultyEnv, 2, backend={backend!r}, workers=2)
envs.reset_slots([0, 1])
print("ready", flush=True)
envs.step_slots([0, 1], ["roll", "hang"])
print("swallowed", flush=True)
"""
    child = subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    time.sleep(0.3)
    child.send_signal(signal.SIGTERM if how == "sigterm" else signal.SIGINT)
    out, err = child.communicate(timeout=60)
    assert "swallowed" not in out
    if how == "sigterm":
        assert child.returncode == 7
    else:
        assert child.returncode == -signal.SIGINT and "KeyboardInterrupt" in err


# -- recovery ----------------------------------------------------------------------------------


def count_operations(envs: TextVectorEnv) -> int:
    """Return how many operations the parent keeps, of all slots together."""
    histories = envs._backend._histories  # type: ignore[attr-defined]
    return sum(len(history.operations) for history in histories if history is not None)


def test_histories_of_forks_are_bounded() -> None:
    envs = TextVectorEnv.make(partial(SlowEnv, ballast=4000), 2, backend="process", workers=1)
    envs.reset_slots([0, 1], [0, 1])
    memory_before = psutil.Process().memory_info().rss
    for _ in range(800):
        forks = envs.snapshot_slots([0, 1])
        envs.step_slots([0, 1], ["roll", "roll"])
        envs.restore_slots([0, 1], forks[::-1])
    assert count_operations(envs) <= 4
    assert psutil.Process().memory_info().rss - memory_before < 30e6
    expected = envs.step_slots([0, 1], ["roll", "roll"])
    envs.restore_slots([0, 1], forks[::-1])
    psutil.Process(envs._backend.pids[0]).kill()  # type: ignore[attr-defined]
    assert envs.step_slots([0, 1], ["roll", "roll"]) == expected
    assert envs.restarts == 1
    envs.close()


def test_histories_of_long_episodes_are_bounded() -> None:
    """Steps, reads and attributes that are set again and again; what was set survives."""
    make = partial(TextVectorEnv.make, SlowEnv, 2)
    envs, expected = make(backend="process", workers=1), make()
    for member in (envs, expected):
        member.reset_slots([0, 1], [0, 1])
        for turn in range(900):
            member.step_slots([0, 1], ["roll", "wait"])
            member.get_attr("turn")
            member.set_attr("default_horizon", 10 + turn)
    assert count_operations(envs) <= 2 * 2 * 300
    psutil.Process(envs._backend.pids[0]).kill()  # type: ignore[attr-defined]
    assert envs.step_slots([0, 1], ["roll", "wait"]) == expected.step_slots(
        [0, 1], ["roll", "wait"]
    )
    assert envs.get_attr("default_horizon") == expected.get_attr("default_horizon") == (909, 909)
    assert envs.reset_slots([0, 1]) == expected.reset_slots([0, 1])
    envs.close()
    expected.close()


@pytest.mark.slow
def test_a_neighbours_hang_does_not_make_the_others_wait() -> None:
    """Bringing back episodes of many slow turns means to repeat a few of them."""
    seconds, turns = 0.02, 40
    make = partial(SlowEnv, seconds=seconds)
    envs = TextVectorEnv.make(make, 4, backend="process", workers=1, step_timeout=2.0)
    reference = TextVectorEnv.make(SlowEnv, 4)
    for member in (envs, reference):
        member.reset_slots(range(4), range(4))
        for _ in range(turns):
            member.step_slots(range(4), ["roll"] * 4)
    # Each has 0.1 s and the turn that reached it at most: 6 turns, and not 40.
    assert count_operations(envs) <= 4 * 7
    results = envs.step_slots(range(4), ["roll", "hang", "roll", "roll"])
    assert_failed(results.pop(1))
    assert results == reference.step_slots([0, 2, 3], ["roll"] * 3)
    envs.close()


@pytest.mark.parametrize("wrapped", [False, True])
def test_wrappers_with_a_memory_are_brought_back_too(wrapped: bool) -> None:
    """A snapshot does not hold a time limit's count, so such an episode is repeated whole."""

    def make() -> gymnasium.Env[Any, Any]:
        env: gymnasium.Env[Any, Any] = SlowEnv(seconds=0.01)
        return gymnasium.wrappers.TimeLimit(env, 40) if wrapped else env

    envs = TextVectorEnv([make], backend="process", workers=1)
    reference = TextVectorEnv([make])
    for member in (envs, reference):
        member.reset_slots([0], [0])
        for _ in range(35):
            member.step_slots([0], ["roll"])
        member.restore_slots([0], member.snapshot_slots([0]))
    psutil.Process(envs._backend.pids[0]).kill()  # type: ignore[attr-defined]
    for _ in range(5):
        assert envs.step_slots([0], ["roll"]) == reference.step_slots([0], ["roll"])
    assert envs.active == reference.active == ((not wrapped),)
    envs.close()


def test_a_family_without_snapshots_is_repeated_from_its_reset() -> None:
    class NoForks(SlowEnv):
        def _snapshot(self) -> Any:
            return super(ToyEnv, self)._snapshot()

    envs = TextVectorEnv([partial(NoForks, seconds=0.01)] * 2, backend="process", workers=1)
    reference = TextVectorEnv([NoForks] * 2)
    for member in (envs, reference):
        member.reset_slots([0, 1], [3, 4])
        for _ in range(30):
            member.step_slots([0, 1], ["roll", "roll"])
    os.kill(envs._backend.pids[0], signal.SIGKILL)  # type: ignore[attr-defined]
    assert envs.step_slots([0, 1], ["roll"] * 2) == reference.step_slots([0, 1], ["roll"] * 2)
    envs.close()


def test_an_unknown_method_is_repeated() -> None:
    class Levers(SlowEnv):
        def pull(self) -> int:
            self.np_random.integers(10)
            return 1

    envs, reference = (
        TextVectorEnv([Levers], backend=backend, workers=1) for backend in ("process", "sync")
    )
    for member in (envs, reference):
        member.reset_slots([0], [0])
        for _ in range(300):
            member.call("pull")
            member.step_slots([0], ["roll"])
    os.kill(envs._backend.pids[0], signal.SIGKILL)  # type: ignore[attr-defined]
    assert envs.step_slots([0], ["roll"]) == reference.step_slots([0], ["roll"])
    envs.close()

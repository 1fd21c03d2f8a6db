"""The back end ray on a local Ray with two workers: what every back end promises, and its own."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import gymnasium
import psutil
import pytest

from agentgym.cli import main
from agentgym.errors import DependencyNotInstalled, EnvFailure
from agentgym.evaluation import read_report
from agentgym.vector import TextVectorEnv
from agentgym.vector.ray_actors import connected
from tests.evaluation import test_broken_episodes as broken
from tests.evaluation import test_raising_methods as raising
from tests.evaluation.test_broken_episodes import registered
from tests.processes import alive
from tests.toy import TOY_ID, ToyEnv
from tests.vector import test_failures as failures
from tests.vector import test_vector as shared
from tests.vector.test_vector import act, assert_failed, faulty, play, wait_for

ray = pytest.importorskip("ray", reason="the back end ray needs the extra ray")
pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]
__all__ = ["registered"]

CHECKS: list[Callable[[str], None]] = [
    shared.test_slots_equal_single_environments,
    shared.test_snapshots_fork_into_other_slots,
    shared.test_calls_and_attributes,
    shared.test_the_callers_mistakes_are_raised,
    shared.test_wrong_construction,
    failures.test_garbage_of_a_step_costs_one_episode,
    failures.test_garbage_of_a_reset_costs_one_episode,
    failures.test_calls_that_raise_anything_are_raised_alone,
]
"""Tests of every back end that are worth the start of actors here."""


@pytest.fixture(scope="module", autouse=True)
def local_ray() -> Iterator[None]:
    """One Ray for all tests of this file; who starts it leaves first, and the last user ends it."""
    with ExitStack() as first:
        first.enter_context(connected())
        with connected():
            first.close()
            yield
    assert not ray.is_initialized()


@pytest.fixture(autouse=True)
def no_leaks() -> Iterator[None]:
    yield
    gc.collect()
    assert wait_for(lambda: not workers() and not actors(), 20.0), "a worker was left behind"


def children(words: str) -> list[psutil.Process]:
    """Return the processes below this one with these words in their command line."""
    matches = []
    for process in psutil.Process().children(recursive=True):
        try:
            if any(words in part for part in process.cmdline()):
                matches.append(process)
        except psutil.NoSuchProcess:
            continue
    return matches


def actors() -> list[psutil.Process]:
    return children("ray::EnvActor")


def workers() -> list[psutil.Process]:
    return children("agentgym.vector.worker")


def kill_actor(envs: TextVectorEnv, index: int) -> None:
    """Have Ray kill one of two actors; until it has gone it may answer once more."""
    ray.kill(envs._backend._workers[index]._actor)  # type: ignore[attr-defined]
    assert wait_for(lambda: len(actors()) == 1), "the actor that Ray killed still runs"


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_what_every_back_end_promises(check: Callable[[str], None]) -> None:
    check("ray")


@pytest.mark.parametrize("backend", ["ray"])  # so that the fast selection meets it here
def test_results_and_failures_are_those_of_every_back_end(backend: str) -> None:
    script = {(1, 3): "raise", (2, 5): "fail", (4, 2): "exit"}
    assert play(faulty(5, backend=backend, workers=2), script=script) == play(
        faulty(5), script=script
    )


def test_a_crash_and_a_hang_cost_one_episode_each() -> None:
    script = {(1, 2): "hang", (2, 4): "kill"}
    options: dict[str, Any] = {"workers": 2, "step_timeout": 2.0}
    log = play(faulty(4, backend="ray", **options), script=script)
    assert_failed(log[1][3], "within 2 s")
    assert_failed(log[2][5], "the worker died")
    assert log == play(faulty(4, backend="process", **options), script=script)


def test_a_killed_actor_costs_nothing_that_can_be_repeated() -> None:
    """By Ray, by a signal, and by the loss of the worker process beside it."""
    envs, expected = faulty(4, backend="ray", workers=2), faulty(4)
    for member in (envs, expected):
        member.reset_slots(range(4), range(4))
    for turn in range(4):
        if turn == 1:
            kill_actor(envs, 0)
        elif turn == 2:
            actors()[0].kill()
        elif turn == 3:
            psutil.Process(envs._backend.pids[1]).kill()  # type: ignore[attr-defined]
        actions = [act(slot, turn) for slot in range(4)]
        assert envs.step_slots(range(4), actions) == expected.step_slots(range(4), actions)
    assert envs.restarts == 3
    assert envs.reset_slots([1, 2]) == expected.reset_slots([1, 2])
    envs.close()


def test_actors_that_die_among_forks_cost_none_of_them() -> None:
    """Forks, forks of forks, and a snapshot that outlives the actor that it was taken in."""
    envs, expected = faulty(4, backend="ray", workers=2), faulty(4)
    answers: list[list[Any]] = []
    for member in (envs, expected):
        real = member is envs
        member.reset_slots([0], [5])
        log: list[Any] = [member.step_slots([0], ["roll"])]
        first = member.snapshot_slots([0])[0]
        log.append(member.restore_slots([1, 2, 3], [first] * 3))
        if real:
            kill_actor(envs, 0)
        log.append(member.step_slots(range(4), ["roll", "press red", "roll", "look"]))
        second = member.snapshot_slots([2])[0]
        if real:
            actors()[0].kill()
        log.append(member.restore_slots([1, 3], [second, first]))
        if real:
            psutil.Process(envs._backend.pids[1]).kill()  # type: ignore[attr-defined]
        log += [member.step_slots(range(4), ["roll"] * 4) for _ in range(2)]
        log.append(member.restore_slots([0], [first]))
        log.append(member.step_slots([0], ["roll"]))
        answers.append(log)
    assert answers[0] == answers[1] and envs.restarts == 3
    envs.close()


def test_a_killed_actor_costs_only_its_own_episodes_where_they_cannot_be_repeated() -> None:
    envs, expected = faulty(4, backend="ray", workers=2), faulty(4)
    for member in (envs, expected):
        member.reset_slots(range(4), range(4))
        member.step_slots(range(4), ["pid"] * 4)  # which differs in another process
    kill_actor(envs, 1)
    steps = envs.step_slots(range(4), ["roll"] * 4)
    for slot in (1, 3):
        assert_failed(steps[slot], "could not be repeated")
    assert [steps[0], steps[2]] == expected.step_slots([0, 2], ["roll"] * 2)
    assert envs.reset_slots([1, 3], [5, 6]) == expected.reset_slots([1, 3], [5, 6])
    envs.close()


def test_actors_end_with_the_object() -> None:
    envs = TextVectorEnv.make(ToyEnv, 2, backend="ray", workers=2)
    envs.reset_slots([0, 1])
    assert len(actors()) == len(workers()) == 2
    del envs  # the fixture checks that nothing is left


def test_ray_outlives_a_vector_environment_that_did_not_start_it() -> None:
    envs = gymnasium.make_vec("agentgym/WebShop-v0", num_envs=1, backend="ray")
    assert isinstance(envs, TextVectorEnv) and envs.backend == "ray"
    envs.close()
    envs.close()
    assert ray.is_initialized()


def test_an_actor_that_cannot_start_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentgym.vector.handle.START_SECONDS", 0.0)
    with pytest.raises(EnvFailure, match="within 0 s"):
        TextVectorEnv.make(ToyEnv, 1, backend="ray")


def test_the_evaluation_is_the_same(tmp_path: Path, capsys: Any) -> None:
    for name, flags in (("sync", ()), ("ray", ("--concurrency", "2"))):
        argv = ["eval", TOY_ID, "--policy", "oracle", "--num-tasks", "6", "--backend", name, *flags]
        assert main([*argv, "--out", str(tmp_path / name)]) == 0
    assert read_report(tmp_path / "sync") == read_report(tmp_path / "ray")


@pytest.mark.parametrize("where", ["step", "reset"])
@pytest.mark.usefixtures("registered")
def test_an_environment_that_raises_costs_one_episode(where: str) -> None:
    broken.test_an_environment_that_raises_costs_one_episode_in_every_back_end("ray", where)


def test_every_method_may_raise(tmp_path: Path) -> None:
    raising.test_every_method_may_raise_in_every_back_end(tmp_path, "ray", True)


def test_without_ray_the_command_that_installs_it_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(DependencyNotInstalled, match=r"-e \"\.\[ray\]"):
        TextVectorEnv.make(ToyEnv, 1, backend="ray")


def test_a_local_ray_ends_with_the_program() -> None:
    """In a program of its own, none of whose handlers of signals changes."""
    code = """
import signal, sys
from agentgym.vector import TextVectorEnv
from tests.faulty import FaultyEnv
signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
envs = TextVectorEnv.make(FaultyEnv, 2, backend="ray", workers=2)
envs.reset_slots([0, 1])
print("ready", flush=True)
envs.step_slots([0, 1], ["roll", "hang"])
print("swallowed", flush=True)
"""
    child = subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, env={**os.environ, "RAY_DEDUP_LOGS": "0"},
    )  # fmt: skip
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    below = psutil.Process(child.pid).children(recursive=True)
    time.sleep(0.3)
    child.terminate()
    out, err = child.communicate(timeout=60)
    assert child.returncode == 7, err
    assert "swallowed" not in out
    assert wait_for(lambda: not any(alive(process.pid) for process in below))

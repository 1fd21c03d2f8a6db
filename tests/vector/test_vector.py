from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import psutil
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from agentgym.core.spaces import UnicodeText
from agentgym.errors import ConfigurationError, EnvFailure, TaskNotFound
from agentgym.registration import FAMILIES
from agentgym.vector import TextVectorEnv, backends
from agentgym.vector.backends import preferred_backend
from agentgym.vector.formats import batch
from tests.faulty import FaultyEnv
from tests.prepared import BrokenPrepareEnv, PreparedEnv
from tests.processes import alive
from tests.toy import COLOURS, TOY_ID, ToyEnv

BACKENDS = ("sync", "thread", "process")
PATIENCE = 3.0
"""Seconds after which a turn counts as hung; others answer in time on a busy machine, too."""
ACTIONS = [*(f"press {colour}" for colour in COLOURS), "roll", "é\ud800", ""]
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def children() -> set[psutil.Process]:
    """Return the processes below this one, but for a browser's, which other tests share."""
    running = set()
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            if "chrom" not in process.name():
                running.add(process)
    return running


@pytest.fixture(autouse=True)
def no_leaks() -> Iterator[None]:
    children_before = children()
    yield
    gc.collect()
    new = children() - children_before
    survivors = psutil.wait_procs(new, timeout=60)[1]
    assert not survivors, f"processes left behind: {survivors}"


class WideEnv(ToyEnv):
    """Actions of another length than others take."""

    action_length = 2 * ToyEnv.action_length


def faulty(num_envs: int, **kwargs: Any) -> TextVectorEnv:
    return TextVectorEnv.make(FaultyEnv, num_envs, **kwargs)


def act(slot: int, turn: int) -> str:
    return ACTIONS[(3 * slot + turn) % len(ACTIONS)]


def play(envs: TextVectorEnv, turns: int = 12, script: dict[tuple[int, int], str] | None = None):
    """Play all slots; returns everything that came out, slot by slot."""
    slots = range(envs.num_envs)
    log: list[list[Any]] = [[] for _ in slots]
    for slot, result in zip(slots, envs.reset_slots(slots, list(slots)), strict=True):
        log[slot].append(result)
    for turn in range(turns):
        ended_slots = [slot for slot, active in enumerate(envs.active) if not active]
        for slot, result in zip(ended_slots, envs.reset_slots(ended_slots), strict=True):
            log[slot].append(result)
        actions = [(script or {}).get((slot, turn), act(slot, turn)) for slot in slots]
        for slot, step in zip(slots, envs.step_slots(slots, actions), strict=True):
            log[slot].append(step)
    envs.close()
    return log


# -- results ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {"backend": "thread", "workers": 3},
        {"backend": "process", "workers": 1},
        {"backend": "process", "workers": 3, "step_timeout": 30.0},
    ],
)
def test_every_back_end_gives_the_same_results(options: dict[str, Any]) -> None:
    script = {(1, 3): "raise", (2, 5): "fail", (4, 2): "exit"}
    expected = play(faulty(5), script=script)
    assert play(faulty(5, **options), script=script) == expected


def test_slots_equal_single_environments(backend: str) -> None:
    with_envs = faulty(3, backend=backend, workers=2)
    log = play(with_envs, turns=4)
    for slot in range(3):
        env = FaultyEnv()
        assert log[slot][0] == env.reset(seed=slot)
        for turn in range(4):
            assert log[slot][turn + 1] == env.step(act(slot, turn))


def test_only_the_chosen_slots_move(backend: str) -> None:
    envs = faulty(4, backend=backend, workers=2)
    envs.reset_slots(range(4), [0] * 4)
    envs.step_slots([2], ["press red"])
    turns = [result[4]["turn"] for result in envs.step_slots([3, 2, 0], ["x", "y", "z"])]
    assert turns == [1, 2, 1]
    ((_, info),) = envs.reset_slots([2], options=[{"split": "test", "index": 5, "horizon": 1}])
    assert (info["split"], info["turn"], info["horizon"]) == ("test", 0, 1)
    assert envs.step_slots([2], ["x"])[0][2:4] == (False, True)
    assert envs.active == (True, True, False, True)
    envs.close()


def test_groups_share_task_and_seed(backend: str) -> None:
    envs = faulty(8, backend=backend, workers=3)
    results = envs.reset_groups([{"split": "valid", "index": 3}, {}], 3, seed=7)
    assert len(results) == 6 and envs.active == (True,) * 6 + (False,) * 2
    assert results[0] == results[1] == results[2] and results[3] == results[4] == results[5]
    assert results[0][1]["split"] == "valid"
    rolls = [step[0] for step in envs.step_slots(range(6), ["roll"] * 6)]
    assert len(set(rolls[:3])) == len(set(rolls[3:])) == 1 != len(set(rolls))
    assert envs.reset_groups([{"split": "valid", "index": 3}, {}], 3, seed=7) == results
    envs.reset(seed=3)
    drawn = envs.reset_groups([{}], 2)
    envs.reset(seed=3)
    assert envs.reset_groups([{}], 2) == drawn and drawn[0] == drawn[1]
    with pytest.raises(ConfigurationError, match="num_envs=9"):
        envs.reset_groups([{}] * 3, 3)
    envs.close()


def test_snapshots_fork_into_other_slots(backend: str) -> None:
    envs = faulty(3, backend=backend, workers=2)
    envs.reset_slots([0, 1], [5, 6])
    envs.step_slots([0], ["roll"])
    fork = envs.snapshot_slots([0])[0]
    expected = envs.step_slots([0], ["roll"])
    observation, info = envs.restore_slots([1, 2], [fork, fork])[1]
    assert (observation, info["turn"]) == (fork.observation, 1)
    assert envs.step_slots([1, 2], ["roll", "roll"]) == expected * 2
    envs.close()


def test_calls_and_attributes(backend: str) -> None:
    envs = faulty(3, backend=backend, workers=2)
    envs.reset_slots(range(3), range(3))
    envs.step_slots([1], ["x"])
    assert envs.get_attr("turn") == (0, 1, 0)
    envs.set_attr("default_horizon", [1, 2, 3])
    assert envs.call_slots([2, 0], "default_horizon") == [3, 1]
    assert envs.call("oracle_action")[0].startswith("press ")
    with pytest.raises(AttributeError, match="nothing_like_it"):
        envs.call("nothing_like_it")
    envs.close()


# -- failures --------------------------------------------------------------------------------------


def assert_failed(step: tuple[Any, ...], words: str) -> None:
    observation, reward, terminated, truncated, info = step
    assert (reward, terminated, truncated) == (0.0, True, False)
    assert info["stop_reason"] == "error" and words in info["error"] and words in observation
    assert info["success"] is False and sum(info["reward_terms"].values()) == 0.0
    json.dumps(info)


@pytest.mark.parametrize(
    "action, words",
    [("raise", "ZeroDivisionError"), ("fail", "retriever is down"), ("exit", "SystemExit")],
)
def test_a_failure_costs_one_episode(backend: str, action: str, words: str) -> None:
    envs = faulty(3, backend=backend, workers=2)
    envs.reset_slots(range(3), range(3))
    first = envs.step_slots(range(3), ["roll"] * 3)
    results = envs.step_slots(range(3), ["roll", action, "roll"])
    assert_failed(results[1], words)
    assert set(results[1][4]) - {"error"} == set(first[1][4])
    assert results[1][4]["turn"] == 2 and results[1][4]["task_id"] == first[1][4]["task_id"]
    assert [result[2] for result in results] == [False, True, False]
    with pytest.raises(ConfigurationError, match="slot 1 has ended"):
        envs.step_slots([0, 1], ["roll", "roll"])
    envs.reset_slots([1])
    failed = envs.step_slots(range(3), ["roll", action, "roll"])[1]
    assert failed[4]["turn"] == 1 and not {"goal", "tools"} & set(failed[4])
    envs.close()


@pytest.mark.parametrize("how", ["raise", "crash", "hang"])
def test_a_failed_reset_is_a_failed_episode(backend: str, how: str) -> None:
    if (how != "raise" and backend == "sync") or (how, backend) == ("crash", "thread"):
        pytest.skip("nothing can contain this here")
    make = partial(FaultyEnv, bad_reset=how)
    envs = TextVectorEnv.make(make, 3, backend=backend, workers=2, reset_timeout=PATIENCE)
    options = [{"split": "train", "index": index} for index in (0, 1, 2)]
    results = envs.reset_slots(range(3), range(3), options)
    assert [info["stop_reason"] for _, info in results] == ["", "error", ""]
    good, bad = results[0][1], results[1][1]
    assert set(bad) - {"error"} == set(good) and results[1][0].startswith("error: ")
    steps = envs.step_slots(range(3), ["x"] * 3)
    assert_failed(steps[1], bad["error"])
    assert steps[1][4]["error"] == bad["error"]
    assert envs.reset_slots([1], [1], [{"split": "train", "index": 4}])[0][1]["stop_reason"] == ""
    assert envs.step_slots([1], ["x"])[0][4]["turn"] == 1
    envs.close()


@pytest.mark.slow
def test_a_hung_step_is_given_up_and_costs_one_episode() -> None:
    """And what follows it is the same on threads and processes."""
    script = {(1, 2): "hang"}
    calm, expected = play(faulty(4), turns=2), play(faulty(4))
    logs = [
        play(faulty(4, backend=backend, workers=2, step_timeout=PATIENCE), script=script)
        for backend in ("thread", "process")
    ]
    for log in logs:
        assert_failed(log[1][3], f"within {PATIENCE:g} s")
        for slot in range(4):
            assert log[slot][:3] == calm[slot]
            if slot != 1:
                assert log[slot] == expected[slot]
    assert logs[0] == logs[1]


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("action", ["crash", "kill"])
def test_a_dead_worker_costs_one_episode(action: str, workers: int) -> None:
    envs = faulty(5, backend="process", workers=workers)
    log = play(envs, script={(2, 4): action, (3, 4): action})
    expected = play(faulty(5))
    for slot in (0, 1, 4):
        assert log[slot] == expected[slot]
    for slot in (2, 3):
        assert log[slot][:5] == expected[slot][:5]
        assert_failed(log[slot][5], "the worker died")
    assert envs.restarts == 2


@pytest.mark.parametrize("backend", ["thread", "process"])
def test_an_interrupted_step_leaves_nothing_half_done(backend: str) -> None:
    def interrupt(signum: int, frame: Any) -> None:
        raise KeyboardInterrupt

    envs, expected = faulty(3, backend=backend, workers=2), faulty(3)
    for member in (envs, expected):
        member.reset_slots(range(3), range(3))
        member.step_slots(range(3), ["roll"] * 3)
    handler_before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        with pytest.raises(KeyboardInterrupt):
            envs.step_slots(range(3), ["roll", "hang", "roll"])
    finally:
        signal.signal(signal.SIGALRM, handler_before)
    results = envs.step_slots(range(3), ["roll"] * 3)
    if backend == "process":  # back to before the interrupted step
        assert results == expected.step_slots(range(3), ["roll"] * 3)
    else:  # a thread cannot be taken back: what was running is lost
        assert_failed(results[1], "has not been reset since")
    assert envs.reset_slots(range(3), range(3)) == expected.reset_slots(range(3), range(3))
    assert not any(result[2] for result in envs.step_slots(range(3), ["roll"] * 3))
    envs.close()
    expected.close()


def test_random_kills_change_nothing() -> None:
    rng = np.random.default_rng(0)
    earlier = psutil.Process().children()  # of tests before this one
    envs, expected = faulty(6, backend="process", workers=2), faulty(6)
    for member in (envs, expected):
        member.reset_slots(range(6), range(6))
    for turn in range(12):
        slots = [int(slot) for slot in rng.permutation(6)[: rng.integers(1, 7)]]
        actions = [act(slot, turn) for slot in slots]
        if turn % 4 == 1:
            children = psutil.Process().children()
            victims = [child.pid for child in children if child not in earlier]
            os.kill(int(rng.choice(victims)), signal.SIGKILL)
        results = envs.step_slots(slots, actions)
        assert results == expected.step_slots(slots, actions)
        ended_slots = [slot for slot, result in zip(slots, results, strict=True) if result[2]]
        assert envs.reset_slots(ended_slots) == expected.reset_slots(ended_slots)
    assert envs.restarts >= 3
    envs.close()
    expected.close()


def test_what_follows_a_dead_worker_is_reproducible() -> None:
    runs = [
        play(faulty(5, backend="process", workers=n), script={(2, 4): "kill"}) for n in (1, 2, 5)
    ]
    assert runs[0] == runs[1] == runs[2]


def test_a_worker_killed_from_outside_costs_nothing() -> None:
    envs = faulty(4, backend="process", workers=2)
    expected = faulty(4)
    for member in (envs, expected):
        member.reset_slots(range(4), range(4))
        member.reset_slots([0, 2])
        member.step_slots(range(4), ["roll"] * 4)
        member.restore_slots([1], member.snapshot_slots([3]))
    os.kill(int(envs.step_slots([0], ["pid"])[0][0]), signal.SIGKILL)
    expected.step_slots([0], ["pid"])
    results = envs.step_slots([1, 2, 3], ["roll"] * 3)
    assert results == expected.step_slots([1, 2, 3], ["roll"] * 3)
    assert envs.reset_slots([3]) == expected.reset_slots([3])
    # The process id that slot 0 was told differs in the new worker, which is not hidden.
    assert_failed(envs.step_slots([0], ["roll"])[0], "could not be repeated")
    envs.close()
    expected.close()


def test_a_random_stream_lost_with_its_worker_is_replaced_reproducibly() -> None:
    resets = []
    for _ in range(2):
        envs = faulty(2, backend="process", workers=1)
        envs.reset_slots([0, 1], [3, 4])
        envs.step_slots([0], ["raise"])  # keeps its stream, in the worker
        envs.step_slots([1], ["kill"])
        resets.append([envs.reset_slots([0, 1]), envs.reset_slots([0, 1])])
        envs.close()
    assert resets[0] == resets[1]
    assert len({info["task_id"] for results in resets[0] for _, info in results}) > 1


def test_a_call_that_takes_the_worker_down_is_raised() -> None:
    envs = faulty(3, backend="process", workers=1)
    envs.reset_slots(range(3), range(3))
    with pytest.raises(EnvFailure, match="slot 1"):
        envs.call_slots([1], "_break", "crash")
    assert not envs.step_slots([0], ["roll"])[0][2]
    assert_failed(envs.step_slots([1], ["roll"])[0], "the worker died")
    envs.close()


def test_the_callers_mistakes_are_raised(backend: str) -> None:
    envs = faulty(2, backend=backend, workers=1)
    with pytest.raises(ConfigurationError, match="horizont"):
        envs.reset_slots([0, 1], options=[{"horizont": 3}, None])
    with pytest.raises(TaskNotFound):
        envs.reset_slots([0], options=[{"split": "test", "index": 10**6}])
    with pytest.raises(ConfigurationError, match="never began"):
        envs.step_slots([0], ["x"])
    envs.reset_slots([0, 1])
    with pytest.raises(ConfigurationError, match="type str"):
        envs.step_slots([0], [None])  # type: ignore[list-item]
    with pytest.raises(ConfigurationError, match="different slots"):
        envs.step_slots([0, 0], ["x", "x"])
    with pytest.raises(ConfigurationError, match="different slots"):
        envs.step_slots([2], ["x"])
    with pytest.raises(ConfigurationError, match="one entry"):
        envs.step_slots([0, 1], ["x"])
    envs.close()
    with pytest.raises(ConfigurationError, match="closed"):
        envs.step_slots([0], ["x"])


def test_wrong_construction(backend: str) -> None:
    with pytest.raises(ConfigurationError, match="horizon"):
        TextVectorEnv.make(TOY_ID, 2, {"horizon": 0}, backend=backend)
    with pytest.raises(ConfigurationError, match="equal spaces"):
        TextVectorEnv([ToyEnv, partial(gymnasium.make, "CartPole-v1")], backend=backend)


def test_texts_of_different_lengths_share_the_widest_space(backend: str) -> None:
    envs = TextVectorEnv([ToyEnv, WideEnv, ToyEnv], backend=backend, workers=2)
    assert envs.single_action_space == UnicodeText(WideEnv.action_length)
    assert envs.single_observation_space == ToyEnv().observation_space
    envs.reset_slots([0, 1])
    assert [step[4]["turn"] for step in envs.step_slots([0, 1], ["roll", "roll"])] == [1, 1]
    envs.close()


def test_wrong_arguments() -> None:
    for kwargs in ({"backend": "dask"}, {"workers": 0, "backend": "thread"}, {"num_envs": 0}):
        with pytest.raises(ConfigurationError):
            TextVectorEnv.make(TOY_ID, **{"num_envs": 1, **kwargs})
    with pytest.raises(ConfigurationError, match="partial"):
        TextVectorEnv.make(ToyEnv, 2, horizon=3)
    with pytest.raises(ConfigurationError, match="autoreset_mode"):
        TextVectorEnv.make(ToyEnv, 2, autoreset_mode="sometimes")


# -- resources -------------------------------------------------------------------------------------


@pytest.fixture
def own_threads(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Count the slot threads that begin within the test; others come and go when they like."""
    monkeypatch.setattr(backends, "THREAD_NAME", "slots-of-this-test")
    return lambda: [thread.name for thread in threading.enumerate()].count("slots-of-this-test")


def wait_for(condition: Callable[[], bool], seconds: float = 60.0) -> bool:
    """Wait until a condition holds; however busy the machine is, it may take its time."""
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)
    return condition()


def test_close_twice_and_after_a_hang(backend: str, own_threads: Callable[[], int]) -> None:
    envs = faulty(2, backend=backend, workers=2)
    envs.reset(seed=0)
    assert own_threads() == (2 if backend == "thread" else 0)
    envs.close()
    envs.close()
    assert wait_for(lambda: own_threads() == 0)


def test_workers_end_with_the_object() -> None:
    child_count = len(psutil.Process().children())
    envs = faulty(2, backend="process", workers=2)
    envs.reset(seed=0)
    assert len(psutil.Process().children()) >= child_count + 2
    del envs  # the fixture checks that nothing is left


def test_threads_end_with_the_object(own_threads: Callable[[], int]) -> None:
    envs = faulty(3, backend="thread", workers=3)
    assert own_threads() == 3
    del envs
    gc.collect()
    assert wait_for(lambda: own_threads() == 0)


@pytest.mark.parametrize("busy", ["", "hang", "spin"])
def test_workers_end_when_the_parent_is_killed(busy: str) -> None:
    if busy == "spin" and sys.platform != "linux":
        pytest.skip("only Linux kills a process that never lets go of the interpreter")
    code = f"""
import threading, time
from agentgym.vector import TextVectorEnv
from tests.faulty import FaultyEnv
from tests.prepared import BrokenPrepareEnv, PreparedEnv
envs = TextVectorEnv.make(FaultyEnv, 2, backend="process", workers=2)
envs.reset_slots([0, 1])
pids = [step[0] for step in envs.step_slots([0, 1], ["pid", "pid"])]
if {busy!r}:
    threading.Thread(target=envs.step_slots, args=([0], [{busy!r}]), daemon=True).start()
    time.sleep(0.5)
print(*pids, flush=True)
time.sleep(60)
"""
    parent = subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    pids = [int(pid) for pid in parent.stdout.readline().split()]
    assert len(pids) == 2
    parent.kill()
    parent.wait()
    parent.stdout.close()
    assert wait_for(lambda: not any(map(alive, pids)))


def test_a_script_without_a_main_guard_may_use_processes(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "from tests.toy import ToyEnv\n"
        "from agentgym.vector import TextVectorEnv\n"
        "class Mine(ToyEnv):\n"
        "    def _admissible(self):\n        return ['mine']\n"
        "envs = TextVectorEnv.make(lambda: Mine(), 2, backend='process', workers=1)\n"
        "print(envs.reset_slots([1])[0][1]['admissible_actions'])\n"
    )
    process = subprocess.run(
        [sys.executable, script],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert process.stdout == "['mine']\n", process.stderr


# -- the Gymnasium face ----------------------------------------------------------------------------


def equal(left: Any, right: Any) -> bool:
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(equal(left[key], right[key]) for key in left)
    if isinstance(left, np.ndarray):
        return left.dtype == right.dtype and left.tolist() == right.tolist()
    return bool(left == right)


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_autoreset_equals_gymnasium(mode: AutoresetMode, backend: str) -> None:
    envs = TextVectorEnv.make(ToyEnv, 3, backend=backend, workers=2, autoreset_mode=mode)
    peer = SyncVectorEnv([ToyEnv] * 3, autoreset_mode=mode)
    assert envs.metadata["autoreset_mode"] is mode
    assert envs.observation_space == peer.observation_space
    assert envs.action_space == peer.action_space
    assert all(map(equal, envs.reset(seed=4), peer.reset(seed=4)))
    for turn in range(20):
        actions = tuple(act(slot, turn) for slot in range(3))
        assert all(map(equal, envs.step(actions), peer.step(actions)))
    envs.close()
    peer.close()


def test_disabled_autoreset_needs_a_mask(backend: str) -> None:
    envs = TextVectorEnv.make(ToyEnv, 3, backend=backend, workers=2)
    assert envs.metadata["autoreset_mode"] is AutoresetMode.DISABLED
    with pytest.raises(gymnasium.error.ResetNeeded):
        envs.step(["x"] * 3)
    envs.reset(seed=1, options={"horizon": 2})
    envs.reset(options={"horizon": 3, "reset_mask": np.array([False, True, False])})
    envs.step(["x"] * 3)
    observations, _, _, truncated, infos = envs.step(["x"] * 3)
    assert truncated.tolist() == [True, False, True]
    assert infos["stop_reason"].tolist() == ["horizon", "", "horizon"]
    with pytest.raises(ConfigurationError, match="slot 0 has ended"):
        envs.step(["x"] * 3)
    options = {"reset_mask": truncated}
    first, infos = envs.reset(seed=[4, 5, 6], options=options)
    assert "reset_mask" in options
    assert first[1] == observations[1] and infos["_task_id"].tolist() == [True, False, True]
    assert envs.step(("x", "x", "x"))[4]["turn"].tolist() == [1, 3, 1]
    for mask in (np.zeros(3, bool), np.ones(2, bool), [1, 0, 1]):
        with pytest.raises(ConfigurationError, match="reset_mask"):
            envs.reset(options={"reset_mask": mask})
    envs.close()


def test_a_failure_at_the_gymnasium_face() -> None:
    envs = faulty(2, autoreset_mode="SAME_STEP")
    envs.reset(seed=0)
    _, rewards, terminated, _, infos = envs.step(["roll", "raise"])
    assert rewards.tolist() == [0.0, 0.0] and terminated.tolist() == [False, True]
    assert infos["final_info"]["stop_reason"].tolist() == [None, "error"]
    assert infos["turn"].tolist() == [1, 0]
    envs.close()


def test_infos_with_gaps_and_mixed_types() -> None:
    batched = batch([{"a": 1, "b": None, "c": {"x": 1.0}}, None, {"a": 2, "b": 3, "c": {"y": 2}}])
    assert batched["a"].tolist() == [1, 0, 2] and batched["a"].dtype == np.int64
    assert batched["b"].tolist() == [None, None, 3]
    assert batched["c"]["_x"].tolist() == [True, False, False]
    assert batched["_c"].tolist() == [True, False, True]
    assert batch([{"a": 1}, {"a": 0.5}])["a"].tolist() == [1.0, 0.5]
    assert batch([{"a": True}, {"a": 2}])["a"].tolist() == [True, 2]


@pytest.mark.parametrize("env_id", [FAMILIES[0].id, "agentgym-test/ToyVector-v0"])
def test_make_vec_arrives_here(env_id: str) -> None:
    if env_id not in gymnasium.registry:
        make = partial(TextVectorEnv.make, env_id)
        gymnasium.register(env_id, entry_point="tests.toy:ToyEnv", vector_entry_point=make)
    envs = gymnasium.make_vec(env_id, num_envs=2, horizon=3, backend="thread", workers=1)
    assert isinstance(envs, TextVectorEnv) and envs.backend == "thread"
    assert envs.spec is not None and envs.spec.id == env_id
    _, infos = envs.reset(seed=[7, 7])
    assert infos["horizon"].tolist() == [3, 3] and infos["goal"][0] == infos["goal"][1]
    envs.close()
    short = TextVectorEnv.make(FAMILIES[0].name, 1)
    assert short.reset_slots([0], [0])[0][0]
    short.close()


@pytest.mark.parametrize("family", [family.name for family in FAMILIES])
def test_the_families_own_engines_run_in_this_process(family: str) -> None:
    envs = TextVectorEnv.make(family, 1)
    assert envs.backend == ("thread" if family in ("shell", "swe") else "sync")  # for boxes
    envs.close()


def test_heavy_engines_run_in_worker_processes() -> None:
    pytest.importorskip("textworld", reason="the real engine needs the package textworld")
    envs = gymnasium.make_vec("agentgym/TextWorld-v0", num_envs=1, engine="inform7")
    assert isinstance(envs, TextVectorEnv) and envs.backend == "process"
    envs.close()
    threaded = TextVectorEnv.make("textworld", 1, {"engine": "inform7"}, backend="thread")
    assert threaded.backend == "thread"
    threaded.close()
    assert preferred_backend("agentgym/ALFWorld-v0", {"engine": "alfworld"}) == "process"
    assert preferred_backend(TOY_ID, {"engine": "inform7"}) == "sync"


def test_render(backend: str) -> None:
    envs = TextVectorEnv.make(TOY_ID, 2, {"render_mode": "ansi"}, backend=backend, workers=1)
    envs.reset(seed=0)
    envs.step(["press red", "look"])
    assert [text.splitlines()[0] for text in envs.render()] == ["> press red", "> look"]
    envs.close()


@pytest.mark.parametrize(
    ("backend", "together"), [("sync", [3, 3, 3]), ("thread", [1, 1, 1]), ("process", [2, 1, 2])]
)
def test_steps_of_members_in_one_thread_are_prepared_at_once(
    backend: str, together: list[int]
) -> None:
    envs = TextVectorEnv.make(PreparedEnv, 3, backend=backend, workers=2)
    try:
        envs.reset_slots([0, 1, 2], [1, 2, 3])
        results = envs.step_slots([0, 1, 2], ["press red", "press blue", "nonsense"])
        assert [info["details"]["looked_up"] for *_, info in results] == together
        [(*_, info)] = envs.step_slots([1], ["press red"])
        assert info["details"]["looked_up"] == 1
    finally:
        envs.close()


def test_a_failed_preparation_costs_nothing(caplog: pytest.LogCaptureFixture) -> None:
    envs = TextVectorEnv.make(BrokenPrepareEnv, 2, backend="sync")
    try:
        envs.reset_slots([0, 1], [1, 2])
        results = envs.step_slots([0, 1], ["press red", "press blue"])
        assert [info["details"]["looked_up"] for *_, info in results] == [1, 1]
        assert "could not prepare steps" in caplog.text
    finally:
        envs.close()

"""Measure the cost of the contract: import time, and steps per second of a toy environment.

Everything is measured in one run on one machine, next to a plain ``gymnasium.Env`` with the same
logic and next to Gymnasium's own vector environments, so that ratios can be compared across
machines. Rates are the best of several repeats, because other work on the machine only makes them
worse. Rates and parts of a single environment's step are in processor time; rates of many
environments in wall time, because some use several processors.

Usage:
    python benchmarks/core_overhead.py [--seconds 0.02] [--repeats 60] [--num-envs 64]

Smallest run: ``--seconds 0.05 --repeats 1``
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from provenance import to_json

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import gymnasium
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv

from agentgym.core.spaces import UnicodeText
from agentgym.vector import TextVectorEnv
from tests.toy import COLOURS, TOY_ID, ToyEnv, ToyTasks

ACTIONS = tuple(f"press {colour}" for colour in COLOURS)
PLAIN_ID, SILENT_ID = "agentgym-test/PlainToy-v0", "agentgym-test/SilentToy-v0"
STEPS = 4000
"""Steps per repeat when measuring the parts of a step."""
BARS = {
    "import_agentgym_seconds": 0.3,
    "make_seconds": 0.15,
    "plain_loop": 250_000,
    "vector_inprocess": 150_000,
}
Rate = Callable[[float], float]


class PlainToy(gymnasium.Env[str, str]):
    """The logic of the toy environment without the contract: no info, no task record."""

    def __init__(self) -> None:
        self.observation_space = UnicodeText(32768)
        self.action_space = UnicodeText(4096)
        self.tasks = ToyTasks()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Draw a task."""
        super().reset(seed=seed)
        self.buttons = self.tasks.draw(self.np_random, "train").content["buttons"]
        self.pressed = self.turn = 0
        return f"press {' then '.join(self.buttons)} . next is {self.buttons[0]}", {}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Press a button."""
        self.turn += 1
        truncated = self.turn >= 8
        colour = action.removeprefix("press ").strip()
        if colour not in COLOURS:
            return "invalid: no such button", 0.0, False, truncated, {}
        button = self.buttons[self.pressed]
        if colour != button:
            return f"nothing happens . next is {button}", 0.0, False, truncated, {}
        self.pressed += 1
        if self.pressed == len(self.buttons):
            return "the door opens", 1.0, True, False, {}
        return f"click . next is {self.buttons[self.pressed]}", 0.0, False, truncated, {}


class SilentToy(ToyEnv):
    """The toy with an engine that only answers: no state, no admissible actions, no plan."""

    def _admissible(self) -> tuple[str, ...]:
        return ()

    def _state(self) -> str:
        return ""

    def _oracle_turns(self) -> None:
        return None


gymnasium.register(PLAIN_ID, entry_point=PlainToy)
gymnasium.register(SILENT_ID, entry_point=SilentToy)


def play(env: gymnasium.Env[str, str], steps: int) -> None:
    """Take a number of steps, over several episodes."""
    for step in range(steps):
        result = env.step(ACTIONS[step & 3])
        if result[2] or result[3]:
            env.reset()


def loop(env: gymnasium.Env[str, str], seconds: float) -> float:
    """Return steps per second of processor time of one environment, resets included."""
    env.reset(seed=0)
    steps, start = 0, time.process_time()
    while (elapsed := time.process_time() - start) < seconds:
        play(env, 200)
        steps += 200
    return steps / elapsed


def rollout(envs: TextVectorEnv, seconds: float) -> float:
    """Return environment steps per second of the rollout interface, with full infos and resets."""
    count = envs.num_envs
    slots = list(range(count))
    envs.reset_slots(slots, slots)
    steps = turn = 0
    start = time.perf_counter()
    while (elapsed := time.perf_counter() - start) < seconds:
        results = envs.step_slots(slots, [ACTIONS[(turn + slot) & 3] for slot in slots])
        finished = [
            slot for slot, result in zip(slots, results, strict=True) if result[2] | result[3]
        ]
        if finished:
            envs.reset_slots(finished)
        steps += count
        turn += 1
    return steps / elapsed


def gymnasium_face(envs: gymnasium.vector.VectorEnv[Any, Any, Any], seconds: float) -> float:
    """Return environment steps per second through ``step``, with next-step autoreset."""
    envs.reset(seed=0)
    count = envs.num_envs
    steps = turn = 0
    start = time.perf_counter()
    while (elapsed := time.perf_counter() - start) < seconds:
        envs.step(tuple(ACTIONS[(turn + slot) & 3] for slot in range(count)))
        steps += count
        turn += 1
    return steps / elapsed


def best(measure: Rate, seconds: float, repeats: int) -> int:
    """Return the best of several repeats."""
    return round(max(measure(seconds) for _ in range(repeats)))


def plain_rates(seconds: float, repeats: int) -> dict[str, int]:
    """Measure single environments, alternating."""
    envs = {
        "plain_gymnasium_env": PlainToy(),
        "plain_loop": gymnasium.make(TOY_ID),
        "plain_loop_no_checker": gymnasium.make(TOY_ID, disable_env_checker=True),
        "plain_loop_unwrapped": gymnasium.make(TOY_ID).unwrapped,
    }
    rates = dict.fromkeys(envs, 0.0)
    for _ in range(repeats):
        for name, env in envs.items():
            rates[name] = max(rates[name], loop(env, seconds))
    return {name: round(rate) for name, rate in rates.items()}


def step_parts(repeats: int) -> dict[str, float]:
    """Measure the parts of a step of the toy, resets included.

    Each environment has one part more than the previous one; repeats alternate between them.

    Returns:
        Microseconds of processor time of each part, and of ``whole`` steps.
    """
    envs: dict[str, gymnasium.Env[str, str]] = {
        "rules": PlainToy(),
        "wrappers of gym.make": gymnasium.make(PLAIN_ID),
        "reading, turn limit, rewards, info": gymnasium.make(SILENT_ID),
        "state, admissible actions, plan": gymnasium.make(TOY_ID),
    }
    least = dict.fromkeys(envs, float("inf"))
    for _ in range(repeats):
        for name, env in envs.items():
            least[name] = min(least[name], microseconds(env))
    preceding = [0.0, *least.values()]
    parts = {name: least[name] - less for name, less in zip(least, preceding, strict=False)}
    return {name: round(value, 3) for name, value in {**parts, "whole": preceding[-1]}.items()}


def microseconds(env: gymnasium.Env[str, str]) -> float:
    """Return the processor time of one step."""
    env.reset(seed=0)
    start = time.process_time()
    play(env, STEPS)
    return (time.process_time() - start) / STEPS * 1e6


def vector_rates(seconds: float, repeats: int, num_envs: int) -> dict[str, int]:
    """Measure vector environments, ours and Gymnasium's."""
    workers = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2
    rates = {}
    for name, options in {
        "inprocess": {},
        "thread": {"backend": "thread", "workers": workers},
        "process": {"backend": "process", "workers": workers},
        "process_step_timeout": {"backend": "process", "workers": workers, "step_timeout": 30.0},
    }.items():
        envs = TextVectorEnv.make(TOY_ID, num_envs, **options)
        rates[f"vector_{name}"] = best(partial(rollout, envs), seconds, repeats)
        envs.close()
    text_envs = TextVectorEnv.make(TOY_ID, num_envs, autoreset_mode="NextStep")
    rates["vector_inprocess_gymnasium_face"] = best(
        partial(gymnasium_face, text_envs), seconds, repeats
    )
    factories = [partial(gymnasium.make, TOY_ID)] * num_envs
    peers = {
        "gymnasium_sync": lambda: SyncVectorEnv(factories),
        "gymnasium_async_pipe": lambda: AsyncVectorEnv(factories, shared_memory=False),
    }
    for name, make in peers.items():
        peer = make()
        rates[name] = best(partial(gymnasium_face, peer), seconds, repeats)
        peer.close()
    return rates


def import_seconds(repeats: int = 5) -> dict[str, float]:
    """Measure ``import agentgym`` in fresh interpreters, minus the interpreter's start."""
    code = "import time; start = time.perf_counter(); import {}; print(time.perf_counter() - start)"
    import_times = {}
    for module in ("agentgym", "gymnasium"):
        times = [
            float(subprocess.run(
                [sys.executable, "-c", code.format(module)], capture_output=True, text=True,
                check=True, cwd=Path(__file__).resolve().parents[1],
            ).stdout)
            for _ in range(repeats)
        ]  # fmt: skip
        import_times[f"import_{module}_seconds"] = round(min(times), 4)
        import_times[f"import_{module}_seconds_median"] = round(statistics.median(times), 4)
    return import_times


def make_seconds(repeats: int = 20) -> dict[str, float]:
    """Measure ``gymnasium.make`` of the toy environment."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        gymnasium.make(TOY_ID)
        times.append(time.perf_counter() - start)
    return {"make_seconds": round(min(times), 6)}


def main() -> None:
    """Measure and print one JSON object."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=0.02, help="length of one repeat")
    parser.add_argument("--repeats", type=int, default=60)
    parser.add_argument("--num-envs", type=int, default=64)
    arguments = parser.parse_args()
    seconds, repeats = arguments.seconds, arguments.repeats
    results: dict[str, float] = {**import_seconds(), **make_seconds()}
    results |= plain_rates(seconds, repeats)
    results |= vector_rates(seconds, repeats, arguments.num_envs)
    parts = step_parts(repeats)
    within_bars = {
        name: results[name] <= bar if name.endswith("seconds") else results[name] >= bar
        for name, bar in BARS.items()
    }
    report = {
        "benchmark": "core_overhead",
        "python": platform.python_version(),
        "gymnasium": gymnasium.__version__,
        "cpus": os.cpu_count(),
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "num_envs": arguments.num_envs,
        "results": results,
        "step_microseconds": parts,
        "bars": BARS,
        "met": within_bars,
    }
    print(to_json(report))


if __name__ == "__main__":
    main()

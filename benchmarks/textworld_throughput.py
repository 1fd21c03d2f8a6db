"""Measurements of TextWorld for ``throughput.py``."""

from __future__ import annotations

import os
import random
import time
from typing import Any

from stopwatch import Stopwatch, growth, make, play, start

ENV_ID = "agentgym/TextWorld-v0"
BARS: dict[str, tuple[str, float]] = {
    "make_seconds": ("<=", 0.15),
    "native_steps_per_second": (">=", 500),
    "native_reset_milliseconds": ("<=", 5),
    "native_megabytes_of_1000_resets": ("<=", 5),
    "native_unseen_reset_milliseconds": ("<=", 0.5),
    "native_reset_of_100_in_turn_milliseconds": ("<=", 0.5),
    "native_unseen_episodes_per_second": (">=", 500),
    "inform7_steps_per_second": (">=", 200),
    "inform7_reset_milliseconds": ("<=", 20),
}
DIFFICULTY = "w4-o6-q8"
"""A difficulty that is not bundled, so that its games are generated and cached."""
GAMES = 8
COMMANDS = 24
"""Commands of an episode; a game that ends sooner is restarted."""


def processor() -> float:
    """Return the processor seconds of this process and its finished children."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def guide(engine: str, **kwargs: Any) -> Any:
    """Make the environment with games of that difficulty."""
    return make(ENV_ID, difficulty=DIFFICULTY, games=GAMES, engine=engine, **kwargs)


def measure_start(options: dict[str, Any]) -> dict[str, float]:
    """Time the first ``gym.make`` and reset of a process; nothing is in the cache."""
    return start(ENV_ID, engine="native")


def measure_games(options: dict[str, Any]) -> dict[str, float]:
    """Time how long it takes to make games, and to compile them for the real engine."""
    tasks = guide("inform7").unwrapped.tasks
    watch = {name: Stopwatch(processor) for name in ("generate", "compile")}
    for index in range(GAMES):
        task = watch["generate"](lambda: tasks.task("train", index))  # noqa: B023
        watch["compile"](lambda: tasks.story(task))  # noqa: B023
    return {f"{name}_milliseconds": clock.milliseconds or 0.0 for name, clock in watch.items()}


def episodes(env: Any, seconds: float, name: str) -> dict[str, float]:
    """Time resets to cached games and random admissible steps."""
    for index in range(GAMES):
        env.reset(options={"split": "train", "index": index})
    return play(
        env, seconds, name,
        lambda number: {"split": "train", "index": number % GAMES, "horizon": COMMANDS},
    )  # fmt: skip


def measure_native(options: dict[str, Any]) -> dict[str, float]:
    """Time the native engine through ``gym.make``."""
    return episodes(guide("native"), options["seconds"], "native")


def measure_native_parts(options: dict[str, Any]) -> dict[str, float]:
    """Time the native engine with room description and inventory in each observation."""
    env = guide("native", description=True, inventory=True, reward="dense")
    return episodes(env, options["seconds"], "native_with_parts")


def measure_inform7(options: dict[str, Any]) -> dict[str, float]:
    """Time the real engine through ``gym.make``."""
    return episodes(guide("inform7"), options["seconds"], "inform7")


def measure_inform7_parts(options: dict[str, Any]) -> dict[str, float]:
    """Time the real engine with room description and inventory in each observation."""
    env = guide("inform7", description=True, inventory=True, reward="dense")
    return episodes(env, options["seconds"], "inform7_with_parts")


def measure_memory(options: dict[str, Any]) -> dict[str, float]:
    """Measure how much resident memory a thousand resets to bundled games add."""
    return {"native_megabytes_of_1000_resets": growth(make(ENV_ID, engine="native"))}


def measure_bundled(options: dict[str, Any]) -> dict[str, float]:
    """Time bundled games: never open before, 100 in turn, and whole episodes of the expert."""
    env = make(ENV_ID, engine="native")
    watch = {name: Stopwatch(time.process_time) for name in ("unseen", "turn", "episode")}

    def begin(index: int) -> str:
        _, info = env.reset(options={"split": "train", "index": index})
        return str(info["stop_reason"])

    def play_out(index: int) -> None:
        stopped = begin(index)
        while not stopped:
            stopped = env.step(env.unwrapped.demonstrator_action())[-1]["stop_reason"]

    begin(0)  # reads the pack and the knowledge base
    for index in range(1000, 2000):
        watch["episode"](lambda: play_out(index))  # noqa: B023
    for index in range(1, 1000):
        watch["unseen"](lambda: begin(index))  # noqa: B023
    for index in range(100):
        begin(index)
    for number in range(1000):
        watch["turn"](lambda: begin(number % 100))  # noqa: B023
    return {
        "native_unseen_reset_milliseconds": watch["unseen"].milliseconds or 0.0,
        "native_reset_of_100_in_turn_milliseconds": watch["turn"].milliseconds or 0.0,
        "native_unseen_episodes_per_second": watch["episode"].rate,
    }


def measure_original(kind: str, seconds: float, **extra_infos: bool) -> dict[str, float]:
    """Time TextWorld's own environment on the same games.

    Args:
        kind: ``z8``, the compiled story, or ``json``, the state machine without text.
        seconds: Time of the step measurement.
        **extra_infos: What it is asked for beyond the admissible commands.
    """
    import textworld

    tasks = guide("inform7").unwrapped.tasks
    stories = [tasks.story(tasks.task("train", index)) for index in range(GAMES)]
    infos = textworld.EnvInfos(admissible_commands=True, won=True, score=True, **extra_infos)
    draw, step, number = random.Random(0), Stopwatch(time.thread_time), 0
    reset = Stopwatch(time.thread_time)
    envs = [textworld.start(str(path.with_suffix(f".{kind}")), infos) for path in stories]
    while step.seconds < seconds:
        env, number = envs[number % GAMES], number + 1
        state = reset(env.reset)
        for _ in range(COMMANDS):
            command = draw.choice(state["admissible_commands"])
            state, _, is_done = step(lambda: env.step(command))  # noqa: B023
            if is_done:
                break
    name = f"original_{kind}{'_with_plan' if extra_infos else ''}"
    return {
        f"{name}_steps_per_second": step.rate,
        f"{name}_reset_milliseconds": reset.milliseconds or 0.0,
    }


def measure_z8(options: dict[str, Any]) -> dict[str, float]:
    """Time the compiled stories, with admissible commands, and with the plan too."""
    seconds = options["seconds"]
    z8_figures = measure_original("z8", seconds)
    return z8_figures | measure_original("z8", seconds, policy_commands=True)


def measure_json(options: dict[str, Any]) -> dict[str, float]:
    """Time the state machine without text."""
    seconds = options["seconds"]
    json_figures = measure_original("json", seconds)
    return json_figures | measure_original("json", seconds, policy_commands=True)


GROUPS = {
    "start": measure_start, "games": measure_games, "native": measure_native,
    "native_parts": measure_native_parts, "inform7": measure_inform7,
    "inform7_parts": measure_inform7_parts, "memory": measure_memory,
    "bundled": measure_bundled, "z8": measure_z8, "json": measure_json,
}  # fmt: skip
REPEATS = {"start": 5}


def combine(figures: dict[str, float]) -> None:
    """Add ratios: ours with text, plan and contract, against the original with the plan."""
    for engine in ("native", "inform7"):
        for kind in ("z8", "json"):
            peer = figures.get(f"original_{kind}_with_plan_steps_per_second")
            rate = figures.get(f"{engine}_steps_per_second")
            if peer and rate:
                figures[f"{engine}_over_{kind}_ratio"] = rate / peer

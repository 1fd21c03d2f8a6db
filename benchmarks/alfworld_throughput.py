"""Measurements of ALFWorld for ``throughput.py``."""

from __future__ import annotations

import random
import time
from typing import Any

from stopwatch import Stopwatch, growth, make, memory, play, start

ENV_ID = "agentgym/ALFWorld-v0"
BARS: dict[str, tuple[str, float]] = {
    "make_seconds": ("<=", 0.15),
    "gym_steps_per_second": (">=", 3_000),
    "gym_reset_milliseconds": ("<=", 10),
    "searching_steps_per_second": (">=", 2_000),
    "steps_per_second": (">=", 3_000),
    "generate_and_reset_milliseconds": ("<=", 10),
    "megabytes_of_1000_resets": ("<=", 5),
    "steps_ratio": (">=", 100),
    "gym_steps_ratio": (">=", 100),
}
DIFFICULTY = "hard"
"""Whole rooms, about as large as the official games."""
GAMES = 12
"""Games for the original engine; ours plays as many as fit into the time."""
COMMANDS = 20
"""Commands of an episode."""


def measure_start(options: dict[str, Any]) -> dict[str, float]:
    """Time the first ``gym.make`` of a process, and the first reset."""
    return start(ENV_ID)


def measure_gym(options: dict[str, Any]) -> dict[str, float]:
    """Time resets to new tasks and random admissible steps through ``gym.make``."""
    env = make(ENV_ID, difficulty=DIFFICULTY)
    env.reset(seed=0)
    return play(env, options["seconds"], "gym")


def measure_searching(options: dict[str, Any]) -> dict[str, float]:
    """Do the same with the searching expert, which replans after most steps."""
    env = make(ENV_ID, difficulty=DIFFICULTY, expert="searching")
    env.reset(seed=0)
    return play(env, options["seconds"], "searching")


def measure_memory(options: dict[str, Any]) -> dict[str, float]:
    """Measure how much resident memory a thousand resets to new tasks add."""
    grown = growth(make(ENV_ID, difficulty=DIFFICULTY))
    return {"megabytes_of_1000_resets": grown, "resident_megabytes": memory()}


class Engines:
    """The original engine and ours, bare, each with its stopwatches."""

    def __init__(self) -> None:
        from agentgym.envs.alfworld.engine.household import Household
        from agentgym.envs.alfworld.engine.session import HouseholdSession
        from agentgym.envs.alfworld.original.package import original_engine, package_texts

        self.household, self.session = Household.of, HouseholdSession
        self.texts, self.original = package_texts(), original_engine()
        names = ("generate", "parse", "open", "native", "load", "reset", "original")
        self.watch = {name: Stopwatch(time.process_time) for name in names}

    def play_original(self, game: Any, draw: random.Random) -> None:
        """Play an episode at random in the original."""
        domain, grammar = self.texts
        grammar = grammar.replace("UNKNOWN GOAL.", game.goal)
        data = {"pddl_domain": domain, "grammar": grammar, "pddl_problem": game.problem}
        self.watch["load"](lambda: self.original.load(data))
        state = self.watch["reset"](self.original.reset)
        for _ in range(COMMANDS):
            command = draw.choice(state["admissible_commands"])
            state = self.watch["original"](lambda: self.original.step(command))[0]  # noqa: B023

    def play_ours(self, game: Any, draw: random.Random) -> None:
        """Play a random episode in ours, listing commands in each step like the original."""

        def opened() -> tuple[Any, tuple[str, ...]]:
            session = self.session(household)
            session.intro()
            return session, session.admissible()

        def step() -> tuple[str, ...]:
            session.step(command)
            commands: tuple[str, ...] = session.admissible()
            return commands

        household = self.watch["parse"](lambda: self.household(game))
        session, admissible = self.watch["open"](opened)
        for _ in range(COMMANDS):
            command = draw.choice(admissible)
            admissible = self.watch["native"](step)


def measure_engines(options: dict[str, Any]) -> dict[str, float]:
    """Play generated games in both engines, each game once, with the same random commands."""
    from agentgym.envs.alfworld.generator import GeneratorConfig, generate

    config, engines, number = GeneratorConfig.of(DIFFICULTY), Engines(), 0
    watch = engines.watch
    generate(config, "train", 0)  # reads the tables
    while watch["native"].seconds < options["seconds"] / 4:
        number += 1
        game = watch["generate"](lambda: generate(config, "train", number))  # noqa: B023
        if number <= GAMES:
            engines.play_original(game, random.Random(number))
        engines.play_ours(game, random.Random(number))
    milliseconds = {name: 1000 * clock.seconds / clock.calls for name, clock in watch.items()}
    return {
        "steps_per_second": watch["native"].rate,
        "original_steps_per_second": watch["original"].rate,
        "generate_milliseconds": milliseconds["generate"],
        "parse_milliseconds": milliseconds["parse"],
        "open_milliseconds": milliseconds["open"],
        "original_load_milliseconds": milliseconds["load"],
        "original_reset_milliseconds": milliseconds["reset"],
    }


GROUPS = {"start": measure_start, "gym": measure_gym, "searching": measure_searching,
          "memory": measure_memory, "engines": measure_engines}  # fmt: skip
REPEATS = {"start": 5}


def combine(figures: dict[str, float]) -> None:
    """Add ratios and sums to the figures."""
    parts = ("generate_milliseconds", "parse_milliseconds", "open_milliseconds")
    if parts[0] in figures:
        total = figures[parts[0]] + figures[parts[1]] + figures[parts[2]]
        figures["generate_and_reset_milliseconds"] = total
        figures["start_ratio"] = (
            figures["original_load_milliseconds"] + figures["original_reset_milliseconds"]
        ) / (figures[parts[1]] + figures[parts[2]])
    original = figures.get("original_steps_per_second")
    if original:
        figures["steps_ratio"] = figures["steps_per_second"] / original
        if "gym_steps_per_second" in figures:
            figures["gym_steps_ratio"] = figures["gym_steps_per_second"] / original

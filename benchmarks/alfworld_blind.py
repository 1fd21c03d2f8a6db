"""What can be solved without reading: blind policies in generated households, as JSON.

A blind policy sees the list of admissible actions and nothing of what they or the observation
mean: it takes the first, the last, the longest, one at random, with or without the rule to take
none twice while there are others. The list's order must tell nothing, so none may do much better
than chance.

Usage:
    python benchmarks/alfworld_blind.py [--difficulty easy medium] [--tasks 200]
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from provenance import to_json

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from agentgym.envs.alfworld.env import ALFWorldEnv
from agentgym.statistics import wilson_ci95

Choice = Callable[[Sequence[str], random.Random], str]
CHOICES: dict[str, Choice] = {
    "first": lambda actions, rng: actions[0],
    "last": lambda actions, rng: actions[-1],
    "longest": lambda actions, rng: max(actions, key=len),
    "shortest": lambda actions, rng: min(actions, key=len),
    "first_in_alphabet": lambda actions, rng: min(actions),
    "last_in_alphabet": lambda actions, rng: max(actions),
    "random": lambda actions, rng: rng.choice(actions),
}
BAR = 0.10
"""Highest success rate of a blind policy on ``easy`` and ``medium``."""


def play(env: ALFWorldEnv, index: int, choose: Choice, again: bool) -> bool:
    """Play a task of the test split; return whether it was solved.

    Args:
        env: The environment.
        index: Place of the task.
        choose: The policy.
        again: Whether it may take an action that it has taken before, though there are others.
    """
    _, info = env.reset(options={"split": "test", "index": index})
    rng, typed, over = random.Random(index), set[str](), False
    while not over:
        listed = info["admissible_actions"]
        fresh = [] if again else [action for action in listed if action not in typed]
        action = choose(fresh or listed, rng)
        typed.add(action)
        _, _, terminated, truncated, info = env.step(action)
        over = terminated or truncated
    return bool(info["success"])


def measure(difficulty: str, tasks: int) -> dict[str, Any]:
    """Play every policy on the same tasks."""
    env = ALFWorldEnv(difficulty=difficulty)
    result: dict[str, Any] = {}
    for name, choose in CHOICES.items():
        for again in (True, False):
            solved = [play(env, index, choose, again) for index in range(tasks)]
            estimate = wilson_ci95(sum(solved), tasks)
            key = name if again else f"{name}_not_typed"
            result[key] = {
                "success": estimate.value,
                "interval95": [round(estimate.low, 4), round(estimate.high, 4)],
                "bar_met": estimate.value <= BAR,
            }
    return result


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--difficulty", nargs="+", default=["easy", "medium"])
    parser.add_argument("--tasks", type=int, default=200)
    args = parser.parse_args()
    print(to_json({name: measure(name, args.tasks) for name in args.difficulty}))


if __name__ == "__main__":
    main()

"""Compare BabyAI with minigrid's: missions, rewards and ends of the same actions.

Each level is played from many seeds, in ``agentgym/BabyAI-v0`` and in minigrid itself, by the same
actions: the bot's in the even seeds, random ones in the odd. It compares the mission, and at every
step the reward, termination, truncation by the level's step limit, and the agent's position and
inventory. The exit code is 1 if anything differs. The result is written after each level; the same
command continues with the missing ones.

Usage:
    python benchmarks/babyai_parity.py --out parity.json [--seeds 500] [--levels GoToLocal ...]

Smallest run: ``--seeds 4 --out mine.json``
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import gymnasium
from rich.progress import track

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from agentgym.core.env import TextEnv
from agentgym.envs.babyai.engine.session import WORDS
from agentgym.support.caching import write_atomically
from agentgym.support.random_stream import Stream

LEVELS = (
    "GoToObj", "PickupLoc", "OpenDoor", "OpenTwoDoors", "PutNextS4N1", "PutNextLocalS5N3",
    "PutNextLocal", "UnlockLocal", "UnlockPickup", "KeyCorridorS3R1",
)  # fmt: skip
SEEDS = 500
WANDERED = 40
"""Maximum steps of an episode of random actions."""
LONG = 100_000
"""A turn budget that no level reaches."""


def differences(level: str, seed: int, text_env: TextEnv, original: Any) -> tuple[list[str], int]:
    """Play one seed in both; return the differences and the number of steps.

    Args:
        level: Name of the level.
        seed: Seed of minigrid.
        text_env: The text environment of this level, whose first seed is 0.
        original: Minigrid's environment.
    """
    split = ("train", "valid", "test")[seed % 3]
    observation, info = text_env.reset(options={"split": split, "index": seed // 3})
    view, _ = original.reset(seed=seed)
    different = []
    if f"Your mission: {view['mission']}.\n" not in observation:
        different.append(f"{level} {seed}: the mission is {view['mission']!r}")
    if info["goal"].lower() != f"{view['mission'].lower()}.":
        different.append(f"{level} {seed}: the goal is {info['goal']!r}")
    stream, steps = Stream("babyai parity", level, seed), 0
    while not info["stop_reason"] and steps < (LONG if seed % 2 == 0 else WANDERED):
        action = stream.choice(WORDS) if seed % 2 else text_env.demonstrator_action()
        if action is None:
            break
        _, reward, terminated, _, info = text_env.step(action)
        _, paid, over, cut, _ = original.step(WORDS.index(action))
        steps += 1
        native = (
            reward,
            terminated,
            info["stop_reason"] == "horizon",
            *_stand(text_env.session.env),
        )
        its = (float(paid), over or cut, cut and not over, *_stand(original))
        if native != its:
            different.append(f"{level} {seed}, step {steps}: {native} is not {its}")
            break
    return different, steps


def _stand(env: Any) -> tuple[Any, ...]:
    """Return the agent's position, direction and inventory."""
    carried = env.carrying and (env.carrying.type, env.carrying.color)
    return tuple(map(int, env.agent_pos)), env.agent_dir, carried


def compare(level: str, seeds: int) -> dict[str, Any]:
    """Compare many seeds of a level.

    Returns:
        Seeds, steps, and differences.
    """
    text_env = gymnasium.make(
        "agentgym/BabyAI-v0", levels=level, reward="original", horizon=LONG
    ).unwrapped
    assert isinstance(text_env, TextEnv)
    text_env.reset(options={"split": "train", "index": 0})
    name = text_env.session.env.spec.id
    original = gymnasium.make(name, disable_env_checker=True).unwrapped
    different: list[str] = []
    steps = 0
    for seed in range(seeds):
        differing, n_steps = differences(level, seed, text_env, original)
        different += differing
        steps += n_steps
    return {"seeds": seeds, "steps": steps, "different": different}


def main() -> None:
    """Compare, and write the result as JSON."""
    from provenance import to_json
    from rich.console import Console

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--levels", nargs="+", default=list(LEVELS))
    arguments = parser.parse_args()
    rows: dict[str, Any] = {}
    if arguments.out.exists():
        stored = json.loads(arguments.out.read_text())["levels"]
        rows = {name: row for name, row in stored.items() if row["seeds"] == arguments.seeds}
    for level in track(arguments.levels, "Comparing", console=Console(stderr=True)):
        rows[level] = rows.get(level) or compare(level, arguments.seeds)
        total = {
            "levels": rows,
            "n": sum(row["seeds"] for row in rows.values()),
            "steps": sum(row["steps"] for row in rows.values()),
            "different": sum(len(row["different"]) for row in rows.values()),
        }
        write_atomically(arguments.out, (to_json(total) + "\n").encode())
    sys.exit(total["different"] > 0)


if __name__ == "__main__":
    main()

"""Measure the demonstrators on held-out tasks, the fallible and the infallible ones.

For each expert of ALFWorld, TextWorld and WebShop: success, score and turns in the settings of the
default training, and for ALFWorld the share of the tasks that its plan solves within shorter
horizons.

Usage: ``python benchmarks/demonstrators.py [--n 500] [--families webshop]``; of TextWorld's test
split all 200 games.

Smallest run: ``--n 20``
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from provenance import to_json

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import gymnasium

from agentgym.core.env import TextEnv
from agentgym.envs.alfworld.experts import EXPERTS as ALFWORLD
from agentgym.envs.textworld.games.game_set import EXPERTS as TEXTWORLD
from agentgym.envs.webshop.experts import EXPERTS as WEBSHOP
from agentgym.registration import family
from agentgym.support.statistics import wilson_ci95

SPLIT = "test"
SHOP = {"difficulty": "easy", "size": 2000, "observation_mode": "compact", "horizon": 9}
HOUSE = {"difficulty": "easy", "horizon": 16}
GAME = {"horizon": 6}
HORIZONS = (10, 13, 16)
SETTINGS: Mapping[str, tuple[Mapping[str, Any], tuple[str, ...], tuple[int, ...]]] = {
    "webshop": (SHOP, tuple(WEBSHOP), ()),
    "alfworld": (HOUSE, tuple(ALFWORLD), HORIZONS),
    "textworld": (GAME, TEXTWORLD, ()),
}
"""Family -> arguments, experts, and horizons at which plans are counted."""


def measure(name: str, expert: str, n: int) -> dict[str, Any]:
    """Let an expert play a panel of held-out tasks."""
    kwargs, _, horizons = SETTINGS[name]
    env = gymnasium.make(family(name).id, expert=expert, **kwargs).unwrapped
    assert isinstance(env, TextEnv)
    n = min(n, env.tasks.len(SPLIT))
    panel = env.tasks.panel(SPLIT, n)
    plans, episodes = [], []
    for task_id in panel.ids:
        _, info = env.reset(seed=0, options={"task_id": task_id})
        plans.append(info["oracle_turns"])
        while not info["stop_reason"]:
            info = env.step(str(env.demonstrator_action()))[-1]
        episodes.append((info["success"], info["score"], info["turn"]))
    solved, score, turns = (sum(column) for column in zip(*episodes, strict=True))
    return {
        "n": n,
        "success": solved / n,
        "success_ci95": list(wilson_ci95(solved, n)[1:]),
        "score": score / n,
        "turns": turns / n,
        "planned_turns": sum(plans) / n,
        "solved_within": {str(h): sum(plan <= h for plan in plans) / n for h in horizons},
        "panel_sha256": panel.sha256,
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--n", type=int, default=500)
    parser.add_argument("--families", nargs="+", choices=SETTINGS, default=list(SETTINGS))
    options = parser.parse_args()
    n = options.n
    result: dict[str, Any] = {"split": SPLIT}
    for name in options.families:
        kwargs, experts, _ = SETTINGS[name]
        by_expert = {expert: measure(name, expert, n) for expert in experts}
        result[name] = {"kwargs": dict(kwargs), "experts": by_expert}
    print(to_json(result))


if __name__ == "__main__":
    main()

"""Measure how much filtered demonstrations can teach, before anything is trained.

Each demonstrator makes a good choice in some tasks and a bad one in the others, which often
succeeds by luck. The frequencies give the share of successes with the good choice, and so the
success of a policy that imitates the successes perfectly, since it makes the good choice equally
often. The gap to always making the good choice is what RL can add.

Usage: ``python -m benchmarks.lucky_demonstrators [--n 300] [--families search]``

Smallest run: ``--n 20``
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import gymnasium

from agentgym.core.env import TextEnv
from agentgym.envs.textworld.guessing import READ
from agentgym.registration import family
from benchmarks.provenance import to_json

SPLIT = "test"


class Lucky(NamedTuple):
    """A demonstrator, and how to detect its choice."""

    kwargs: dict[str, Any]
    """Arguments of the environment."""
    expert: str
    """The demonstrator."""
    better: str = ""
    """The expert that always makes the good choice: a task has it if both play alike. If there is
    no such expert, the good choice is to read the cookbook first."""


FAMILIES: Mapping[str, Lucky] = {
    "alfworld": Lucky(
        {"difficulty": "easy", "task_types": ("place",), "horizon": 11},
        "doubting", "searching",
    ),
    "alfworld, trusting": Lucky(
        {
            "difficulty": "easy", "task_types": ("clean",), "receptacles": 3, "distractors": 1,
            "ready": 45, "horizon": 8,
        },
        "trusting", "searching",
    ),
    "search": Lucky(
        {
            "difficulty": "easy", "size": 4000, "topk": 4, "hops": (1, 2), "horizon": 4,
        },
        "lazy", "reader",
    ),
    "search, hasty": Lucky(
        {"difficulty": "local", "topk": 1, "horizon": 4}, "hasty", "reader"
    ),
    "textworld": Lucky(
        {"difficulty": "cooking,cook=true", "brief": True, "horizon": 5}, "guessing"
    ),
    "webshop": Lucky(
        {
            "difficulty": "easy", "size": 2000, "observation_mode": "compact", "horizon": 9,
        },
        "lazy", "thinking",
    ),
}  # fmt: skip
"""Family, and after a comma one of several demonstrators."""


def measure(name: str, n: int) -> dict[str, Any]:
    """Let a demonstrator play held-out tasks, and count its choices and its successes."""
    lucky, name = FAMILIES[name], name.partition(",")[0]
    play = Player(name, lucky.kwargs | {"expert": lucky.expert})
    rival = Player(name, lucky.kwargs | {"expert": lucky.better}) if lucky.better else None
    env = play.env
    panel = env.tasks.panel(SPLIT, min(n, env.tasks.len(SPLIT)))
    won: dict[bool, list[bool]] = {True: [], False: []}
    for task in panel.ids:
        actions, success = play(task)
        won[actions == rival(task)[0] if rival else actions[0] == READ].append(success)
    return {
        "kwargs": lucky.kwargs | {"expert": lucky.expert},
        "n": len(panel),
        "panel_sha256": panel.sha256,
        **expected(won[True], won[False]),
    }


def expected(good: Sequence[bool], bad: Sequence[bool]) -> dict[str, float]:
    """Return the figures that follow from the successes of both choices."""
    lucky, sound = sum(bad), sum(good)
    among = sound / (sound + lucky)
    best, worst = sound / len(good), lucky / len(bad)
    return {
        "good_share": len(good) / (len(good) + len(bad)),
        "good_success": best,
        "bad_success": worst,
        "success": (sound + lucky) / (len(good) + len(bad)),
        "good_among_successes": among,
        "perfect_filter": among * best + (1 - among) * worst,
    }


class Player:
    """The expert of an environment."""

    def __init__(self, name: str, kwargs: Mapping[str, Any]) -> None:
        text_env = gymnasium.make(family(name).id, **kwargs).unwrapped
        assert isinstance(text_env, TextEnv)
        self.env = text_env

    def __call__(self, task: str) -> tuple[list[str], bool]:
        """Return its actions in a task, and whether they solve it."""
        _, info = self.env.reset(seed=0, options={"task_id": task})
        actions = []
        while not info["stop_reason"]:
            actions.append(str(self.env.demonstrator_action()))
            info = self.env.step(actions[-1])[-1]
        return actions, bool(info["success"])


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print; returns 0."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--n", type=int, default=300)
    parser.add_argument("--families", nargs="+", choices=FAMILIES, default=list(FAMILIES))
    options = parser.parse_args(argv)
    families = {name: measure(name, options.n) for name in options.families}
    print(to_json({"split": SPLIT, "families": families}))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

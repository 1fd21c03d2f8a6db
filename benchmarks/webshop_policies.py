"""Measure how hard a shop is, with fixed policies.

For each shop: the score and success (with 95 % intervals) of the oracle, of buying the first hit
for the raw instruction with and without the asked options, of uniformly random admissible actions,
of blind policies, which look at nothing but the list of admissible actions, and how often the
target is not among the 50 hits for the raw instruction.

Usage:
    python benchmarks/webshop_policies.py [--difficulty easy medium hard] [--size 4000 1000 1000]
    python benchmarks/webshop_policies.py --data DIR [--all-goals]
    python benchmarks/webshop_policies.py --difficulty easy --size 4000 --observation-mode compact

Smallest run: ``--difficulty easy --size 100``
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any

from provenance import to_json

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from agentgym.envs.webshop.engine.compact import short
from agentgym.envs.webshop.engine.session import BACK, BUY, INDEX, RESULTS
from agentgym.envs.webshop.engine.shop import plain_query
from agentgym.envs.webshop.env import WebShopEnv
from agentgym.envs.webshop.shared_shop import OBSERVATION_MODES

BARS = {
    "easy": {"oracle": (0.99, 1.0)},
    "medium": {
        "oracle": (0.99, 1.0),
        "first_hit_with_options": (0.45, 0.55),
        "first_hit_without_options": (0.0, 0.05),
        "random": (0.0, 0.02),
        "blind": (0.0, 0.02),
    },
    "hard": {"oracle": (0.99, 1.0), "first_hit_with_options": (0.0, 0.30)},
}
BARRED_SIZE = 1000
Policy = Callable[[WebShopEnv, Mapping[str, Any], random.Random], str]


def oracle(env: WebShopEnv, info: Mapping[str, Any], rng: random.Random) -> str:
    """Follow the expert's plan."""
    return str(env.demonstrator_action())


def first_hit(options: bool) -> Policy:
    """Return the policy that searches the raw instruction and buys the first hit."""

    def act(env: WebShopEnv, info: Mapping[str, Any], rng: random.Random) -> str:
        session = env.session
        if session.state.page == INDEX:
            return f"search[{plain_query(session.goal.instruction_text)}]"
        if session.state.page == RESULTS:
            name = session.hits()[0].lower() if session.hits() else BACK
            return f"click[{short(session, name) if env.observation_mode == 'compact' else name}]"
        goal_options = session.goal.goal_options
        values = goal_options.values() if isinstance(goal_options, Mapping) else goal_options
        for value in values if options else ():
            group = session.product.group_of.get(value)
            if group and session.options.get(group) != value:
                return f"click[{value}]"
        return f"click[{BUY}]"

    return act


def uniform(env: WebShopEnv, info: Mapping[str, Any], rng: random.Random) -> str:
    """Draw an admissible action; on the first page that is the search of the instruction."""
    return str(rng.choice(info["admissible_actions"]))


class NotTyped:
    """Take the last admissible action that was not taken in this episode, else the last."""

    def __init__(self) -> None:
        self._typed: set[str] = set()

    def __call__(self, env: WebShopEnv, info: Mapping[str, Any], rng: random.Random) -> str:
        """Choose an action and remember it."""
        if not info["turn"]:
            self._typed.clear()
        actions = info["admissible_actions"]
        fresh = (action for action in reversed(actions) if action not in self._typed)
        action = str(next(fresh, actions[-1]))
        self._typed.add(action)
        return action


BLIND: dict[str, Policy] = {
    "first": lambda env, info, rng: str(info["admissible_actions"][0]),
    "last": lambda env, info, rng: str(info["admissible_actions"][-1]),
    "longest": lambda env, info, rng: str(max(info["admissible_actions"], key=len)),
    "shortest": lambda env, info, rng: str(min(info["admissible_actions"], key=len)),
    "last_not_typed": NotTyped(),
    "constant": lambda env, info, rng: "click[1]",
}
POLICIES: dict[str, Policy] = {
    "oracle": oracle,
    "first_hit_with_options": first_hit(True),
    "first_hit_without_options": first_hit(False),
    "random": uniform,
    **BLIND,
}


def measure(env: WebShopEnv, places: Sequence[tuple[str, int]]) -> dict[str, Any]:
    """Play every policy on the same tasks."""
    result: dict[str, Any] = {"goals": len(places)}
    for name, policy in POLICIES.items():
        episodes = [play(env, policy, place, number) for number, place in enumerate(places)]
        result[name] = summary(episodes)
    result["blind"] = max((result[name] for name in BLIND), key=itemgetter("success"))
    goals = [env.tasks.task(*place).content for place in places]
    hit_lists = (env.shop.search(plain_query(goal["instruction_text"])) for goal in goals)
    missed = sum(goal["asin"] not in hits for goal, hits in zip(goals, hit_lists, strict=True))
    result["target_not_in_50_hits"] = round(missed / len(goals), 4)
    return result


def play(
    env: WebShopEnv, policy: Policy, place: tuple[str, int], number: int
) -> tuple[float, bool, int]:
    """Play one episode and return score, success and turns."""
    split, index = place
    _, info = env.reset(seed=number, options={"split": split, "index": index})
    rng, over = random.Random(number), False
    while not over:
        _, _, terminated, truncated, info = env.step(policy(env, info, rng))
        over = terminated or truncated
    return info["score"], info["success"], info["turn"]


def summary(episodes: Sequence[tuple[float, bool, int]]) -> dict[str, float]:
    """Return mean score, success rate with the half width of its 95 % interval, and mean turns."""
    n = len(episodes)
    score, success, turns = (sum(column) / n for column in zip(*episodes, strict=True))
    return {
        "score": round(score, 4),
        "success": round(success, 4),
        "success_ci95": round(1.96 * (success * (1 - success) / n) ** 0.5, 4),
        "turns": round(turns, 2),
    }


def sample(env: WebShopEnv, args: argparse.Namespace) -> list[tuple[str, int]]:
    """Draw tasks of one split, or of all splits in proportion to their sizes."""
    tasks = env.tasks
    splits = tasks.splits if args.split == "all" else (args.split,)
    places = [(split, index) for split in splits for index in range(tasks.len(split))]
    return random.Random(args.seed).sample(places, min(args.episodes, len(places)))


def shops(args: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """Return the environments' settings by name."""
    if args.data is None:
        sizes = args.size * len(args.difficulty) if len(args.size) == 1 else args.size
        return {
            f"{difficulty}-{size}-{args.seed}": {
                "size": size, "difficulty": difficulty, "generator_seed": args.seed,
            }
            for difficulty, size in zip(args.difficulty, sizes, strict=True)
        }  # fmt: skip
    settings = {"data": args.data}
    if args.all_goals:
        settings |= {"goal_mode": "official", "split_mode": "official-index"}
    return {"official, all goals" if args.all_goals else "official, solvable goals": settings}


def report(settings: dict[str, Any], args: argparse.Namespace) -> dict[str, Any]:
    """Measure one shop and compare it with the bars."""
    start = time.perf_counter()
    env = WebShopEnv(
        reward=args.reward,
        observation_mode=args.observation_mode,
        horizon=args.horizon,
        **settings,
    )
    make_seconds = time.perf_counter() - start
    result = measure(env, sample(env, args))
    result["make_seconds"] = round(make_seconds, 3)
    result["sizes"] = {split: env.tasks.len(split) for split in env.tasks.splits}
    if (
        settings.get("size") == BARRED_SIZE
        and args.reward == "official"
        and env.visit.page_size == 10
    ):
        result["bars_met"] = {
            name: low <= result[name]["success"] <= high
            for name, (low, high) in BARS[settings["difficulty"]].items()
        }
    return result


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--difficulty", nargs="+", default=list(BARS), choices=list(BARS))
    parser.add_argument(
        "--size",
        type=int,
        nargs="+",
        default=[BARRED_SIZE],
        help="products: one number, or one for each difficulty",
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--episodes", type=int, default=1000)
    parser.add_argument("--split", default="all", choices=["all", "train", "valid", "test"])
    parser.add_argument("--reward", default="official", choices=["official", "strict"])
    parser.add_argument("--observation-mode", default="text", choices=OBSERVATION_MODES)
    parser.add_argument("--horizon", type=int, default=15)
    parser.add_argument("--data", help="folder with official files")
    parser.add_argument("--all-goals", action="store_true", help="official goals, unfiltered")
    args = parser.parse_args()
    if len(args.size) not in (1, len(args.difficulty)):
        parser.error("expected --size to be one number, or one for each difficulty")
    print(to_json({name: report(shop, args) for name, shop in shops(args).items()}))


if __name__ == "__main__":
    main()

"""Replay recorded sessions of the original WebShop through the public environment.

    python benchmarks/webshop_parity.py --catalogue DIR --pack DIR

``--catalogue`` holds the official files. ``--pack`` holds any number of ``<tag>_episodes.jsonl``,
in sub-folders too, each with ``<tag>_goals_prices.json`` beside it (goals and prices of that
recording), and optionally ``*nouns*.json`` (noun lists to inject; looked for near the recording,
then near the catalogue), ``*rankings*.jsonl`` (query and ranked asins) and ``*tokens*.json`` (index
terms of each document). Every file may be ``.gz``. Missing files are named in the output; the
others are compared. Prints one JSON object; the exit code is 1 if nothing could be replayed.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
from provenance import to_json

import agentgym  # noqa: F401  (registers the ids)
from agentgym.core.tasks import Task, TaskSet
from agentgym.envs.webshop.engine import nouns
from agentgym.envs.webshop.engine.goals import ShopGoal, official_goals
from agentgym.envs.webshop.engine.shop import Shop
from agentgym.envs.webshop.official import files as official
from agentgym.errors import AgentGymError, ConfigurationError, DataError
from agentgym.retrieval import tokenize

TOLERANCE = 1e-9
SHOWN = 10
COUNTS = ("episodes", "steps", "purchases", "text", "text_rich", "clickables", "reward", "done",
          "reward_parts")  # fmt: skip
CHECKED_PARTS = ("r_type", "r_att", "w_att", "r_option", "w_option", "r_price", "w_price",
                 "query_match", "category_match", "title_score")  # fmt: skip


class GoalTasks(TaskSet):
    """Goals by number, as the recordings name them."""

    name = "recorded"
    splits = ("train",)

    def __init__(self, goals: list[ShopGoal]) -> None:
        self._goals = goals

    def __deepcopy__(self, memo: dict[int, Any]) -> GoalTasks:
        """Environments share the goals."""
        return self

    def len(self, split: str) -> int:
        """Return the number of goals."""
        return len(self._goals)

    def task(self, split: str, index: int) -> Task:
        """Return a goal as a task."""
        goal = self._goals[index]
        return Task(str(index), split, index, goal.instruction_text, goal.to_content())

    def find(self, task_id: str) -> Task:
        """Return the task of a goal number."""
        return self.task("train", int(task_id))


def lines(path: Path) -> Iterator[Any]:
    """Yield the JSON values of a line file, plain or ``.gz``."""
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as stream:
        for line in stream:
            if line.strip():
                yield json.loads(line)


def find_files(folder: Path, pattern: str) -> list[Path]:
    """List files that match a pattern, with or without ``.gz``."""
    return sorted({*folder.rglob(pattern), *folder.rglob(f"{pattern}.gz")})


def goals_of(pack: Path, episodes: Path) -> Path | None:
    """Find the goals of a recording: beside it, or else in the pack if only one file fits."""
    stem = episodes.name.split(".")[0]
    names = (stem.replace("episodes", "goals_prices"), stem.replace("episodes", "goals"))
    everywhere = find_files(pack, "*goals*.json")
    for candidates in ([p for p in everywhere if p.parent == episodes.parent], everywhere):
        for fitting in ([p for p in candidates if p.name.split(".")[0] in names], candidates):
            if len(fitting) == 1:
                return fitting[0]
    return None


def find_nouns(catalogue: Path, folder: Path, pack: Path, asins: set[str]) -> tuple[Any, str]:
    """Return the nouns of a recording in ``folder``, and the path or name of their source."""
    root, pattern = catalogue.resolve(), "*nouns*.json"
    near = [path for place in (folder, pack, root) for path in find_files(place, pattern)]
    for parent in root.parents[:2]:
        near += sorted([*parent.glob(f"*/{pattern}"), *parent.glob(f"*/{pattern}.gz")])
    for path in near:
        try:
            table = nouns.read_table(path)
        except (ConfigurationError, DataError):
            continue
        if asins & table.table.keys():
            return table, str(path)
    return nouns.nouns_of(nouns.BUILTIN), nouns.BUILTIN


class Replay:
    """Counts agreements and differences.

    Args:
        world: The shop with the recorded prices and nouns.
        goals: The recorded goals.
    """

    def __init__(self, world: Shop, goals: list[ShopGoal]) -> None:
        self.count = dict.fromkeys(COUNTS, 0)
        self.examples: list[dict[str, Any]] = []
        make = partial(gymnasium.make, "agentgym/WebShop-v0", world=world, tasks=GoalTasks(goals),
                       show_score=True, horizon=1_000_000, disable_env_checker=True)  # fmt: skip
        self.envs = {mode: make(observation_mode=mode) for mode in ("text", "text_rich")}

    def episode(self, record: dict[str, Any]) -> None:
        """Replay one recorded episode in both modes."""
        self.count["episodes"] += 1
        options = {"split": "train", "index": record["goal_index"]}
        observations = {mode: env.reset(options=options)[0] for mode, env in self.envs.items()}
        self.compare("text", observations["text"], record.get("reset_obs"), record, "reset")
        self.compare(
            "text_rich", observations["text_rich"], record.get("reset_obs_rich"), record, "reset"
        )
        all(self.step(step, record) for step in record["steps"])  # stops where a step ends it

    def step(self, step: dict[str, Any], record: dict[str, Any]) -> bool:
        """Replay one step; return whether the episode continues."""
        self.count["steps"] += 1
        action = step["action"]
        session = self.envs["text"].unwrapped.session
        native = {
            "has_search_bar": session.state.page == "index",
            "clickables": session.clickables(),
        }
        self.compare("clickables", native, step.get("available"), record, action)
        answers = {mode: env.step(action) for mode, env in self.envs.items()}
        text, reward, terminated, _, info = answers["text"]
        self.compare("text", text, step.get("obs"), record, action)
        self.compare("text_rich", answers["text_rich"][0], step.get("obs_rich"), record, action)
        self.compare("done", terminated, step.get("done"), record, action)
        self.count["purchases"] += terminated
        if abs(reward - step.get("reward", reward)) > TOLERANCE:
            self.compare("reward", reward, step["reward"], record, action)
        parts = step.get("reward_info") or {}
        recorded = {name: parts[name] for name in CHECKED_PARTS if name in parts}
        if terminated and recorded:
            native = {name: info["details"][name] for name in recorded}
            self.compare("reward_parts", native, recorded, record, action)
        return not terminated

    def compare(self, aspect: str, native: Any, recorded: Any, record: Any, action: str) -> None:
        """Count a difference; a value that was not recorded agrees with everything."""
        if recorded is None or native == recorded:
            return
        self.count[aspect] += 1
        if len(self.examples) < SHOWN:
            if isinstance(native, str) and isinstance(recorded, str):
                place = next((i for i, (a, b) in enumerate(zip(native, recorded, strict=False))
                              if a != b), min(len(native), len(recorded)))  # fmt: skip
                native, recorded = native[place : place + 80], recorded[place : place + 80]
            self.examples.append({"what": aspect, "goal": record.get("goal_index"),
                                  "action": action[:80], "ours": native,
                                  "recorded": recorded})  # fmt: skip


def build(
    catalogue: Path, pack: Path, missing: list[str], folder: Path, prices: dict[str, float]
) -> tuple[Shop, str]:
    """Build the shop of a recording in ``folder``; say where its nouns came from."""
    files = official.locate(catalogue)
    items = official.read_items(files)
    words, source = find_nouns(catalogue, folder, pack, {item["asin"] for item in items})
    if source == nouns.BUILTIN:
        missing.append("*nouns*.json of these products (the built-in extractor is used)")
    return Shop.build(items, official.read_instructions(files), words, prices=prices), source


def replay(
    catalogue: Path, pack: Path, missing: list[str]
) -> tuple[dict[str, Any], tuple[Shop, str] | None]:
    """Replay every recording of a pack; return also the last shop and the source of its nouns."""
    results, shop = dict[str, Any](), None
    for path in find_files(pack, "*episodes*.jsonl"):
        place = path.relative_to(pack)
        tag = place.with_name(path.name.split(".")[0]).as_posix()
        goals_path = goals_of(pack, path)
        if goals_path is None:
            missing.append(f"goals of {place} (its episodes are skipped)")
            continue
        side = official.load_json(goals_path)
        goals = [ShopGoal.from_content(goal) for goal in side["goals"]]
        prices = side.get("product_prices", {})
        shop = world, words = build(catalogue, pack, missing, path.parent, prices)
        run = Replay(world, goals)
        for record in lines(path):
            run.episode(record)
        differ = goals_differ(catalogue, world, goals)
        results[tag] = {**run.count, "nouns": words, "goals": len(goals),
                        "goals_that_we_make_differ": differ, "examples": run.examples}  # fmt: skip
    if not results:
        missing.append("*episodes*.jsonl")
    return results, shop


def goals_differ(catalogue: Path, world: Shop, recorded: list[ShopGoal]) -> int | None:
    """Count recorded goals that our official goals do not hold in the same place, bounds aside."""
    files = official.locate(catalogue)
    by_people = recorded and not isinstance(recorded[0].goal_options, dict)
    if by_people and files.human is None:
        return None
    human = official.read_human(files) if by_people else None
    goals = official_goals(official.read_instructions(files), human)(world.products.values())
    if len(goals) != len(recorded):
        return max(len(goals), len(recorded))
    return sum(content(a) != content(b) for a, b in zip(goals, recorded, strict=True))


def content(goal: ShopGoal) -> tuple[Any, ...]:
    """Return what two equal goals share, bounds aside."""
    text = goal.instruction_text.split(", and price lower")[0]
    return goal.asin, goal.attributes, goal.goal_options, goal.weight, text


def rankings(world: Shop, pack: Path, missing: list[str]) -> dict[str, Any]:
    """Compare search results with the recorded rankings."""
    paths = find_files(pack, "*rankings*.jsonl")
    if not paths:
        missing.append("*rankings*.jsonl")
        return {}
    total = at_10 = overlap = size = 0
    differing: list[str] = []
    for record in (record for path in paths for record in lines(path)):
        query = record.get("q", record.get("query", ""))
        hits = record.get("hits", record.get("ranking", []))
        recorded_hits = [hit if isinstance(hit, str) else hit[0] for hit in hits][:50]
        own_hits = world.search_engine.search(query, 50)[0] if query else []
        total += 1
        at_10 += own_hits[:10] == recorded_hits[:10]
        overlap += len(set(own_hits) & set(recorded_hits))
        size += max(len(recorded_hits), len(own_hits))
        differing += [query[:80]] * (own_hits != recorded_hits)
    return {"queries": total, "identical_at_10": at_10, "identical_at_50": total - len(differing),
            "overlap_at_50": overlap / max(size, 1), "examples": differing[:SHOWN]}  # fmt: skip


def tokens(world: Shop, pack: Path, missing: list[str]) -> dict[str, Any]:
    """Compare index terms with the recorded token streams."""
    paths = find_files(pack, "*tokens*.json")
    if not paths:
        missing.append("*tokens*.json")
        return {}
    streams, products = official.load_json(paths[0]), world.products
    pairs = list(zip(products.values(), streams, strict=False))
    if isinstance(streams, dict):
        pairs = [(products[asin], stream) for asin, stream in streams.items() if asin in products]
    differing = [item.asin for item, stream in pairs if tokenize(item.document()) != stream]
    return {"documents": len(pairs), "differ": len(differing), "examples": differing[:SHOWN]}


def compare_all(catalogue: Path, pack: Path, missing: list[str]) -> dict[str, Any]:
    """Compare everything in a pack; failures are listed under ``error``."""
    result: dict[str, Any] = {}
    try:
        result["recordings"], shop = replay(catalogue, pack, missing)
        world, result["nouns"] = shop or build(catalogue, pack, missing, pack, {})
        result["rankings"] = rankings(world, pack, missing)
        result["tokens"] = tokens(world, pack, missing)
    except (AgentGymError, OSError, KeyError, ValueError) as error:
        result["error"] = f"{type(error).__name__}: {error}"
    if not any(run["episodes"] for run in result.get("recordings", {}).values()):
        result.setdefault("error", f"expected recorded episodes with their goals in {pack}, got "
                          "none that can be replayed; see 'missing'")  # fmt: skip
    return result


def main() -> int:
    """Run the comparison and print its result."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--catalogue", type=Path, required=True)
    parser.add_argument("--pack", type=Path, required=True)
    args = parser.parse_args()
    missing, started = list[str](), time.perf_counter()
    result = compare_all(args.catalogue, args.pack, missing)
    runs = result.get("recordings", {}).values()
    result["total"] = {name: sum(run[name] for run in runs) for name in COUNTS}
    result["missing"] = sorted(set(missing))
    result["seconds"] = round(time.perf_counter() - started, 2)
    print(to_json(result))
    return int("error" in result)


if __name__ == "__main__":
    sys.exit(main())

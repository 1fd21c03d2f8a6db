"""Compare the native ALFWorld engine with the original, command by command.

    python benchmarks/alfworld_parity.py [--games FILE.json.gz] [--limit N] [--seed 0]
                                         [--policy mixed|onward|random|oracle] [--steps 20]

``--games`` is a pack: a JSON list of records with ``id``, ``task_type``, ``scene``, ``desc`` and
``pddl_problem``. Without it, games are generated, ``--per-type`` of each task type. ``--limit``
takes as many of each task type. Text, reward, done and the list of admissible commands are
compared at every start and after every command of the policy:

- ``random``: ``--steps`` commands, six of ten with an effect on things, one of ten odd (other
  case, more spaces, other scripts, empty, unknown things, more than one line).
- ``oracle``: our expert's plan.
- ``onward``: the first, then the expert from wherever that led.
- ``mixed``: the same, then the expert from a reset.

Times are processor time around the calls of one engine. With ``--worker`` the real engine runs in a
separate process, so that a crash or a hang costs one game, and times are wall time.

The exit code is 1 where anything differs, a solvable game is not won, an engine fails where the
other does not, or nothing could be compared. ``unsolvable`` counts games that the real engine
cannot load and the expert has no plan for, and games without a plan whose record says so.

Smallest run: ``--per-type 1 --limit 1 --steps 3``
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import sys
import time
from collections.abc import Iterable
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

from provenance import to_json

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from alfworld_duel import POLICIES, Arena
from rich.console import Console
from rich.progress import track

from agentgym.envs.alfworld.engine.household import TASK_TYPES, Game
from agentgym.envs.alfworld.generator import DIFFICULTIES, GeneratorConfig, generate
from agentgym.errors import AgentGymError

Entry = tuple[Game, bool]
"""A game, and whether its record says that it is solvable."""


def read_games(path: Path) -> list[Entry]:
    """Read a pack; a record that lacks something becomes a game that cannot be loaded."""
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        records = json.load(stream)
    games = []
    for number, record in enumerate(records):
        names = ("task_type", "scene", "desc", "pddl_problem")
        fields = (str(record.get(name, "")) for name in names)
        game = Game(str(record.get("id", number)), *fields)
        games.append((game, bool(record.get("solvable", True))))
    return games


def spread(games: Iterable[Entry], limit: int | None, seed: int) -> list[Entry]:
    """Take ``limit`` games, as many of each task type, in an order that the seed decides."""
    by_type: dict[str, list[Entry]] = {}
    for pair in games:
        by_type.setdefault(pair[0].task_type, []).append(pair)
    for name, group in by_type.items():
        random.Random(f"{seed} {name}").shuffle(group)
    rows = zip_longest(*(by_type[name] for name in sorted(by_type)))
    return [pair for pair in chain.from_iterable(rows) if pair is not None][:limit]


def generated(per_type: int, difficulty: str, seed: int) -> list[Entry]:
    """Generate games, ``per_type`` of each task type."""
    numbers = range(per_type * len(TASK_TYPES))
    return [(generate(GeneratorConfig.of(difficulty), "train", n, seed), True) for n in numbers]


def compare(args: argparse.Namespace) -> dict[str, Any]:
    """Play the games; ``error`` says why none could be played."""
    started = time.perf_counter()
    with Arena(args.policy, args.steps, args.seed, args.worker) as arena:
        error = {}
        try:
            games = (
                read_games(args.games)
                if args.games
                else generated(args.per_type, args.difficulty, args.seed)
            )
            sample = spread(games, args.limit, args.seed)
            for game, solvable in track(sample, "playing", console=Console(stderr=True)):
                arena.play(game, solvable=solvable)
        except (AgentGymError, OSError, ValueError) as problem:
            error = {"error": f"{type(problem).__name__}: {problem}"}
    return {
        **arena.tally.report(),
        **error,
        "policy": args.policy,
        "seed": args.seed,
        "clock": "wall time" if args.worker else "processor time",
        "seconds": round(time.perf_counter() - started, 1),
    }


def main() -> int:
    """Compare and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--games", type=Path, help="pack of games, .json.gz")
    parser.add_argument("--limit", type=int, help="most games to play")
    parser.add_argument("--policy", choices=POLICIES, default="mixed")
    parser.add_argument("--steps", type=int, default=20, help="random commands for each game")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--per-type", type=int, default=2, help="generated games of a task type")
    parser.add_argument("--difficulty", choices=sorted(DIFFICULTIES), default="hard")
    parser.add_argument("--worker", action="store_true", help="real engine in its own process")
    result = compare(parser.parse_args())
    print(to_json(result))
    return int(not result["good"] or "error" in result)


if __name__ == "__main__":
    sys.exit(main())

"""Play 20,000 episodes of each family in one process: do memory, descriptors or times grow?

    python -m benchmarks.long_process

Each family gets a process of its own, which plays random actions and the expert by turns, on
training tasks that the seed of the reset chooses; every tenth episode is forked in its first turn.
The first and the last measurement play the same 100 episodes, three times, and keep the fastest:
their ratio is the speed at the end beside that at the start. Shell and SWE, whose sandboxes take a
hundred times as long, play fewer.

Smallest run: ``--episodes 400 --families database``
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import subprocess
import sys
import threading
import time
from contextlib import suppress
from typing import Any

import agentgym
from agentgym.errors import NotSupported
from agentgym.policies.play import play
from agentgym.support.process_memory import peak_bytes, resident_bytes
from benchmarks.provenance import to_json

EPISODES = {"shell": 1_000, "swe": 40}
"""Numbers of episodes, where not 20,000."""
FAMILIES = (
    "alfworld", "babyai", "database", "mathpython", "search", "service", "textcraft", "textworld",
    "webshop", "shell", "swe",
)  # fmt: skip
PARTS = 10
"""Into so many parts the episodes of a family are divided; memory is taken after each."""
REPEATED = 100
"""Number of episodes that are timed at the start and at the end; at most a tenth of all."""


class Session:
    """The episodes of one environment.

    Args:
        family: Short name of the environment.
    """

    def __init__(self, family: str) -> None:
        self.env: Any = agentgym.make(family)
        self._policies = [agentgym.load_policy(name, self.env)() for name in ("random", "oracle")]
        self.turns = 0

    def play(self, seed: int) -> None:
        """Play an episode, with a fork in every tenth."""
        policy = self._policies[seed % 2]
        if hasattr(policy, "seed"):
            policy.seed(seed)
        for turn, moment in enumerate(play(policy, self.env, seed=seed)):
            self.turns += 1
            if turn == 1 and seed % 10 < 2 and not (moment.terminated or moment.truncated):
                with suppress(NotSupported):  # an engine with processes
                    self.env.unwrapped.restore(self.env.unwrapped.snapshot())

    def time(self, count: int) -> float:
        """Return the CPU seconds of the first episodes: the fastest of three."""
        return min(self._time_once(count) for _ in range(3))

    def _time_once(self, count: int) -> float:
        started = time.process_time()
        for seed in range(count):
            self.play(seed)
        return time.process_time() - started


def take_stock(episodes: int) -> dict[str, float]:
    """Return what this process holds after a number of episodes."""
    gc.collect()
    return {
        "episodes": episodes,
        "megabytes": (resident_bytes() or 0) / 2**20,
        "objects": len(gc.get_objects()),
        "descriptors": len(os.listdir("/proc/self/fd")),
        "threads": threading.active_count(),
        "cpu_seconds": time.process_time(),
    }


def measure(family: str, episodes: int) -> dict[str, Any]:
    """Play the episodes of a family in this process."""
    session = Session(family)
    repeated = min(REPEATED, episodes // 10)
    session.time(repeated)  # builds what the process keeps
    start, stock = session.time(repeated), [take_stock(0)]
    for part in range(PARTS):
        for seed in range(part * episodes // PARTS, (part + 1) * episodes // PARTS):
            session.play(1_000 + seed)
        stock.append(take_stock((part + 1) * episodes // PARTS))
        print(family, stock[-1], file=sys.stderr, flush=True)
    end = session.time(repeated)
    session.env.close()
    early, late = stock[2], stock[-1]
    return {
        "episodes": episodes,
        "turns": session.turns,
        "end_beside_start": end / start,
        "megabytes_early": early["megabytes"],
        "megabytes_late": late["megabytes"],
        "objects_early": early["objects"],
        "objects_late": late["objects"],
        "descriptors_grown": late["descriptors"] - early["descriptors"],
        "threads_grown": late["threads"] - early["threads"],
        "peak_megabytes": (peak_bytes() or 0) / 2**20,
        "cpu_seconds": late["cpu_seconds"],
        "stock": stock,
    }


def main() -> None:
    """Print the figures of all families as JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--families", nargs="+", default=list(FAMILIES))
    parser.add_argument("--episodes", type=int, default=20_000)
    parser.add_argument("--here", action="store_true", help="in this process, for one family")
    options = parser.parse_args()
    if options.here:
        print(json.dumps(measure(options.families[0], options.episodes)))
        return
    families = {}
    for family in options.families:
        count = str(min(EPISODES.get(family, options.episodes), options.episodes))
        command = [sys.executable, "-m", "benchmarks.long_process", "--here", "--families", family]
        done = subprocess.run([*command, "--episodes", count], stdout=subprocess.PIPE, check=True)
        families[family] = json.loads(done.stdout)
    print(to_json({"early_episodes": "a fifth", "families": families}))


if __name__ == "__main__":
    main()

"""Measure SWE episodes: first command, later commands, grading, many sandboxes at once.

    python benchmarks/swe_throughput.py [--seconds 20] [--boxes 1 4 16] [--sandbox auto]

Episodes are those of the expert ``developer`` on the bundled tasks: run the tests, look, edit, run
the tests, submit. Several sandboxes run in threads, as with the back end ``thread``. All times are
wall time, because other processes do the work, so the machine must be idle. ``met`` compares with
the bars, and the exit code is 1 if one is missed.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import threading
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from provenance import to_json
from stopwatch import make, wall

ENV_ID = "agentgym/SWE-v0"
BARS: dict[str, tuple[str, float]] = {
    "first_command_milliseconds": ("<=", 150),
    "command_milliseconds": ("<=", 15),
    "grade_milliseconds": ("<=", 500),
}
ROUNDS = 15
LOOK = "```bash\nls\n```"


def single(sandbox: str) -> dict[str, float]:
    """Time the parts of an episode with one sandbox; medians."""
    from agentgym.core.later import read

    env = make(ENV_ID, sandbox=sandbox)
    unwrapped = env.unwrapped
    times: dict[str, list[float]] = {"reset": [], "first_command": [], "command": [], "grade": []}
    for index in range(ROUNDS):
        options = {"split": "train", "index": index}
        times["reset"].append(wall(lambda options=options: env.reset(options=options)))
        times["first_command"].append(wall(lambda: env.step(LOOK)))
        times["command"].append(wall(lambda: env.step(LOOK)))
        while (read(unwrapped._oracle_turns()) or 0) > 1:
            env.step(unwrapped.demonstrator_action())
        times["grade"].append(wall(lambda: env.step(unwrapped.demonstrator_action())))
    env.close()
    medians = {name: 1000 * statistics.median(samples[1:]) for name, samples in times.items()}
    return {f"{name}_milliseconds": round(value, 2) for name, value in medians.items()}


class Player(threading.Thread):
    """Plays the expert's episodes in one environment until time is up."""

    def __init__(self, number: int, sandbox: str, until: float) -> None:
        super().__init__()
        self.episodes = self.turns = self.solved = 0
        self._env = make(ENV_ID, sandbox=sandbox, expert="developer")
        self._number, self._until = number, until

    def run(self) -> None:
        """Play."""
        size = self._env.unwrapped.tasks.len("train")
        index = 37 * self._number
        while time.perf_counter() < self._until:
            _, info = self._env.reset(options={"split": "train", "index": index % size})
            while not info["stop_reason"]:
                info = self._env.step(self._env.unwrapped.demonstrator_action())[4]
                self.turns += 1
            self.episodes += 1
            self.solved += info["success"]
            index += 1
        self._env.close()


def together(boxes: int, sandbox: str, seconds: float) -> dict[str, float]:
    """Play in several sandboxes at once; rates count whole episodes."""
    started = time.perf_counter()
    players = [Player(number, sandbox, started + seconds) for number in range(boxes)]
    for player in players:
        player.start()
    for player in players:
        player.join()
    took = time.perf_counter() - started
    episodes = sum(player.episodes for player in players)
    return {
        "episodes_per_second": round(episodes / took, 3),
        "turns_per_second": round(sum(player.turns for player in players) / took, 3),
        "solved": sum(player.solved for player in players) / max(1, episodes),
    }


def judge(figures: dict[str, float]) -> dict[str, bool]:
    """Compare figures with their bars."""
    return {f"{name} {sign} {bar}": figures[name] <= bar for name, (sign, bar) in BARS.items()}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--boxes", type=int, nargs="+", default=[1, 4, 16])
    parser.add_argument("--sandbox", default="auto")
    arguments = parser.parse_args()
    figures = single(arguments.sandbox)
    results: dict[str, Any] = {"sandbox": arguments.sandbox, **figures}
    for boxes in arguments.boxes:
        results[f"boxes_{boxes}"] = together(boxes, arguments.sandbox, arguments.seconds)
    within_bars = judge(figures)
    print(to_json({**results, "met": within_bars}))
    sys.exit(not all(within_bars.values()))


if __name__ == "__main__":
    main()

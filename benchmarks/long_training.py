"""Train the tiny policy for six hours: does success still rise, do memory, files or times grow?

    python -m benchmarks.long_training --out FOLDER

`agentgym train` with the family's defaults, but no baselines and no last step, plays in
FOLDER/run; every minute a line is added to FOLDER/samples.jsonl. If the training is killed, it is
resumed. It ends with this script, which goes on by the same command. The figures are given for
every hour: success is the mean over the validations of the hour, which play the same tasks, with
the interval over tasks. Wall time depends on other work of the machine, processor time hardly.

Smallest run: ``--minutes 5 --part 1 --every 2 --out FOLDER``
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from statistics import mean, median
from typing import Any

from agentgym.support.process_memory import resident_bytes
from agentgym.support.statistics import mean_ci95
from benchmarks.provenance import to_json
from trainers.config.config_file import CONFIG_FILE
from trainers.output.jsonl import append_line, cut_unfinished_line, read_jsonl
from trainers.output.phase import Phase
from trainers.output.roles import TRAINED
from trainers.output.run_folder import RunFolder

KILLS = 10
"""Kills after which this script gives up; started again, it counts anew."""
PR_SET_PDEATHSIG = 1
Records = Sequence[Mapping[str, Any]]


class LongTraining:
    """A training, and what its process and its folder hold over time.

    Args:
        options: The options of this script.
    """

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self.run = RunFolder(options.out / "run")
        self._log = options.out / "samples.jsonl"

    def play(self) -> None:
        """Train to the end, with a new process after every kill.

        Raises:
            SystemExit: The training ended with an error, or was killed too often.
        """
        cut_unfinished_line(self._log)
        for _ in range(KILLS):
            with subprocess.Popen(
                self._command(), stdout=sys.stderr,
                preexec_fn=lambda: ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL),
            ) as process:  # fmt: skip
                self._watch(process)
            if process.returncode >= 0:
                break
        if process.returncode:
            sys.exit(f"expected a training that ends, got the exit code {process.returncode}")

    def samples(self) -> Records:
        """Return the lines of all processes so far."""
        return list(read_jsonl(self._log))

    def _command(self) -> list[str]:
        options = self._options
        command = [sys.executable, "-m", "agentgym", "train", "--env", options.env, "--quiet"]
        command += ["--minutes", str(options.minutes), "--steps", "1000000"]
        command += ["--eval.baselines", "none", "--out", str(self.run.path)]
        return command + ["--resume"] * (self.run.path / CONFIG_FILE).exists()

    def _watch(self, process: subprocess.Popen[bytes]) -> None:
        """Add a line at every interval until the process ends."""
        before, started = self.samples(), time.monotonic()
        start, seconds = (before[-1]["start"] + 1, before[-1]["seconds"]) if before else (1, 0.0)
        while True:
            try:
                process.wait(self._options.every)
                return
            except subprocess.TimeoutExpired:
                clock = {"seconds": seconds + time.monotonic() - started, "start": start}
            with suppress(OSError):  # it ends while it is looked at
                append_line(self._log, json.dumps(clock | self._take_stock(process.pid)))

    def _take_stock(self, process: int) -> dict[str, float]:
        """Return what the process and the folder hold now."""
        place = Path("/proc") / str(process)
        ticks = (place / "stat").read_text().rpartition(")")[2].split()[11:13]
        sizes = [path.stat().st_size for path in self.run.path.rglob("*") if path.is_file()]
        return {
            "step": last_step(self.run.metrics()),
            "cpu_seconds": sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK"),
            "megabytes": (resident_bytes(process) or 0) / 2**20,
            "descriptors": len(os.listdir(place / "fd")),
            "threads": len(os.listdir(place / "task")),
            "files": len(sizes),
            "folder_megabytes": sum(sizes) / 2**20,
        }


def last_step(metrics: Records) -> int:
    """Return the number of steps of reinforcement learning so far."""
    return max((r["step"] for r in metrics if r["phase"] == Phase.REINFORCEMENT), default=0)


def divide(
    samples: Records, metrics: Records, successes: Mapping[int, Mapping[str, bool]], length: float
) -> list[dict[str, Any]]:
    """Return the figures of each part of the time.

    Args:
        samples: Lines of ``samples.jsonl``.
        metrics: Lines of the run's ``metrics.jsonl``.
        successes: Step -> task of validation -> whether it was solved.
        length: Seconds of a part.

    Returns:
        A row for every part with a sample, in their order; memory, descriptors, threads and files
        are the greatest of the part.
    """
    steps = {r["step"]: r for r in metrics if r["phase"] == Phase.REINFORCEMENT}
    parts, rows, first = defaultdict(list), [], 0
    for sample in samples:
        parts[sample["seconds"] // length].append(sample)
    for number, part in parts.items():
        last = max(first, *(sample["step"] for sample in part))
        row = {"minutes": (number + 1) * length / 60, "starts": part[-1]["start"], "step": last}
        row |= pool([tasks for step, tasks in successes.items() if first < step <= last])
        if last > first:
            earlier = steps[first]["turns_total"] if first else 0
            turns = (steps[last]["turns_total"] - earlier) / (last - first)
            cpu = cpu_a_step(part, max(steps))
            row |= {
                "seconds_a_step": median(steps[n]["seconds"] for n in range(first + 1, last + 1)),
                "turns_a_step": turns,
                "cpu_seconds_a_step": cpu,
                "cpu_milliseconds_a_turn": cpu and 1000 * cpu / turns,
            }
        for name in ("megabytes", "descriptors", "threads", "files", "folder_megabytes"):
            row[name] = max(sample[name] for sample in part)
        rows.append(row)
        first = last
    return rows


def cpu_a_step(samples: Records, final: int) -> float | None:
    """Return the processor seconds of a step, validations and checkpoints included.

    Args:
        samples: Lines of one part.
        final: The last step of all; what comes after it is no training.

    Returns:
        The mean between samples of one process; None if there are none.
    """
    pairs = [
        (sample, later)
        for sample, later in pairwise(samples)
        if sample["start"] == later["start"] and 0 < sample["step"] < final
    ]
    steps = sum(later["step"] - sample["step"] for sample, later in pairs)
    cpu = sum(later["cpu_seconds"] - sample["cpu_seconds"] for sample, later in pairs)
    return cpu / steps if steps else None


def pool(validations: Sequence[Mapping[str, bool]]) -> dict[str, Any]:
    """Return the success of several validations on the same tasks, with its interval over tasks."""
    if not validations:
        return {"validations": 0}
    rates = [mean(solved[task] for solved in validations) for task in validations[0]]
    success, *ends = mean_ci95(rates, (0.0, 1.0))
    return {"validations": len(validations), "success": success, "ci95": ends}


def describe_end(run: RunFolder) -> dict[str, Any]:
    """Return how a training ended: its steps, and success on the test tasks; nothing before."""
    if not run.summary_path.exists():
        return {}
    summary = json.loads(run.summary_path.read_text())
    return {
        "trained_at": summary["commit"],
        "steps": summary["steps"],
        "cpu_minutes": summary["cpu_s"] / 60,
        "chosen_step": summary["chosen"]["step"],
        "test": {role: figures["success"] for role, figures in summary["eval"].items()},
        "test_ci95": summary["eval"][TRAINED]["success_ci95"],
        "test_tasks": summary["eval"][TRAINED]["n"],
        "test_greedy": summary["greedy"][TRAINED]["success"],
    }


def summarize(training: LongTraining, length: float) -> dict[str, Any]:
    """Return the figures of a training so far, by parts of ``length`` seconds."""
    run, successes = training.run, defaultdict[int, dict[str, bool]](dict)
    for file in run.eval_files(Phase.VALIDATION):
        for episode in read_jsonl(file):
            successes[episode["extra"]["step"]][episode["task_id"]] = episode["success"]
    sizes = {
        path.name: sum(file.stat().st_size for file in (path, *path.rglob("*")) if file.is_file())
        for path in sorted(run.path.iterdir())
    }
    return {
        **describe_end(run),
        "warm_start": pool([successes[0]] if 0 in successes else []),
        "parts": divide(training.samples(), run.metrics(), successes, length),
        "megabytes_by_file": {name: size / 2**20 for name, size in sizes.items() if size > 2**20},
    }


def main() -> None:
    """Train, or go on, and print the figures as JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--env", default="webshop")
    parser.add_argument("--minutes", type=float, default=360.0, help="of the whole training")
    parser.add_argument("--part", type=float, default=60.0, help="minutes of a row of figures")
    parser.add_argument("--every", type=float, default=60.0, help="seconds between two samples")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--so-far", action="store_true", help="only print what is there")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    training = LongTraining(options)
    if not options.so_far:
        training.play()
    settings = {"env": options.env, "minutes": options.minutes}
    print(to_json({**settings, **summarize(training, 60 * options.part)}))


if __name__ == "__main__":
    main()

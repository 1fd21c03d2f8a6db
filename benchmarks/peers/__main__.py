"""Measure a step of one small game here and behind the interfaces of other projects.

Every stack runs in a separate process and, if dependencies conflict, in a separate Python. Repeats
alternate between stacks, so that other work on the machine affects all alike; the best of each is
kept, because other work can only make it worse. Compare figures of one run only.

Usage:
    python -m benchmarks.peers [--python openenv=PYTHON ...] [--seconds 0.05] [--repeats 40]

Smallest run: ``--seconds 0.05 --repeats 1``
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.peers.stacks import STACKS, Stack
from benchmarks.provenance import to_json

ROOT = Path(__file__).resolve().parents[2]
COUNTS = (1, 8, 64, 256)
BARS = {"loop": 250_000, "slots": 150_000, "Gymnasium vector": 100_000}
"""Minimum steps per second of agentgym: one environment, and 64 in each vector interface."""

_IMPORT = "import time; t = time.perf_counter(); import {}; print(time.perf_counter() - t)"
_FIRST = (
    "import time; t = time.perf_counter(); from benchmarks.peers.stacks import STACKS;"
    " loop = STACKS[{!r}].loop(); loop.reset(); loop.step('guess[30]');"
    " print(time.perf_counter() - t)"
)


class Process:
    """The worker of one stack."""

    def __init__(self, name: str, python: str) -> None:
        self.process = subprocess.Popen(
            [python, "-m", "benchmarks.peers.worker", name],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def ask(self, *request: Any) -> float:
        """Return one measurement.

        Raises:
            RuntimeError: The worker ended instead of answering.
        """
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        if not (answer := self.process.stdout.readline()):
            raise RuntimeError(f"worker {self.process.args!r} ended at {request}")
        return float(json.loads(answer))

    def close(self) -> None:
        """End the worker."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def seconds_of(python: str, code: str, repeats: int = 3) -> float:
    """Return the minimum of the seconds that code prints in fresh processes."""
    times = [
        subprocess.run(
            [python, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
        ).stdout.split()[-1]
        for _ in range(repeats)
    ]
    return round(min(map(float, times)), 3)


def absent(stack: Stack, python: str) -> str | None:
    """Return why a stack cannot be measured in a Python, if so."""
    process = subprocess.run(
        [python, "-c", f"import {stack.module}"], capture_output=True, text=True, cwd=ROOT
    )
    if process.returncode:
        reason = process.stderr.strip().splitlines()[-1:]
        return f"{' '.join(reason)}; pip install {stack.requirement}"
    return None


def version_of(stack: Stack, python: str) -> str | None:
    """Return the installed version of the project of a stack."""
    if not stack.requirement:
        return None
    code = f"from importlib.metadata import version; print(version({stack.requirement!r}))"
    process = subprocess.run([python, "-c", code], capture_output=True, text=True, cwd=ROOT)
    return process.stdout.strip() or None


def singles(pythons: dict[str, str], seconds: float, repeats: int) -> dict[str, dict[str, Any]]:
    """Measure one environment of each stack: steps, import, first episode and memory."""
    workers = {name: Process(name, python) for name, python in pythons.items()}
    best = dict.fromkeys(workers, 0.0)
    for _ in range(repeats):
        for name, worker in workers.items():
            best[name] = max(best[name], worker.ask("loop", seconds))
    figures: dict[str, dict[str, Any]] = {}
    for name, worker in workers.items():
        stack, python = STACKS[name], pythons[name]
        figures[name] = {
            "version": version_of(stack, python),
            "steps_per_second": round(best[name]),
            "microseconds_per_step": round(1e6 / best[name], 2),
            "import_seconds": seconds_of(python, _IMPORT.format(stack.module)),
            "first_episode_seconds": seconds_of(python, _FIRST.format(name)),
            "bytes_per_environment": round(worker.ask("bytes_each")),
            "resident_megabytes": round(worker.ask("resident") / 2**20, 1),
            "remark": stack.remark,
        }
        worker.close()
    return figures


def vectors(pythons: dict[str, str], seconds: float, repeats: int) -> dict[str, dict[str, int]]:
    """Measure vector environments: ``stack, interface`` -> number -> steps per second."""
    faces = [(name, face) for name in pythons for face in STACKS[name].vectors]
    workers = {name: Process(name, pythons[name]) for name in dict.fromkeys(n for n, _ in faces)}
    figures: dict[str, dict[str, int]] = {f"{name}, {face}": {} for name, face in faces}
    for count in COUNTS:
        best = dict.fromkeys(faces, 0.0)
        for _ in range(repeats):
            for name, face in faces:
                rate = workers[name].ask("vector", face, count, seconds)
                best[name, face] = max(best[name, face], rate)
        for name, face in faces:
            workers[name].ask("close", face, count)
            figures[f"{name}, {face}"][str(count)] = round(best[name, face])
    for worker in workers.values():
        worker.close()
    return figures


def compare_bars(
    single_figures: dict[str, Any], vector_figures: dict[str, dict[str, int]]
) -> dict[str, bool]:
    """Compare our figures with the bars."""
    measured = {"loop": single_figures["agentgym"]["steps_per_second"]}
    measured |= {
        face: vector_figures[f"agentgym, {face}"]["64"] for face in STACKS["agentgym"].vectors
    }
    return {name: measured[name] >= bar for name, bar in BARS.items()}


def main() -> int:
    """Measure and print one JSON object."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--python", nargs="*", default=[], metavar="STACK=PATH")
    parser.add_argument("--seconds", type=float, default=0.05, help="length of one repeat")
    parser.add_argument("--repeats", type=int, default=40)
    arguments = parser.parse_args()
    paths = dict(entry.split("=", 1) for entry in arguments.python)
    if unknown := paths.keys() - STACKS.keys():
        parser.error(f"expected stacks of {', '.join(STACKS)}; got {', '.join(sorted(unknown))}")
    pythons = {name: paths.get(name, sys.executable) for name in STACKS}
    missing = {name: why for name, stack in STACKS.items() if (why := absent(stack, pythons[name]))}
    installed = {name: python for name, python in pythons.items() if name not in missing}
    single_figures = singles(installed, arguments.seconds, arguments.repeats)
    vector_figures = vectors(installed, arguments.seconds, arguments.repeats)
    reached = compare_bars(single_figures, vector_figures)
    report = {
        "benchmark": "peers",
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "one_environment": single_figures,
        "many_environments": vector_figures,
        "not_installed": missing,
        "bars": BARS,
        "met": reached,
    }
    print(to_json(report))
    return 0 if all(reached.values()) else 1


if __name__ == "__main__":
    sys.exit(main())

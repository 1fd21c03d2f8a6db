"""A process for one stack, which answers requests for measurements.

Usage:
    python -m benchmarks.peers.worker NAME

Reads one JSON array ``[measure, argument ...]`` a line and answers with one JSON number a line.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.peers.stacks import GUESSES, STACKS, Loop, Stack, Vector

ROUND = 50
"""Actions between two readings of the clock."""


def loop_rate(loop: Loop, seconds: float) -> float:
    """Return steps per second of one environment, resets included."""
    loop.reset()
    steps = turn = 0
    start = time.perf_counter()
    while (elapsed := time.perf_counter() - start) < seconds:
        for _ in range(ROUND):
            turn += 1
            if loop.step(GUESSES[turn - 1]):
                loop.reset()
                turn = 0
        steps += ROUND
    return steps / elapsed


def vector_rate(vector: Vector, count: int, seconds: float) -> float:
    """Return environment steps per second of many environments, resets included."""
    steps = turn = 0
    start = time.perf_counter()
    while (elapsed := time.perf_counter() - start) < seconds:
        vector.turn([GUESSES[(turn + member) % len(GUESSES)] for member in range(count)])
        steps += count
        turn += 1
    return steps / elapsed


def bytes_each(stack: Stack, count: int = 500) -> float:
    """Return the resident bytes of one more environment, in the middle of an episode."""
    first = stack.loop()
    first.reset()
    old_bytes = resident()
    loops = [stack.loop() for _ in range(count)]
    for loop in loops:
        loop.reset()
        loop.step(GUESSES[0])
    return (resident() - old_bytes) / count


def resident() -> int:
    """Return the resident bytes of this process; Linux only."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Worker:
    """Keeps the environments of one stack, so that repeats only measure steps."""

    def __init__(self, stack: Stack) -> None:
        self.stack = stack
        self.loop: Loop | None = None
        self.vectors: dict[tuple[str, int], Vector] = {}

    def answer(self, measure: str, *arguments: Any) -> float:
        """Take one measurement by name."""
        if measure == "loop":
            self.loop = self.loop or self.stack.loop()
            return loop_rate(self.loop, *arguments)
        if measure == "vector":
            face, count, seconds = arguments
            if (face, count) not in self.vectors:
                self.vectors[face, count] = self.stack.vectors[face](count)
            return vector_rate(self.vectors[face, count], count, seconds)
        if measure == "close":
            self.vectors.pop(tuple(arguments)).close()
            return 0.0
        return {"bytes_each": lambda: bytes_each(self.stack), "resident": lambda: resident()}[
            measure
        ]()


def main() -> None:
    """Answer until the input ends; output of the project goes to standard error."""
    answers, sys.stdout = sys.stdout, sys.stderr
    worker = Worker(STACKS[sys.argv[1]])
    for line in sys.stdin:
        print(json.dumps(worker.answer(*json.loads(line))), file=answers, flush=True)


if __name__ == "__main__":
    main()

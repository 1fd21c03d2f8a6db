"""Runs in a box at build time: what do changed sources answer?

``python3 -S -s variants.py REQUESTS``, beside ``driver.py``. The first line of the file holds the
driver's settings, the second a list of programs, each further one a variant: the files that differ
and the numbers of the programs that it is asked. A line is printed for each: its answers, or, where
only ``survives`` is asked, whether it answered all of them as the first variant did. The sources
are the builder's own, so what is printed here is believed.
"""

from __future__ import annotations

import json
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from agentgym.envs.swe.held_out.driver import Worker
else:  # it lies beside this file
    from driver import Worker


def put(files: dict[str, str | None]) -> dict[str, str | None]:
    """Write files, or remove those without content; return what stood there."""
    replaced_files: dict[str, str | None] = {}
    for path, content in files.items():
        replaced_files[path] = None
        if os.path.exists(path):
            with open(path, encoding="utf-8", newline="") as file:
                replaced_files[path] = file.read()
        if content is None:
            if os.path.exists(path):
                os.unlink(path)
            continue
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(content)
    return replaced_files


def answers(
    settings: dict[str, Any], programs: list[str], numbers: list[int], want: dict[int, str | None]
) -> list[str | None]:
    """Return the answers of the source as it is; with ``want``, up to the first other one."""
    worker, late = Worker(settings), 0
    lines: list[str | None] = []
    for number in numbers:
        line = None
        if late <= settings["late"] and worker.ready:
            line = worker.ask(json.dumps(programs[number]).encode("ascii") + b"\n")
            if line is None or line == b'[["died"]]':
                line, late = None, late + 1
                worker.end()
                worker = Worker(settings)
        lines.append(None if line is None else line.decode("ascii"))
        if want and lines[-1] != want[number]:
            break
    worker.end()
    return lines


def main(path: str) -> None:
    """Answer the requests of a file.

    Args:
        path: The file.
    """
    with open(path, encoding="ascii") as file:
        settings, programs, *variants = map(json.loads, file)
    first: dict[int, str | None] = {}
    tellers_by_files: dict[str, dict[int, int]] = {}
    for variant in variants:
        replaced_files = put(variant["files"])
        want = first if variant["survives"] else {}
        numbers = variant["asked"]
        tellers = tellers_by_files.setdefault(" ".join(sorted(variant["files"])), {})
        if want:  # what told the variants of the same files before is asked first
            numbers = sorted(numbers, key=lambda number: -tellers.get(number, 0))
        lines = answers(settings, programs, numbers, want)
        put(replaced_files)
        if not first:
            first = dict(zip(numbers, lines, strict=True))
        if want:
            last = numbers[len(lines) - 1]
            survived = lines[-1] == want[last]
            tellers[last] = tellers.get(last, 0) + (not survived)
            print(json.dumps(survived))
        else:
            print(json.dumps(lines))
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])

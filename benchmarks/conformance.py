"""Check that every interface shows the same episodes as Gymnasium.

Runs `tests/conformance`: the expert, random actions and hostile text, through Gymnasium and through
the interface of a peer, compared by a hash of observations, rewards and ends. Gymnasium's episodes
are played once per run for all interfaces. Interfaces whose peer is not installed in their Python
are listed as left out. Exit code 1 if an interface differs.

Usage:
    python -m benchmarks.conformance [--tasks 100] [--first 0] [--envs swe webshop]
        [--doors http mcp2] [--python openenv=PYTHON ...] [--rows ROWS.jsonl]

``--rows`` stores finished rows: repeat the command to continue after a kill. ``--first 25`` leaves
out the 25 tasks that an earlier result has; the table of the page joins such rows.

Smallest run: ``--tasks 2 --envs webshop --doors http``
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from agentgym.registration import FAMILIES
from agentgym.support.growing_file import append_line, drop_cut_line
from benchmarks.provenance import ROOT, to_json

DOORS = {
    "http": ("http", ""),
    "mcp1": ("mcp", "mcp"),
    "mcp2": ("mcp", "mcp"),
    "openenv": ("openenv", "openenv"),
    "trl": ("trl", "trl"),
    "talks": ("talks", ""),
    "verifiers": ("verifiers", "verifiers"),
    "inspect": ("inspect", "inspect-ai"),
    "harbor": ("harbor", "harbor"),
}
"""Door -> its file of `tests/conformance`, and the peer whose version is told, if it needs one.

Talks are those of SkyRL and verl-agent.
"""
ONLY_SWE = ("harbor",)
"""Interfaces for SWE only."""
KEYS = ("door", "env", "first", "tasks")
"""Entries of a row that identify the tasks: from ``first`` up to ``tasks``."""
OUTCOMES = ("failure", "error", "skipped")
"""JUnit's elements for tests that did not pass."""


def play(door: str, family: str, tasks: range, python: str, episode_folder: str) -> dict[str, Any]:
    """Run the tests of one interface with one family; return the results.

    Args:
        door: The interface.
        family: The family.
        tasks: The tasks to play.
        python: The Python that has the peer.
        episode_folder: Folder for Gymnasium's episodes.
    """
    selection = "episodes_are_those_of_gymnasium or oracle_solves"
    env_id = next(entry.id for entry in FAMILIES if entry.name == family)
    if door not in ONLY_SWE:
        selection = f"episodes_are_those_of_gymnasium and {env_id.rpartition('/')[2]}"
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch, "report.xml")
        name, peer = DOORS[door]
        file = f"tests/conformance/test_{name}.py"
        options = ["-q", "-p", "no:cacheprovider", "-o", "addopts=", f"--junitxml={report}"]
        process = subprocess.run(
            [python, "-m", "pytest", *options, "-k", selection, file],
            cwd=ROOT,
            env={
                **os.environ,
                "AGENTGYM_CONFORMANCE_TASKS": f"{tasks.start}:{tasks.stop}",
                "AGENTGYM_CONFORMANCE_EPISODES": episode_folder,
            },
            capture_output=True,
            text=True,
        )
        results = list(outcomes(report)) if report.exists() else [("error", process.stdout[-500:])]
    messages = [text for outcome, text in results if outcome != "passed"]
    return {
        "door": door,
        "peer": version(peer, python) if peer else "",
        "env": env_id,
        "first": tasks.start,
        "tasks": tasks.stop,
        "tests": {
            name: [outcome for outcome, _ in results].count(name) for name in ("passed", *OUTCOMES)
        },
        "told": " ".join(messages[0].split())[:300] if messages else "",
        "seconds": round(time.monotonic() - start, 1),
    }


def version(peer: str, python: str) -> str:
    """Return name and version of another Python's peer, or why there is none."""
    code = f"from importlib.metadata import version; print(version({peer!r}))"
    process = subprocess.run([python, "-c", code], capture_output=True, text=True)
    return f"{peer} {process.stdout.strip()}" if not process.returncode else "not installed"


def outcomes(report: Path) -> Iterator[tuple[str, str]]:
    """Yield the outcome and message of each test in a report."""
    for case in ElementTree.parse(report).iter("testcase"):
        bad = next((part for part in case if part.tag in OUTCOMES), None)
        yield ("passed", "") if bad is None else (bad.tag, bad.get("message") or "")


def play_doors(options: argparse.Namespace, episode_folder: str) -> Iterator[dict[str, Any]]:
    """Yield the result of each interface and family, from stored rows if available."""
    pythons = dict(entry.split("=", 1) for entry in options.python)
    stored: list[dict[str, Any]] = []
    if options.rows and options.rows.exists():
        drop_cut_line(options.rows)
        stored = [json.loads(line) for line in options.rows.read_text("utf-8").splitlines()]
    for family, door in ((family, door) for door in options.doors for family in options.envs):
        if door in ONLY_SWE and family != "swe":
            continue
        env_id = next(entry.id for entry in FAMILIES if entry.name == family)
        identity = [door, env_id, options.first, options.tasks]
        matches = (row for row in stored if [row.get(key, 0) for key in KEYS] == identity)
        row = next(matches, None)
        if row is None:
            tasks = range(options.first, options.tasks)
            row = play(door, family, tasks, pythons.get(door, sys.executable), episode_folder)
            if options.rows:
                append_line(options.rows, json.dumps(row) + "\n")
        print(row, file=sys.stderr, flush=True)
        yield row


def main() -> int:
    """Play through every interface, and print the result."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [entry.name for entry in FAMILIES]
    parser.add_argument("--tasks", type=int, default=100)
    parser.add_argument("--first", type=int, default=0, help="the first task that is played")
    parser.add_argument("--envs", nargs="+", choices=names, default=names)
    parser.add_argument("--doors", nargs="+", choices=DOORS, default=list(DOORS))
    parser.add_argument("--python", nargs="*", default=[], metavar="DOOR=PATH")
    parser.add_argument("--rows", type=Path, help="file of what was played, to go on")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as episode_folder:
        rows = list(play_doors(options, episode_folder))
    attempted = [row for row in rows if row["tests"]["passed"] or not row["tests"]["skipped"]]
    differing = [row for row in attempted if row["tests"]["failure"] or row["tests"]["error"]]
    print(
        to_json({"rows": rows, "differing": len(differing), "left_out": len(rows) - len(attempted)})
    )
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())

"""Check that Harbor runs exported SWE tasks in Docker or another of its environments.

Exports SWE tasks and lets Harbor run its oracle and its idle agent on them, in Docker or another of
its environments. Exit code 1 unless the oracle always gets reward 1 and the idle agent 0.

Usage:
    python -m benchmarks.harbor_docker --harbor COMMAND [--env docker] [--image IMAGE] [--tasks 2]

Smallest run: ``--tasks 1 --image IMAGE``
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.provenance import to_json

WORTH = {"oracle": 1.0, "nop": 0.0}
"""Agent of Harbor -> expected reward on each task."""


def export(folder: Path, tasks: int, image: str) -> None:
    """Write tasks of the test split."""
    command = [sys.executable, "-m", "agentgym", "export", "swe", str(folder), "--to", "harbor"]
    command += [
        "--split",
        "test",
        "--num-tasks",
        str(tasks),
        *(["--image", image] if image else []),
    ]
    subprocess.run(command, check=True, stdout=sys.stderr)


def trials(harbor: str, folder: Path, agent: str, env: str) -> Iterator[dict[str, Any]]:
    """Let Harbor run an agent on every task; yield the result of each trial."""
    with tempfile.TemporaryDirectory() as out:
        command = [harbor, "run", "-p", str(folder), "-a", agent, "--env", env, "-o", out]
        subprocess.run([*command, "-n", "1"], check=True, stdout=sys.stderr)
        for path in sorted(Path(out).glob("*/*/result.json")):
            trial = json.loads(path.read_text("utf-8"))
            verdict, error = trial["verifier_result"], trial["exception_info"]
            yield {
                "agent": agent,
                "task": trial["task_name"],
                "reward": verdict["rewards"]["reward"] if verdict else None,
                "error": error["exception_message"][:300] if error else "",
            }


def main() -> int:
    """Play, and print the result."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--harbor", default="harbor", help="the command")
    parser.add_argument("--env", default="docker", help="environment, or MODULE:CLASS of one")
    parser.add_argument("--image", default="", help="image that tasks are based on")
    parser.add_argument("--tasks", type=int, default=2)
    parser.add_argument("--told", default="", help="what a reader has to know of the engine")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, "tasks")
        export(folder, options.tasks, options.image)
        rows = [
            row for agent in WORTH for row in trials(options.harbor, folder, agent, options.env)
        ]
        # Unchanged: the tasks themselves request no network.
        isolated = all("no-network" in path.read_text() for path in folder.glob("*/task.toml"))
    as_expected = sum(row["reward"] == WORTH[row["agent"]] for row in rows)
    result = {
        "env": options.env,
        "image": options.image,
        "told": options.told,
        "no_network": isolated,
    }
    print(to_json({**result, "rows": rows, "right": as_expected, "n": options.tasks}))
    return 0 if as_expected == len(WORTH) * options.tasks else 1


if __name__ == "__main__":
    sys.exit(main())

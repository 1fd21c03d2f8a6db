"""Count the tasks of each registered family, and measure random actions and the oracle.

    python -m benchmarks.families > benchmarks/results/families.json

Every family plays its default test tasks. The policies learn nothing, so the scores are the same on
every machine. The first table of README shows them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

import agentgym
from agentgym.registration import families
from benchmarks.provenance import to_json

POLICIES = ("random", "oracle")
DEFAULT_TASKS = 100
NUM_TASKS = {"swe": 20}
"""Test tasks of families that take seconds a task; the others play ``DEFAULT_TASKS``."""


def measure_family(name: str) -> dict[str, Any]:
    """Count the tasks of a family and play both policies on its test tasks.

    Args:
        name: Short name of the family.

    Returns:
        ``tasks`` (split to number of tasks), and for each policy success, score, number of tasks
        and hash of the panel.
    """
    env = agentgym.make(name)
    try:
        tasks = env.unwrapped.tasks
        counts = {split: tasks.len(split) for split in tasks.splits}
        reports = {
            policy: agentgym.evaluate(policy, env, "test", NUM_TASKS.get(name, DEFAULT_TASKS))
            for policy in POLICIES
        }
    finally:
        env.close()
    scores = {
        policy: {
            "success": report.success,
            "score": report.score_mean,
            "n": report.n,
            "panel_sha256": report.panel_sha256,
        }
        for policy, report in reports.items()
    }
    return {"tasks": counts, **scores}


def main(argv: Sequence[str] | None = None) -> int:
    """Play the families and print the result; returns 0."""
    names = [family.name for family in families()]
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--families", nargs="+", choices=names, default=names)
    selected_names = parser.parse_args(argv).families
    print(to_json({"families": {name: measure_family(name) for name in selected_names}}))
    return 0


if __name__ == "__main__":
    sys.exit(main())

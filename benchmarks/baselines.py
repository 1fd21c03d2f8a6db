"""Measure random actions and the demonstrators on the test tasks of the default trainings.

    python -m benchmarks.baselines > benchmarks/results/baselines.json

These policies learn nothing, so their figures are the same on every machine. A test replays the
cheapest one of each family: if its figures differ, the code has diverged from the stored results,
and this command must be run again.

Smallest run: ``--families textworld``
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from agentgym.evaluation import evaluate
from benchmarks.provenance import to_json
from trainers.cli import parse_config
from trainers.config.resolve import resolve

POLICIES = {"random": "random", "demonstrator": "demonstrator"}
"""Role in a run -> the policy that plays it; the environment's arguments choose the
demonstrator."""
CHEAP = {
    "alfworld": "random", "babyai": "random", "database": "demonstrator",
    "mathpython": "demonstrator", "search": "demonstrator", "service": "random",
    "textcraft": "random", "textworld": "random", "webshop": "random",
}  # fmt: skip
"""The role with the fewest processor seconds, for each family with a stored training except Shell,
where every task needs a sandbox."""
FAMILIES = (*CHEAP, "shell")


def play(family: str, arm: str) -> dict[str, Any]:
    """Play a role of a family's default training on its test tasks.

    Args:
        family: Name of the family.
        arm: ``random`` or ``demonstrator``.

    Returns:
        Success and mean score, the number of tasks and the hash of the panel.
    """
    (env,) = resolve(parse_config(["--env", family])).envs
    panel = env.panel("test", env.eval_tasks)
    text_env = env.make_env()
    try:
        report = evaluate(
            POLICIES[arm], text_env, "test", len(panel), panel.seed, horizon=env.full_horizon
        )
    finally:
        text_env.close()
    return {
        "success": report.success,
        "score": report.score_mean,
        "n": report.n,
        "panel_sha256": panel.sha256,
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Play the roles and print the result; returns 0."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--families", nargs="+", choices=FAMILIES, default=list(FAMILIES))
    families = parser.parse_args(argv).families
    print(to_json({"families": {f: {arm: play(f, arm) for arm in POLICIES} for f in families}}))
    return 0


if __name__ == "__main__":
    sys.exit(main())

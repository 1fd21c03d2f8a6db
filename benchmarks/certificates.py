"""Certify environments of the suite, and count the verdicts.

Usage:
    python -m benchmarks.certificates [--envs webshop babyai] [--seconds 600] [--out certificates]
        [--python PYTHON3.10] [--train mathpython textcraft]

With ``--out`` it goes on where it was stopped. A training takes minutes, so ``training_signal`` is
run only in the environments of ``--train``. Smallest run: ``--envs textcraft --seconds 5``
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from agentgym.certification import CHECKS, Certificate, Status, certify
from agentgym.registration import FAMILIES
from benchmarks.provenance import to_json

TASKS = {"shell": 9, "swe": 6}
"""Number of tasks of families whose turns run processes; others have the default number."""
TRAINING = "training_signal"
"""The check that trains."""


def row_of(certificate: Certificate) -> dict[str, Any]:
    """Return what is stored of a certificate: counts, hashes, and each check without a pass."""
    counts = Counter(result.status.value for result in certificate.results)
    return {
        "counts": {status.value: counts[status.value] for status in Status},
        "tasks": sum(certificate.settings["counts"].values()),
        "seconds": round(sum(result.seconds for result in certificate.results)),
        "panel_sha256": certificate.panel_sha256,
        "episodes_sha256": certificate.episodes_sha256,
        "without_pass": {
            result.check: f"{result.status.value}: {result.summary}"
            for result in certificate.results
            if result.status is not Status.PASS
        },
    }


def main() -> None:
    """Print the result as JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [entry.name for entry in FAMILIES]
    parser.add_argument("--envs", nargs="+", default=names, help="names or ids")
    parser.add_argument("--seconds", type=float, default=600.0, help="of each environment")
    parser.add_argument("--python", nargs="+", default=(), help="other Pythons with agentgym")
    parser.add_argument("--train", nargs="+", default=(), help="environments to train in")
    parser.add_argument("--out", type=Path, help="folder of the certificates, to go on")
    options = parser.parse_args()
    rows = {}
    for name in options.envs:
        out = options.out and options.out / name
        certificate = certify(
            name, [check for check in CHECKS if check != TRAINING or name in options.train],
            num_tasks=TASKS.get(name, 24), seconds=options.seconds, python=options.python, out=out,
        )  # fmt: skip
        print(certificate, file=sys.stderr, flush=True)
        rows[name] = row_of(certificate)
    print(to_json({"seconds": options.seconds, "seed": 0, "envs": rows}))


if __name__ == "__main__":
    main()

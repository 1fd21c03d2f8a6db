"""Certify environments of the suite, and count the verdicts.

Usage:
    python -m benchmarks.certificates [--envs webshop babyai] [--seconds 100] [--out certificates]

With ``--out`` it goes on where it was stopped. Smallest run: ``--envs textcraft --seconds 5``
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from agentgym.certification import Certificate, Status, certify
from agentgym.registration import FAMILIES
from benchmarks.provenance import to_json


def row_of(certificate: Certificate) -> dict[str, Any]:
    """Return what is stored of a certificate: counts, hashes, and each check without a pass."""
    counts = Counter(result.status.value for result in certificate.results)
    return {
        "counts": {status.value: counts[status.value] for status in Status},
        "tasks": sum(certificate.settings["counts"].values()),
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
    parser.add_argument("--seconds", type=float, default=100.0, help="of each environment")
    parser.add_argument("--out", type=Path, help="folder of the certificates, to go on")
    options = parser.parse_args()
    rows = {}
    for name in options.envs:
        out = options.out and options.out / name
        certificate = certify(name, seconds=options.seconds, out=out)
        print(certificate, file=sys.stderr, flush=True)
        rows[name] = row_of(certificate)
    print(to_json({"seconds": options.seconds, "seed": 0, "envs": rows}))


if __name__ == "__main__":
    main()

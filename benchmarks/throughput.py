"""Measure the speed of the families, beside the original engines.

    python benchmarks/throughput.py [--family webshop] [--seconds 3] [--large 100000]
                                    [--data DIR]

Measurements are defined in one module per family, ``<family>_throughput.py``, or in
``gym_throughput.py`` for the others: ``GROUPS`` (name -> function of the options that returns
figures), ``REPEATS`` (name -> how often a group of times is measured, of which the best counts),
``BARS`` (figure -> comparison and value) and ``combine`` (adds figures that follow from others,
such as ratios). Each group runs in a separate process, so that memory is measured separately; the
groups of a family share an initially empty cache folder. ``met`` compares with the bars. A group
that fails, for example because the original engine is not installed, stands under ``failed`` with
the reason.

Starting, opening and building are wall time; the rest is processor time, so that other jobs on the
machine do not count.

Smallest run: ``--family webshop --seconds 0.2 --large 0``
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from provenance import to_json

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

FAMILIES = (
    *("alfworld", "babyai", "database", "mathpython", "search", "service", "shell"),
    *("textcraft", "textworld", "webshop"),
)


def measures(family: str) -> ModuleType:
    """Return the module with a family's measurements."""
    module_name = f"{family}_throughput"
    return importlib.import_module(module_name if find_spec(module_name) else "gym_throughput")


def child(family: str, group: str, options: dict[str, Any], cache: str) -> dict[str, float] | str:
    """Run one group in a fresh process; return its figures, or why there are none."""
    command = [sys.executable, __file__, "--group", f"{family}.{group}"]
    process = subprocess.run(
        [*command, "--options", json.dumps(options)],
        env={**os.environ, "AGENTGYM_CACHE": cache},
        capture_output=True,
        text=True,
        check=False,
    )
    if process.returncode:
        return (process.stderr.strip().splitlines() or [f"status {process.returncode}"])[-1]
    figures: dict[str, float] = json.loads(process.stdout.splitlines()[-1])
    return figures


def measure(family: str, options: dict[str, Any]) -> dict[str, Any]:
    """Run all groups of a family."""
    module = measures(family)
    figures: dict[str, float] = {}
    failed: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as cache:
        for group in module.GROUPS:
            best: dict[str, float] = {}
            for _ in range(module.REPEATS.get(group, 1)):
                result = child(family, group, options, cache)
                if isinstance(result, str):
                    failed[group] = result
                    break
                best = {name: min(value, best.get(name, value)) for name, value in result.items()}
            figures.update(best)
    module.combine(figures)
    bars = {name: bar for name, bar in module.BARS.items() if name in figures}
    within_bars = {
        name: figures[name] <= bar if sign == "<=" else figures[name] >= bar
        for name, (sign, bar) in bars.items()
    }
    bar_texts = {name: f"{sign} {bar:g}" for name, (sign, bar) in bars.items()}
    return {"figures": figures, "bars": bar_texts, "met": within_bars, "failed": failed}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--family", nargs="+", choices=FAMILIES, default=FAMILIES)
    parser.add_argument("--seconds", type=float, default=3.0, help="time of each step measurement")
    parser.add_argument("--large", type=int, default=100_000, help="products or passages")
    parser.add_argument("--data", help="official shop, in place of the generated one")
    parser.add_argument("--group", help=argparse.SUPPRESS)
    parser.add_argument("--options", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.group:
        family, group = args.group.split(".")
        options = {**json.loads(args.options), "family": family}
        print(json.dumps(measures(family).GROUPS[group](options)))
        return
    options = {"seconds": args.seconds, "large": args.large, "data": args.data}
    print(to_json({family: measure(family, options) for family in args.family}))


if __name__ == "__main__":
    main()

"""Measure TextWorld and ALFWorld beside the original engines; prints one JSON object.

    python benchmarks/textworld_alfworld_throughput.py [--seconds 3] [--family alfworld]

What is measured stands in one module for each family (:data:`FAMILIES`), which has ``GROUPS``
(name -> function of the options that returns figures), ``REPEATS`` (name -> how often a group of
times is measured, of which the best counts), ``BARS`` (figure -> comparison and value) and
``combine`` (adds figures that follow from others, such as ratios). Each group runs in a process
of its own with an empty cache folder that they share, so that memory is its own too. ``bars`` in
the output are those of DESIGN.md, section 9; ``met`` compares. A group that fails, for example
because the original engine is not installed, stands under ``failed`` with the reason.

Starting is wall time; the rest is processor time, so that other jobs on the machine do not count.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

from provenance import to_json

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

FAMILIES = {"alfworld": "alfworld_throughput", "textworld": "textworld_throughput"}
"""Name of a family -> module beside this one that measures it."""


def module_of(family: str) -> ModuleType | None:
    """Import the module of a family; None if there is none."""
    if not Path(__file__).with_name(f"{FAMILIES[family]}.py").exists():
        return None
    return importlib.import_module(FAMILIES[family])


def child(family: str, group: str, options: dict[str, Any], cache: str) -> dict[str, float] | str:
    """Run one group in a fresh process; return its figures, or why there are none."""
    command = [sys.executable, __file__, "--group", f"{family}.{group}"]
    done = subprocess.run(
        [*command, "--options", json.dumps(options)],
        env={**os.environ, "AGENTGYM_CACHE": cache},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        return (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1]
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


def measure(family: str, options: dict[str, Any]) -> dict[str, Any]:
    """Run all groups of a family."""
    module = module_of(family)
    if module is None:
        return {"failed": {"all": f"there is no {FAMILIES[family]}.py"}}
    figures: dict[str, float] = {}
    failed: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as cache:
        for group in module.GROUPS:
            for _ in range(module.REPEATS.get(group, 1)):
                result = child(family, group, options, cache)
                if isinstance(result, str):
                    failed[group] = result
                    break
                best = {
                    name: min(value, figures.get(name, value)) for name, value in result.items()
                }
                figures.update(best)
    module.combine(figures)
    met = {
        name: figures[name] <= bar if sign == "<=" else figures[name] >= bar
        for name, (sign, bar) in module.BARS.items()
        if name in figures
    }
    bars = {name: f"{sign} {bar:g}" for name, (sign, bar) in module.BARS.items()}
    return {"figures": figures, "bars": bars, "met": met, "failed": failed}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=3.0, help="time of each step measurement")
    parser.add_argument("--family", choices=sorted(FAMILIES), help="only this one")
    parser.add_argument("--group", help=argparse.SUPPRESS)
    parser.add_argument("--options", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.group:
        family, group = args.group.split(".")
        module = module_of(family)
        assert module is not None
        print(json.dumps(module.GROUPS[group](json.loads(args.options))))
        return
    wanted = [args.family] if args.family else list(FAMILIES)
    result = {family: measure(family, {"seconds": args.seconds}) for family in wanted}
    print(to_json(result))


if __name__ == "__main__":
    main()

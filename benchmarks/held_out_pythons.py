"""Check whether held-out answers depend on the version of Python.

    python benchmarks/held_out_pythons.py PYTHON... [--data DIR] [--only NAME...] [--drop]

The correct copy of every repository in a folder of tasks runs all programs of its bank under each
interpreter, with the grader's driver and without a sandbox, because the source is trusted. It
counts programs whose answer differs from the bank under some interpreter; ``--drop`` removes them
from the bank, so that sandboxes with any of these Pythons grade alike.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from provenance import to_json

from agentgym.envs.swe.bundled import BUNDLED
from agentgym.envs.swe.held_out.answers import equal, read_answer
from agentgym.envs.swe.held_out.asking import DRIVER, REQUESTS, Pace, driver_files
from agentgym.envs.swe.held_out.bank import Bank, read_bank
from agentgym.envs.swe.stored_instances import StoredInstances, bank_file

PATIENT = Pace(seconds=5.0, late=5, together=50)
HASH_SEED = "4711"


def answers(python: str, folder: Path, bank: Bank) -> list[Any]:
    """Return a repository's answers under an interpreter."""
    programs = [program.program for program in bank.programs]
    with tempfile.TemporaryDirectory() as scratch:
        for name, content in driver_files(bank.packages, programs, PATIENT).items():
            Path(scratch, name).write_bytes(content)
        process = subprocess.run(
            [python, "-S", "-s", f"{scratch}/{DRIVER}", f"{scratch}/{REQUESTS}"],
            cwd=folder,
            env={"PATH": os.defpath, "PYTHONHASHSEED": HASH_SEED, "PYTHONDONTWRITEBYTECODE": "1",
                 "LANG": "C.UTF-8", "TZ": "UTC", "HOME": scratch},
            capture_output=True,
            text=True,
            check=True,
        )  # fmt: skip
    return [read_answer(line) for line in process.stdout.splitlines()[:-1]]


def main() -> None:
    """Run every interpreter, and print the differences."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("python", nargs="+")
    parser.add_argument("--data", type=Path, default=BUNDLED)
    parser.add_argument("--only", nargs="*", default=())
    parser.add_argument("--drop", action="store_true")
    arguments = parser.parse_args()
    stored = StoredInstances(arguments.data)
    rows: dict[str, Any] = {}
    for name in arguments.only or stored.repositories():
        file = bank_file(stored.folder, name)
        if not file.is_file():
            continue
        bank, differing_numbers = read_bank(file), set[int]()
        for python in arguments.python:
            bank_answers = answers(python, stored.folder_of(name), bank)
            pairs = zip(bank.programs, bank_answers, strict=True)
            differing = [
                n for n, (program, answer) in enumerate(pairs) if not equal(program.answer, answer)
            ]
            differing_numbers.update(differing)
            rows.setdefault(name, {})[Path(python).name] = len(differing)
        rows[name]["programs"] = len(bank.programs)
        if arguments.drop and differing_numbers:
            bank.without(differing_numbers).save(file)
        print(name, rows[name], file=sys.stderr, flush=True)
    print(to_json({"repositories": rows, "dropped": arguments.drop}))


if __name__ == "__main__":
    main()

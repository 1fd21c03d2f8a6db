"""Execute notebooks of this folder from top to bottom, two at a time.

Usage: ``python notebooks/execute.py [--save] [--jobs N] [NAME ...]``. A notebook that raises ends
with exit code 1. A name may end in ``.ipynb``. Outputs are stored with ``--save`` alone, without
the times at which cells ran.
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import sys
import time
from pathlib import Path

from agentgym.errors import DependencyNotInstalled, require

FOLDER = Path(__file__).parent
TIMEOUT = 600
EXTRA = "notebooks"


async def execute(path: Path, save: bool, turn: asyncio.Semaphore) -> bool:
    """Execute one notebook when it is its turn, and return whether all of its cells ran."""
    async with turn:
        began = time.monotonic()
        nbformat = require("nbformat", EXTRA)
        nbclient = require("nbclient", EXTRA)
        notebook = nbformat.read(path, as_version=4)
        client = nbclient.NotebookClient(
            notebook, timeout=TIMEOUT, kernel_name="python3",
            resources={"metadata": {"path": str(FOLDER)}}, record_timing=False,
        )  # fmt: skip
        try:
            await client.async_execute()
        except nbclient.exceptions.CellExecutionError as error:
            print(f"{path.name}: {error}", file=sys.stderr)
            return False
    print(f"{path.name}: executed in {time.monotonic() - began:.1f} s", flush=True)
    if save:
        path.write_text(nbformat.writes(notebook) + "\n", "utf-8")
    return True


async def execute_all(paths: list[Path], save: bool, jobs: int) -> bool:
    """Execute notebooks, ``jobs`` at a time, and return whether all of them ran."""
    turn = asyncio.Semaphore(jobs)
    return all(await asyncio.gather(*(execute(path, save, turn) for path in paths)))


def main(arguments: list[str]) -> int:
    """Execute the named notebooks, or all of them."""
    parser = argparse.ArgumentParser(description="Execute notebooks of this folder.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="default: all of them")
    parser.add_argument("--save", action="store_true", help="store the outputs")
    parser.add_argument("--jobs", type=int, default=2, help="notebooks at a time (%(default)s)")
    options = parser.parse_args(arguments)
    notebooks = sorted(FOLDER.glob("*.ipynb"))
    paths = [FOLDER / f"{name.removesuffix('.ipynb')}.ipynb" for name in options.names] or notebooks
    if missing := [path.stem for path in paths if path not in notebooks]:
        names, wrong = (
            ", ".join(listing) for listing in ([path.stem for path in notebooks], missing)
        )
        print(f"expected notebooks of {FOLDER} ({names}), got {wrong}", file=sys.stderr)
        return 2
    try:
        good = asyncio.run(execute_all(paths, options.save, max(1, options.jobs)))
    except DependencyNotInstalled as error:
        print(error, file=sys.stderr)
        return 2
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{used.ru_utime + used.ru_stime:.0f} processor seconds")
    return 0 if good and paths else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The table of benchmark scripts: what each measures, and the report that has its results."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks.tables.formats import Table
from benchmarks.tables.origins import command_of
from benchmarks.tables.reports import REPORTS

ROOT = Path(__file__).resolve().parents[1]
HELPERS = frozenset(("independent_walker", "provenance"))
"""Executable helpers of other scripts."""


class Script(NamedTuple):
    """The description of a script."""

    command: str
    """Its command, without options."""
    docstring: str
    """Its docstring, which ``--help`` prints."""


def scripts_table() -> Table:
    """Return a row for each script and study."""
    table = [["command", "what it measures", "report"]]
    for script in find_scripts():
        reports = [
            f"[{name}](reports/{name}.md)"
            for name, files in REPORTS.items()
            if any(f"{script.command} " in f"{command_of(file)} " for file in files)
        ]
        about = script.docstring.partition("\n")[0].rstrip(".").replace("``", "`")
        table.append([f"`{script.command}`", about, ", ".join(reports)])
    return table


def find_scripts() -> Iterator[Script]:
    """Yield the scripts in the order of their names, then the studies."""
    for path in (*sorted(ROOT.glob("*.py")), ROOT / "peers" / "__main__.py"):
        source = path.read_text(encoding="utf-8")
        name = path.stem if path.parent == ROOT else path.parent.name
        if '__name__ == "__main__"' in source and name not in HELPERS:
            docstring = _docstring(source)
            as_module = f"-m benchmarks.{name}" in docstring
            script = f"-m benchmarks.{name}" if as_module else f"benchmarks/{path.name}"
            yield Script(f"python {script}", docstring)
    for path in sorted((ROOT / "studies").glob("*.py")):
        source = path.read_text(encoding="utf-8")
        if re.search(r"^STUDY\b", source, re.MULTILINE):
            yield Script(f"python -m benchmarks.studies {path.stem}", _docstring(source))


def _docstring(source: str) -> str:
    """Return the docstring of a module."""
    return ast.get_docstring(ast.parse(source)) or ""

"""Tables of certificates: of this suite's families, and of other projects' environments."""

from __future__ import annotations

import re

from agentgym.certification import Status
from benchmarks.tables.formats import Table, result, spoken

MOST_NAMED = 3
"""Maximum number of checks that are named in a cell."""
_OURS = re.compile(r"benchmarks[./]\w+(\.py)?[:@]|:http://.*")
"""What of a name is a file of ours or an address."""


def certificates_table() -> Table:
    """Return the verdicts of each family, and which checks did not pass."""
    columns = [status.value for status in Status]
    table = [["family", "tasks", *columns, "failed"]]
    for name, row in result("certificates.json")["envs"].items():
        failed = [
            f"`{check}`" for check, text in row["without_pass"].items() if text.startswith("fail")
        ]
        counts = [str(row["counts"][status]) for status in columns]
        table.append([spoken(name), str(row["tasks"]), *counts, ", ".join(failed)])
    return table


def survey_table() -> Table:
    """Return the verdicts of each environment of other projects, and what failed in words."""
    columns = [status.value for status in Status]
    table = [["environment", "package", "tasks", *columns, "what failed"]]
    for row in result("survey.json")["rows"]:
        counts = [str(row["counts"][status]) for status in columns]
        if 0 < len(row["not_run"]) <= MOST_NAMED:
            counts[columns.index(Status.NOT_RUN)] += f": `{'`, `'.join(row['not_run'])}`"
        failed = "; ".join(entry["words"] for entry in row["failed"].values())
        package = f"{row['project']} {row['version']}"
        name = _OURS.sub("", row["env"])
        table.append([f"`{name}`", package, str(row["tasks"]), *counts, failed])
    return table

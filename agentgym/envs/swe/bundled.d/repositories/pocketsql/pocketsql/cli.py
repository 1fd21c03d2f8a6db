"""The command: run a script and print what its queries give."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from pocketsql.database import Database, Result
from pocketsql.errors import SqlError
from pocketsql.output import to_csv, to_table

USAGE = "usage: pocketsql [--csv] [--quiet] FILE.sql ...\n"


class Answer(NamedTuple):
    """What a command gives.

    Attributes:
        code: 0 if it went well, 1 if a statement failed, 2 if the command is wrong.
        output: What is printed.
    """

    code: int
    output: str


def run(arguments: Sequence[str]) -> Answer:
    """Run scripts one after the other in one database.

    Args:
        arguments: The words behind the name of the program: ``--csv`` for comma-separated
            values, ``--quiet`` for queries only, and the files.
    """
    options = [word for word in arguments if word.startswith("--")]
    files = [word for word in arguments if not word.startswith("--")]
    if not files or set(options) - {"--csv", "--quiet"}:
        return Answer(2, USAGE)
    db = Database()
    parts: list[str] = []
    for file in files:
        try:
            results = db.script(Path(file).read_text(encoding="utf-8"))
        except SqlError as error:
            return Answer(1, "\n".join([*parts, f"{file}: {error}\n"]))
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is no text in UTF-8"
            return Answer(2, f"{file} cannot be read: {reason}\n")
        parts += [_shown(result, options) for result in results if _is_wanted(result, options)]
    return Answer(0, "\n".join(parts))


def _is_wanted(result: Result, options: Sequence[str]) -> bool:
    return bool(result.columns) or "--quiet" not in options


def _shown(result: Result, options: Sequence[str]) -> str:
    return to_csv(result) if "--csv" in options and result.columns else to_table(result)

"""The command: show, calc and trace on a file with comma-separated values."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from cellmill.engine.workbook import Workbook
from cellmill.errors import SpreadsheetError
from cellmill.files.csv_text import dump_csv, load_csv
from cellmill.files.drawing import draw
from cellmill.files.tracing import trace
from cellmill.values.conversion import to_text
from cellmill.values.kinds import ErrorValue

SHEET = "Sheet1"
"""The sheet into which a file is read."""
USAGE = """\
usage: cellmill show FILE [--area AREA] [--csv] [--formulas]
       cellmill calc FILE FORMULA
       cellmill trace FILE CELL [--depth NUMBER]
       before any of them: [--separator CHARACTER]
"""


class Answer(NamedTuple):
    """What a command gives.

    Attributes:
        code: 0 if it went well, 1 if the result is an error value, 2 if the command is wrong.
        output: What is printed.
    """

    code: int
    output: str


def run(arguments: Sequence[str]) -> Answer:
    """Carry out a command.

    Args:
        arguments: The words behind the name of the program.
    """
    try:
        words, options = _split(arguments)
        return _dispatch(words, options)
    except SpreadsheetError as error:
        return Answer(2, f"error: {error}\n")
    except OSError as error:
        return Answer(2, f"error: {error.filename} cannot be read: {error.strerror}\n")
    except UnicodeDecodeError:
        return Answer(2, "error: the file is no text in UTF-8\n")


def _split(arguments: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Tell words from options."""
    words: list[str] = []
    options: dict[str, str] = {}
    waiting = list(reversed(arguments))
    while waiting:
        word = waiting.pop()
        if word in ("--csv", "--formulas"):
            options[word] = "yes"
        elif word in ("--area", "--depth", "--separator"):
            if not waiting:
                raise SpreadsheetError(f"{word} needs a value")
            options[word] = waiting.pop()
        elif word.startswith("--"):
            raise SpreadsheetError(f"unknown option {word}")
        else:
            words.append(word)
    return words, options


def _dispatch(words: list[str], options: dict[str, str]) -> Answer:
    wanted = {"show": 2, "calc": 3, "trace": 3}
    if not words or words[0] not in wanted or len(words) != wanted[words[0]]:
        return Answer(2, USAGE)
    book = Workbook()
    sheet = book.add(SHEET)
    separator = {"tab": "\t"}.get(options.get("--separator", ","), options.get("--separator", ","))
    load_csv(sheet, Path(words[1]).read_text(encoding="utf-8"), separator)
    if words[0] == "calc":
        result = book.evaluate(words[2], SHEET)
        return Answer(int(isinstance(result, ErrorValue)), to_text(result) + "\n")
    if words[0] == "trace":
        return Answer(0, trace(book, SHEET, words[2], _depth(options)))
    if "--csv" in options:
        return Answer(0, dump_csv(sheet, separator, "--formulas" in options))
    return Answer(0, draw(sheet, options.get("--area")))


def _depth(options: dict[str, str]) -> int:
    text = options.get("--depth", "3")
    if not text.isdecimal():
        raise SpreadsheetError(f"expected a number for --depth, got {text!r}")
    return int(text)

"""The command: format, check and tidy files of BibTeX."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from citepress.citations import Citations
from citepress.errors import BibliographyError
from citepress.model.checks import check
from citepress.model.duplicates import find_duplicates
from citepress.model.entries import Library
from citepress.reading.parser import read_library
from citepress.writing.bibtex import write_library

USAGE = """\
usage: citepress format FILE.bib [--style STYLE] [--form FORM] [--keys KEY,KEY]
       citepress check FILE.bib
       citepress tidy FILE.bib [--sort]
"""
_OPTIONS = {"format": ("--style", "--form", "--keys"), "check": (), "tidy": ("--sort",)}


class Answer(NamedTuple):
    """What a command gives.

    Attributes:
        code: 0 if it went well, 1 if a check found errors, 2 if the command or file is wrong.
        output: What is printed.
    """

    code: int
    output: str


def run(arguments: Sequence[str]) -> Answer:
    """Carry out a command.

    Args:
        arguments: The words behind the name of the program.
    """
    if len(arguments) < 2 or arguments[0] not in _OPTIONS:
        return Answer(2, USAGE)
    command, file = arguments[0], arguments[1]
    try:
        options = _options(command, arguments[2:])
        library = read_library(Path(file).read_text(encoding="utf-8"))
        if command == "check":
            return _check(library)
        if command == "tidy":
            return Answer(0, write_library(library, "--sort" in options))
        return _format(library, options)
    except BibliographyError as error:
        return Answer(2, f"error: {error}\n")
    except UnicodeDecodeError:
        return Answer(2, f"error: {file} is no text in UTF-8\n")
    except OSError as error:
        return Answer(2, f"error: {file} cannot be read: {error.strerror}\n")


def _options(command: str, arguments: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    waiting = list(reversed(arguments))
    while waiting:
        word = waiting.pop()
        if word not in _OPTIONS[command]:
            raise BibliographyError(f"{command} does not know {word}")
        if word == "--sort":
            found[word] = "yes"
        elif not waiting:
            raise BibliographyError(f"{word} needs a value")
        else:
            found[word] = waiting.pop()
    return found


def _format(library: Library, options: dict[str, str]) -> Answer:
    citations = Citations(library, options.get("--style", "author-year"))
    citations.use(*[key for key in options.get("--keys", "*").split(",") if key])
    return Answer(0, citations.bibliography(options.get("--form", "text")))


def _check(library: Library) -> Answer:
    problems = check(library)
    lines = [str(problem) for problem in problems]
    if not any(problem.severe for problem in problems):
        lines += [f"probably the same: {', '.join(keys)}" for keys in find_duplicates(library)]
    severe = sum(problem.severe for problem in problems)
    lines.append(f"{len(library)} entries, {severe} errors, {len(problems) - severe} warnings")
    return Answer(int(severe > 0), "".join(line + "\n" for line in lines))

"""From the words of a command line to a dataclass of arguments.

An error is one sentence that names the flag, as people typed it. An environment may be named with
``--env`` or without; a flag that takes a list may be repeated, and a switch may be turned off by
``--no-`` before its name.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import NoneType
from typing import Any, Literal, TypeVar, get_args, get_origin

from agentgym.errors import ConfigurationError
from agentgym.support.common_flags import COMMON
from agentgym.support.flag_hints import check_flags
from agentgym.support.help_page import ALL, FlagHelp, flag_rows

__all__ = ["HELP", "asks_help", "known_flags", "negation", "parse_arguments", "split_words"]

Arguments = TypeVar("Arguments")
HELP = ("-h", "--help", ALL)
"""Flags that show the help of a command."""
ENV = "ENV"
"""The argument that has no flag, and that ``--env`` names as well."""
NUMBERS: Mapping[type, str] = {int: "a whole number", float: "a number"}


def asks_help(argv: Sequence[str]) -> bool:
    """Return whether help is asked for, before a lone ``--``."""
    return any(word in HELP for word in (argv[: argv.index("--")] if "--" in argv else argv))


def parse_arguments(arguments: type[Arguments], argv: Sequence[str], program: str) -> Arguments:
    """Read a command line.

    Args:
        arguments: A dataclass whose docstrings and marks say what its flags are.
        argv: What was typed behind the command.
        program: What is typed for it, such as ``agentgym eval``.

    Returns:
        An instance. Where the dataclass has a field ``typed``, that holds the fields whose flags
        were typed.

    Raises:
        ConfigurationError: There is no such flag, a value is missing or wrong, or there is one too
            many.
    """
    rows = list(flag_rows(arguments))
    bare, typed = split_words(argv, rows, program)
    positionals = [row for row in rows if row.positional]
    words = {**typed, **_place(bare, positionals, typed.get("--env", ()), program)}
    values = {
        row.field: _value(row, words[row.flag]) for row in rows if words.get(row.flag) is not None
    }
    for field in dataclasses.fields(arguments):  # type: ignore[arg-type]
        required = field.default is field.default_factory is dataclasses.MISSING
        row = next((row for row in rows if row.field == field.name), None)
        if required and row is not None and field.name not in values:
            name = row.flag if row.positional else f"{row.flag} {row.value}"
            raise ConfigurationError(
                f"expected {program} with {name}, which is required; {program} --help explains it"
            )
        if field.name == "typed":
            values["typed"] = tuple(row.field for row in rows if row.flag in typed)
    return arguments(**values)


def known_flags(rows: Iterable[FlagHelp]) -> dict[str, FlagHelp | None]:
    """Return what may be typed, and the flag that it is of; None: of every command."""
    known: dict[str, FlagHelp | None] = dict.fromkeys((*HELP, *COMMON))
    for row in rows:
        if row.flag == ENV:
            known["--env"] = row
        elif not row.positional:
            known[row.flag] = row
            if row.switch:
                known[negation(row)] = row
    return known


def negation(row: FlagHelp) -> str:
    """Return what turns a switch off, such as ``--sft.no-only-successes``."""
    section, dot, word = row.flag.removeprefix("--").rpartition(".")
    return f"--{section}{dot}no-{word}"


def split_words(
    argv: Sequence[str], rows: Sequence[FlagHelp], program: str
) -> tuple[list[str], dict[str, list[str]]]:
    """Give every word to the flag that it is a value of.

    Args:
        argv: What was typed behind the command.
        rows: Its flags.
        program: What is typed for it.

    Returns:
        The words of no flag, and the words of each flag that was typed; ``False`` or ``True`` of a
        switch.

    Raises:
        ConfigurationError: A flag is none of the command's, or lacks its value.
    """
    known = known_flags(rows)
    check_flags(argv, known, program)
    bare: list[str] = []
    typed: dict[str, list[str]] = {}
    words = list(argv)
    while words:
        word = words.pop(0)
        if word == "--":
            bare += words
            break
        name, equals, value = word.partition("=")
        row = known.get(name.replace("_", "-")) if word.startswith("--") else None
        if row is None:
            bare.append(word)
            continue
        flag = "--env" if row.flag == ENV else row.flag
        most = 1 if flag == "--env" and not row.many else row.most_words
        ends = (at for at, other in enumerate(words) if other.startswith("--"))
        count = 0 if equals else min(next(ends, len(words)), most)
        behind, words = words[:count], words[count:]
        behind, left = ([value] if equals else behind), len(words)
        if row.switch:
            behind, words = _switched(name, row, behind, words)
            if equals and len(words) > left:
                raise ConfigurationError(f"expected {name} to be True or False, got {value!r:.80}")
        elif not behind and not row.many:
            raise ConfigurationError(f"expected a value after {name} ({row.value}), got none")
        typed[flag] = [*typed.get(flag, ()), *behind] if row.many else behind
    return bare, typed


def _switched(
    name: str, row: FlagHelp, behind: list[str], words: list[str]
) -> tuple[list[str], list[str]]:
    """Return whether a switch is on, as a word, and the words that are left."""
    on = name.replace("_", "-") == row.flag
    if behind and behind[0] in ("True", "False"):
        return [str(on == (behind[0] == "True"))], words
    if behind == ["None"] and NoneType in row.kinds:
        return behind, words
    return [str(on)], [*behind, *words]


def _place(
    bare: Sequence[str], positionals: Sequence[FlagHelp], env: Sequence[str], program: str
) -> dict[str, list[str]]:
    """Give words without a flag to the arguments that have none."""
    placed: dict[str, list[str]] = {}
    words = [*bare]
    for row in positionals:
        named = [*env] if row.flag == ENV else []
        most = len(words) if row.many else max(1 - len(named), 0)
        if named or words[:most]:
            placed[row.flag] = [*words[:most], *named]
        words = words[most:]
    if words:
        taken = " ".join(row.name for row in positionals) or "flags alone"
        raise ConfigurationError(
            f"expected {program} with {taken}, got {' '.join(words)!r:.80} as well; "
            f"{program} --help explains its arguments"
        )
    return placed


def _value(row: FlagHelp, words: Sequence[str]) -> Any:
    """Read the value of a flag."""
    name = "--env" if row.flag == ENV else row.flag
    if list(words) == ["None"] and NoneType in row.kinds and str not in row.kinds:
        return None
    problems = []
    for kind in (kind for kind in row.kinds if kind is not NoneType):
        try:
            return _read(kind, words)
        except ValueError as error:
            problems.append(str(error))
    expected = " or ".join(dict.fromkeys(problems))
    got = " ".join(words) if words else "none"
    raise ConfigurationError(f"expected {name} to be {expected}, got {got!r:.200}")


def _read(kind: Any, words: Sequence[str]) -> Any:
    """Read a value of one type.

    Raises:
        ValueError: It is none; says what was expected.
    """
    parts = get_args(kind)
    if get_origin(kind) is tuple:
        if parts[-1] is Ellipsis:
            return tuple(_read(parts[0], [word]) for word in words)
        if len(parts) != len(words):
            raise ValueError(f"{len(parts)} values")
        return tuple(_read(part, [word]) for part, word in zip(parts, words, strict=True))
    [word] = words
    if get_origin(kind) is Literal:
        if word not in parts:
            raise ValueError(f"one of {', '.join(map(str, parts))}")
        return word
    if kind is bool:
        return word == "True"
    if kind in NUMBERS:
        try:
            return kind(word)
        except ValueError:
            raise ValueError(NUMBERS[kind]) from None
    return Path(word) if kind is Path else word

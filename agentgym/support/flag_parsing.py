"""From the words of a command line to a dataclass of arguments, by argparse.

An error is one sentence that names the flag. An environment may be named with ``--env`` or without;
a flag that takes a list may be repeated, and ``--no-`` before its name turns a switch off.
"""

from __future__ import annotations

import dataclasses
import re
from argparse import SUPPRESS, ArgumentParser
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from types import NoneType
from typing import Any, Literal, TypeVar, get_args, get_origin

from agentgym.errors import ConfigurationError
from agentgym.support.common_flags import COMMON
from agentgym.support.flag_hints import check_flags
from agentgym.support.help_page import ALL, FlagHelp, flag_rows

__all__ = ["HELP", "SHORTER", "asks_help", "known_flags", "parse_arguments", "split_words"]

Arguments = TypeVar("Arguments")
HELP = ("-h", "--help", ALL)
"""Flags that show the help of a command."""
ENV = "ENV"
"""The argument that has no flag, and that ``--env`` names as well."""
DASH = "\0"
"""What flags begin with for argparse, which would take a value such as ``-1e-3`` for a flag."""
SHORTER: Mapping[str, str] = {"--reward": "--reward-hooks"}
"""Flags that may be typed shorter; as in TRL and verl, a reward is often one function."""
NUMBERS: Mapping[type, str] = {int: "a whole number", float: "a number"}
OPPOSITE = {"True": "False", "False": "True", "None": "None"}


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
    words = {**typed, **_place(bare, rows, typed.get("--env", []), program)}
    values = {row.field: _value(row, words[row.flag]) for row in rows if row.flag in words}
    fields = {field.name: field for field in dataclasses.fields(arguments)}  # type: ignore[arg-type]
    for row in rows:
        field = fields[row.field]
        required = field.default is field.default_factory is dataclasses.MISSING
        if required and row.field not in values:
            name = row.flag if row.positional else f"{row.flag} {row.value}"
            raise ConfigurationError(
                f"expected {program} with {name}, which is required; {program} --help explains it"
            )
    if "typed" in fields:
        values["typed"] = tuple(row.field for row in rows if row.flag in typed)
    return arguments(**values)


def known_flags(rows: Iterable[FlagHelp]) -> dict[str, FlagHelp | None]:
    """Return what may be typed, and the flag that it is of; None: of every command."""
    flags: dict[str, FlagHelp | None] = dict.fromkeys((*HELP, *COMMON))
    for row in rows:
        if row.flag == ENV or not row.positional:
            flags["--env" if row.positional else row.flag] = row
        flags |= {short: row for short, flag in SHORTER.items() if flag == row.flag}
        if row.switch:
            flags[re.sub(r"^--(.*\.)?", r"\g<0>no-", row.flag)] = row
    return flags


def split_words(
    argv: Sequence[str], rows: Iterable[FlagHelp], program: str
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
    flags = known_flags(rows)
    check_flags(argv, flags, program)
    parser = ArgumentParser(
        prefix_chars=DASH, argument_default=SUPPRESS, add_help=False, allow_abbrev=False
    )
    for flag, row in flags.items():
        if row is not None and flag in (row.flag, "--env"):
            action = "extend" if row.nargs == "*" and row.takes_list else "append"
            parser.add_argument(DASH + flag, dest=flag, nargs=row.nargs, action=action)
    end = argv.index("--") if "--" in argv else len(argv)
    namespace, bare = parser.parse_known_args(_spell_flags(argv[:end], flags))
    typed: dict[str, list[str]] = vars(namespace)
    for flag, words in typed.items():
        if (row := flags[flag]) and row.nargs == "*" and not row.takes_list:
            counts = [_own_words(row, values) for values in words]
            bare += [
                word for values, count in zip(words, counts, strict=True) for word in values[count:]
            ]
            words = [*words[-1][: counts[-1]]]
        if (row := flags[flag]) and (None in words or not (words or row.takes_list)):
            raise ConfigurationError(f"expected a value after {flag} ({row.value}), got none")
        typed[flag] = words[-1:] if row and row.nargs == "?" and not row.takes_list else words
    return [*bare, *argv[end + 1 :]], typed


def _own_words(row: FlagHelp, words: Sequence[str]) -> int:
    """Return how many words behind a flag with a fixed number of values are its own."""
    kinds = [kind for kind in row.kinds if get_origin(kind) is tuple]
    for kind in sorted(kinds, key=lambda kind: -len(get_args(kind))):
        with suppress(ValueError):
            _read_value(kind, words[: len(get_args(kind))])
            return len(get_args(kind))
    return len(words)


def _spell_flags(argv: Iterable[str], flags: Mapping[str, FlagHelp | None]) -> list[str]:
    """Write flags as argparse reads them: with hyphens, and switches with ``=`` and a value."""
    spelled, words = [], [*argv]
    while words:
        name, equals, value = (word := words.pop(0)).partition("=")
        flag = name.replace("_", "-")
        if row := flags.get(flag):
            flag = SHORTER.get(flag, flag)
            if row.switch:
                values = ("True", "False", "None") if NoneType in row.kinds else ("True", "False")
                if not equals:
                    value = words.pop(0) if words and words[0] in values else "True"
                if value not in values:
                    raise ConfigurationError(
                        f"expected {name} to be True or False, got {value!r:.80}"
                    )
                value = value if flag == row.flag else OPPOSITE[value]
                flag, equals = row.flag, "="
            word = f"{DASH}{flag}{equals}{value}"
        spelled.append(word)
    return spelled


def _place(
    bare: Sequence[str], rows: Sequence[FlagHelp], env: Sequence[str], program: str
) -> dict[str, list[str]]:
    """Give words without a flag to the arguments that have none."""
    placed: dict[str, list[str]] = {}
    words, positionals = [*bare], [row for row in rows if row.positional]
    for row in positionals:
        named = [*env] if row.flag == ENV else []
        taken_count = len(words) if row.takes_list else max(1 - len(named), 0)
        if named or words[:taken_count]:
            placed[row.flag] = [*words[:taken_count], *named]
        words = words[taken_count:]
    if words:
        names = " ".join(row.name for row in positionals) or "flags alone"
        raise ConfigurationError(
            f"expected {program} with {names}, got {' '.join(words)!r:.80} as well; "
            f"{program} --help explains its arguments"
        )
    return placed


def _value(row: FlagHelp, words: Sequence[str]) -> Any:
    """Read the value of a flag."""
    if list(words) == ["None"] and NoneType in row.kinds and str not in row.kinds:
        return None
    problems = []
    for kind in (kind for kind in row.kinds if kind is not NoneType):
        try:
            return _read_value(kind, words)
        except ValueError as error:
            problems.append(str(error))
    name, expected = "--env" if row.flag == ENV else row.flag, " or ".join(dict.fromkeys(problems))
    actual = " ".join(words) if words else "none"
    raise ConfigurationError(f"expected {name} to be {expected}, got {actual!r:.200}")


def _read_value(kind: Any, words: Sequence[str]) -> Any:
    """Read a value of one type, or raise ValueError with what was expected."""
    parts = get_args(kind)
    if get_origin(kind) is tuple:
        parts = parts[:1] * len(words) if parts[-1] is Ellipsis else parts
        if len(parts) != len(words):
            raise ValueError(f"{len(parts)} values")
        return tuple(_read_value(part, [word]) for part, word in zip(parts, words, strict=True))
    [word] = words
    if get_origin(kind) is Literal and word not in parts:
        raise ValueError(f"one of {', '.join(map(str, parts))}")
    if kind is bool:
        return word == "True"
    try:
        return kind(word) if isinstance(kind, type) else word
    except ValueError:
        raise ValueError(NUMBERS[kind]) from None

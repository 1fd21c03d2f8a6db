"""From words of a command line to settings as a file would hold them: nested, by field name.

What a value may be is checked afterwards, with those of files (``trainers.config.schema``), so that
a flag and a line of a file are refused in the same sentence.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

from agentgym.errors import ConfigurationError
from agentgym.support.flag_hints import check_flags
from agentgym.support.help_page import FlagHelp

__all__ = ["known_flags", "nested", "parse_flags", "with_env_flag"]

ON_OR_OFF = ("true", "false")


def with_env_flag(argv: Sequence[str]) -> list[str]:
    """Write environments that stand before all flags, as in ``webshop --quick``, as ``--env``.

    Raises:
        ConfigurationError: They stand there and behind ``--env``.
    """
    words = list(argv)
    first_flag = next((at for at, word in enumerate(words) if word.startswith("-")), len(words))
    names, rest = words[:first_flag], words[first_flag:]
    if not names:
        return rest
    if any(word.partition("=")[0] == "--env" for word in rest):
        raise ConfigurationError(
            f"expected the environment once, got {' '.join(names)} and --env; leave out one of them"
        )
    return ["--env", ",".join(names), *rest]


def known_flags(rows: Sequence[FlagHelp]) -> dict[str, tuple[FlagHelp, bool]]:
    """Return the flag and whether it is switched on, by what may be typed for it."""
    known: dict[str, tuple[FlagHelp, bool]] = {}
    for row in rows:
        name = row.name.replace("[no-]", "")
        known[name] = row, True
        if _is_switch(row):
            section, dot, last = name.rpartition(".")
            off = f"{section}.no-{last}" if dot else f"--no-{last.removeprefix('--')}"
            known[off] = row, False
    return known


def parse_flags(argv: Sequence[str], rows: Sequence[FlagHelp], program: str) -> dict[str, Any]:
    """Read a command line.

    Args:
        argv: Arguments without the program's name.
        rows: The flags that it may have.
        program: What is typed for the command.

    Returns:
        Texts, lists of texts and switches by field, such as ``{"rl.learning_rate": "1e-3"}``. A
        list that is given more than once is the longer for it; of anything else the last counts.

    Raises:
        ConfigurationError: There is no such flag, or a flag lacks its value, or has one too many.
    """
    known = known_flags(rows)
    check_flags(argv, known, program)
    values: dict[str, Any] = {}
    for name, words in _with_values(argv, program):
        row, on = known[name]
        field = row.name.replace("[no-]", "").removeprefix("--").replace("-", "_")
        if _is_list(row.kind):
            values[field] = [*values.get(field, ()), *words]
        elif _is_switch(row):
            values[field] = _switched(name, words, on)
        elif len(words) == 1:
            values[field] = words[0]
        else:
            received = f"{len(words)} ({' '.join(words)})" if words else "none"
            raise ConfigurationError(
                f"expected one value behind {name} ({row.value}), got {received}"
            )
    return values


def nested(values: dict[str, Any], onto: dict[str, Any]) -> dict[str, Any]:
    """Put values by dotted field names into settings as a file holds them, in place of theirs."""
    for field, value in values.items():
        *sections, last = field.split(".")
        place = onto
        for section in sections:
            place = place.setdefault(section, {})
        place[last] = value
    return onto


def _with_values(argv: Sequence[str], program: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each flag with the words behind it."""
    words: list[str] = []
    name = ""
    for word in argv:
        if word.startswith("--"):
            if name:
                yield name, words
            name, equals, value = word.partition("=")
            name, words = name.replace("_", "-"), [value] if equals else []
        elif name:
            words.append(word)
        else:
            raise ConfigurationError(
                f"expected flags of {program} such as --env webshop, got {word!r}"
            )
    if name:
        yield name, words


def _switched(name: str, words: Sequence[str], on: bool) -> bool:
    """Return whether a switch is on, which a word behind it may say, too."""
    if not words:
        return on
    if len(words) > 1 or words[0].lower() not in ON_OR_OFF:
        raise ConfigurationError(
            f"expected nothing behind {name}, or True or False, got {' '.join(words)}"
        )
    return on == (words[0].lower() == "true")


def _is_switch(row: FlagHelp) -> bool:
    return not row.value


def _is_list(kind: Any) -> bool:
    """Return whether a type is a list, or a list or None."""
    if get_origin(kind) in (Union, UnionType):
        return any(_is_list(part) for part in get_args(kind) if part is not NoneType)
    return get_origin(kind) is tuple

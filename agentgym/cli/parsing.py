"""From what was typed to the arguments of a subcommand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, make_dataclass, replace
from functools import lru_cache
from typing import Annotated, Any, Union

from agentgym.cli.arguments import ABOUT, ABOUT_FIRST, COMMANDS, LISTS, SWITCHED_OFF, Eval
from agentgym.cli.families import family_subcommands
from agentgym.errors import ConfigurationError
from agentgym.making import merge_repeated
from agentgym.support.helptext import explain_fields, name_values


@dataclass(frozen=True)
class ChosenSubcommand:
    """Several subcommands, of which one was typed."""

    command: Any
    """Its arguments, or another choice."""


def parse(argv: Sequence[str]) -> object:
    """Read the arguments of ``agentgym``.

    Returns:
        An instance of one of the dataclasses of `subcommands`.

    Raises:
        SystemExit: They cannot be read, which was said on standard error, or help was asked for.
        ConfigurationError: What a family adds cannot be used.
    """
    import tyro

    args = merge_repeated(argv, LISTS)
    if args[:1] == ["eval"]:
        args = [SWITCHED_OFF.get(each.replace("_", "-"), each) for each in args]
    marks = (tyro.conf.OmitArgPrefixes,)
    command: object = tyro.cli(_parser(), args=args, prog="agentgym", config=marks)
    while isinstance(command, ChosenSubcommand):
        command = command.command
    return replace(command, typed=_flags(argv)) if isinstance(command, Eval) else command


def _flags(argv: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the flags that were typed, as those of the fields they set."""
    names = (each[2:].partition("=")[0].replace("-", "_") for each in argv if each[:2] == "--")
    return tuple(name.removeprefix("no_") for name in names)


@lru_cache(maxsize=1)
def subcommands() -> Mapping[str, type]:
    """Return the dataclass of every subcommand by what is typed for it, as in ``swe build``.

    Raises:
        ConfigurationError: Two of them are typed alike, or share a dataclass.
    """
    found = dict(COMMANDS)
    for one in family_subcommands():
        if one.words in found or one.arguments in found.values():
            raise ConfigurationError(
                f"expected one subcommand agentgym {one.words}, with a dataclass of its own, got "
                f"another from {one.run.__module__}: change or uninstall its package"
            )
        found[one.words] = one.arguments
    return found


@lru_cache(maxsize=1)
def _parser() -> type[ChosenSubcommand]:
    """Return the dataclass that the parser fills, with the texts of its help."""
    about = {one.words.partition(" ")[0]: one.about for one in family_subcommands() if one.about}
    about |= ABOUT_FIRST
    words: dict[str, dict[str, type]] = {}
    for name, arguments in subcommands().items():
        explain_fields(arguments)
        name_values(arguments)
        first, _, second = name.partition(" ")
        words.setdefault(first, {})[second] = arguments
    choices: dict[str, type] = {}
    for first, table in words.items():
        if ("" in table) != (len(table) == 1):  # the parser would drop the word of a lone one
            raise ConfigurationError(
                f"expected agentgym {first} to be one subcommand, or to have two or more, got "
                f"{', '.join(repr(f'{first} {second}'.strip()) for second in table)}"
            )
        choices[first] = table[""] if "" in table else _choice(about.get(first, ""), table)
    return _choice(ABOUT, choices)


def _choice(about: str, table: Mapping[str, type]) -> type[ChosenSubcommand]:
    """Return a dataclass whose field is one of several, as the parser reads it."""
    from tyro.conf import subcommand

    kinds = tuple(Annotated[kind, subcommand(name)] for name, kind in table.items())
    union: Any = Union[kinds]  # noqa: UP007 (their number is not known here)
    fields = [("command", union, field(metadata={"help": "What to do."}))]
    made = make_dataclass("ChosenSubcommand", fields, bases=(ChosenSubcommand,), frozen=True)
    made.__doc__ = about
    return made

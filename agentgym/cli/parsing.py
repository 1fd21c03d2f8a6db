"""From what was typed to a subcommand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from agentgym.cli.arguments import COMMANDS, LISTS, SWITCHED_OFF, Arguments, Command, Eval, Swe
from agentgym.making import merge_repeated
from agentgym.support.helptext import explain_fields, name_values


def parse(argv: Sequence[str]) -> Command:
    """Read the arguments of ``agentgym``.

    Raises:
        SystemExit: They cannot be read, which was said on standard error, or help was asked for.
    """
    import tyro

    _explain()
    args = merge_repeated(argv, LISTS)
    if args[:1] == ["eval"]:
        args = [SWITCHED_OFF.get(each.replace("_", "-"), each) for each in args]
    command = tyro.cli(Arguments, args=args, prog="agentgym").command
    return replace(command, typed=_flags(argv)) if isinstance(command, Eval) else command


def _flags(argv: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the flags that were typed, as those of the fields they set."""
    names = (each[2:].partition("=")[0].replace("-", "_") for each in argv if each[:2] == "--")
    return tuple(name.removeprefix("no_") for name in names)


@lru_cache(maxsize=1)
def _explain() -> None:
    for command in {*COMMANDS} - {Swe}:  # whose own are among them
        explain_fields(command)
        name_values(command)

"""Declarations: options, positionals and commands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from argtree.errors import DeclarationError, UsageError

COUNTS = ("one", "optional", "many")


@dataclass(frozen=True)
class Option:
    """A named argument such as ``--output FILE``."""

    name: str
    """The long name, with its two dashes."""
    short: str = ""
    """The short name, one dash and one character; empty if there is none."""
    convert: Callable[[str], Any] = str
    default: Any = None
    flag: bool = False
    """Whether it takes no value and stands for True."""
    repeat: bool = False
    """Whether it may stand several times; its value is then a list."""
    required: bool = False
    help: str = ""

    def __post_init__(self) -> None:
        """Refuse names that could not be told apart on a command line."""
        if not self.name.startswith("--") or len(self.name) < 3:
            raise DeclarationError(f"an option is named like --name, not {self.name!r}")
        if self.short and (len(self.short) != 2 or self.short[0] != "-" or self.short[1] == "-"):
            raise DeclarationError(f"a short option is named like -n, not {self.short!r}")
        if self.flag and self.repeat:
            raise DeclarationError(f"{self.name} cannot be a flag and repeat")

    @property
    def key(self) -> str:
        """The key of its value in the result: ``--dry-run`` gives ``dry_run``."""
        return self.name[2:].replace("-", "_")

    def initial(self) -> Any:
        """Its value where it does not stand on the command line."""
        if self.default is not None:
            return self.default
        if self.repeat:
            return []
        return False if self.flag else None


@dataclass(frozen=True)
class Positional:
    """An argument known by its place."""

    name: str
    convert: Callable[[str], Any] = str
    count: str = "one"
    """How many words it takes: ``one``, ``optional`` (none or one) or ``many`` (none or more)."""
    default: Any = None
    help: str = ""

    def __post_init__(self) -> None:
        """Refuse an unknown count."""
        if self.count not in COUNTS:
            raise DeclarationError(f"count is one of {', '.join(COUNTS)}, not {self.count!r}")


@dataclass
class Command:
    """A command with its arguments and subcommands."""

    name: str
    help: str = ""
    options: list[Option] = field(default_factory=list)
    positionals: list[Positional] = field(default_factory=list)
    commands: list[Command] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Refuse arguments between which the parser could not decide."""
        if self.commands and self.positionals:
            raise DeclarationError(f"{self.name} cannot have both positionals and subcommands")
        counts = [positional.count for positional in self.positionals]
        if any(count != "one" for count in counts[:-1]):
            raise DeclarationError("only the last positional may be optional or many")
        names = [option.name for option in self.options]
        names += [option.short for option in self.options if option.short]
        for name in names:
            if names.count(name) > 1:
                raise DeclarationError(f"{name} is declared twice")

    def find_long(self, name: str) -> Option:
        """Find an option by its long name or a beginning of it that no other option shares."""
        matches = [option for option in self.options if option.name == name]
        if not matches:
            matches = [option for option in self.options if option.name.startswith(name)]
        if len(matches) > 1:
            names = ", ".join(option.name for option in matches)
            raise UsageError(f"{name} could be any of {names}")
        if not matches:
            raise UsageError(f"unknown option {name}")
        return matches[0]

    def find_short(self, name: str) -> Option:
        """Find an option by its short name."""
        for option in self.options:
            if option.short == name:
                return option
        raise UsageError(f"unknown option {name}")

    def find_command(self, word: str) -> Command:
        """Find a subcommand by its name or a beginning of it that no other one shares."""
        matches = [command for command in self.commands if command.name == word]
        if not matches:
            matches = [command for command in self.commands if command.name.startswith(word)]
        if len(matches) == 1:
            return matches[0]
        known = ", ".join(command.name for command in matches or self.commands)
        kind = "ambiguous" if matches else "unknown"
        raise UsageError(f"{kind} command {word!r}: choose from {known}")

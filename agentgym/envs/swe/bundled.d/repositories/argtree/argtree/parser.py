"""From the words of a command line to values."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from argtree.errors import UsageError
from argtree.spec import Command, Option, Positional

NEGATIVE_NUMBER = re.compile(r"-\d+(\.\d+)?")


@dataclass
class Result:
    """What a command line said."""

    path: tuple[str, ...]
    """The command and the subcommands that were named, outermost first."""
    values: dict[str, Any] = field(default_factory=dict)
    """The value of every option and positional of these commands."""


def parse(command: Command, words: Sequence[str]) -> Result:
    """Parse the words after the name of the program.

    Args:
        command: The outermost command.
        words: The words, as the shell split them.

    Returns:
        The named commands and the values of their arguments.

    Raises:
        UsageError: The words do not fit the command.
    """
    return _Parse(command, list(words)).run()


def is_option(word: str) -> bool:
    """Tell whether a word names an option rather than a value."""
    if len(word) < 2 or word[0] != "-":
        return False
    return NEGATIVE_NUMBER.fullmatch(word) is None


class _Parse:
    """One run over the words; ``position`` is the next word to read."""

    def __init__(self, command: Command, words: list[str]) -> None:
        self.command = command
        self.words = words
        self.position = 0
        self.path = [command.name]
        self.values: dict[str, Any] = {}
        self.seen: list[Option] = []
        self.loose: list[str] = []

    def run(self) -> Result:
        options_ended = False
        while self.position < len(self.words):
            word = self.words[self.position]
            self.position += 1
            if word == "--" and not options_ended:
                options_ended = True
            elif is_option(word) and not options_ended:
                self._option(word)
            elif self.command.commands:
                self._enter(self.command.find_command(word))
            else:
                self.loose.append(word)
        if self.command.commands:
            known = ", ".join(command.name for command in self.command.commands)
            raise UsageError(f"{' '.join(self.path)} needs a command: {known}")
        self._finish_options()
        self._assign(self.command.positionals, self.loose)
        return Result(tuple(self.path), self.values)

    def _enter(self, command: Command) -> None:
        self._finish_options()
        self.command = command
        self.path.append(command.name)
        self.seen = []

    def _option(self, word: str) -> None:
        if word.startswith("--"):
            self._long(word)
        else:
            self._cluster(word[1:])

    def _long(self, word: str) -> None:
        name, sign, attached = word.partition("=")
        if name.startswith("--no-") and not sign:
            positive = "--" + name[len("--no-") :]
            for option in self.command.options:
                if option.flag and option.name == positive:
                    self._store(option, False)
                    return
        option = self.command.find_long(name)
        if not option.flag:
            text = attached if sign else self._next(option)
            self._store(option, _convert(option.name, option.convert, text))
        elif sign:
            raise UsageError(f"{option.name} takes no value")
        else:
            self._store(option, True)

    def _cluster(self, letters: str) -> None:
        for index, letter in enumerate(letters):
            option = self.command.find_short("-" + letter)
            if option.flag:
                self._store(option, True)
                continue
            text = letters[index + 1 :] or self._next(option)
            self._store(option, _convert(option.name, option.convert, text))
            break

    def _next(self, option: Option) -> str:
        """Take the next word as the value of an option."""
        if self.position == len(self.words) or is_option(self.words[self.position]):
            raise UsageError(f"{option.name} needs a value")
        self.position += 1
        return self.words[self.position - 1]

    def _store(self, option: Option, value: Any) -> None:
        if option.repeat:
            before = self.values[option.key] if option in self.seen else []
            self.values[option.key] = [*before, value]
        elif option in self.seen and not option.flag:
            raise UsageError(f"{option.name} is given twice")
        else:
            self.values[option.key] = value
        self.seen.append(option)

    def _finish_options(self) -> None:
        """Fill in what was not given for the options of the current command."""
        for option in self.command.options:
            if option in self.seen:
                continue
            if option.required:
                raise UsageError(f"{option.name} is required")
            self.values[option.key] = option.initial()

    def _assign(self, positionals: list[Positional], words: list[str]) -> None:
        rest = list(words)
        for positional in positionals:
            if positional.count == "many":
                taken, rest = rest, []
                self.values[positional.name] = [
                    _convert(positional.name, positional.convert, word) for word in taken
                ]
            elif rest:
                word = rest.pop(0)
                self.values[positional.name] = _convert(positional.name, positional.convert, word)
            elif positional.count == "optional":
                self.values[positional.name] = positional.default
            else:
                raise UsageError(f"{positional.name} is missing")
        if rest:
            raise UsageError(f"unexpected argument {rest[0]!r}")


def _convert(name: str, convert: Callable[[str], Any], text: str) -> Any:
    try:
        return convert(text)
    except ValueError as error:
        raise UsageError(f"{name}: {error}") from error

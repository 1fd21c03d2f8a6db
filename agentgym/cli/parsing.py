"""Parse the command line to a dataclass of arguments, or a command of another package."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from agentgym.cli.arguments import ABOUT, ABOUT_FIRST, COMMANDS, GROUPS, HELP_GROUPS
from agentgym.cli.families import family_subcommands
from agentgym.errors import ConfigurationError
from agentgym.registration import commands
from agentgym.support.flag_parsing import HELP, asks_help, parse_arguments
from agentgym.support.help_page import ALL, help_page, summary_line

PROGRAM = "agentgym"
TRAINER = ("train", "presets", "merge")
"""Commands that the trainer adds if it is installed."""
OTHER_GROUP = "more"
"""Title of the commands without a group in the help."""


@dataclass(frozen=True)
class OtherCommand:
    """A command of another package, with its command-line arguments."""

    main: Callable[[Sequence[str]], int]
    """Runs the command; returns the exit code."""
    argv: tuple[str, ...]
    """Its command-line arguments."""


def parse(argv: Sequence[str]) -> object:
    """Parse the arguments of ``agentgym``.

    Returns:
        An instance of one of the dataclasses of `subcommands`, or an `OtherCommand`.

    Raises:
        SystemExit: Help was requested and printed.
        ConfigurationError: There is no such command or flag, a value is invalid, or a subcommand of
            a family is broken.
    """
    if not argv or argv[0] in HELP:
        sys.stdout.write(commands_page())
        raise SystemExit(0)
    first, *following = argv
    if first in commands():
        return OtherCommand(commands()[first].main, tuple(following))
    words, following = _command_words(first, following)
    if not words:
        sys.stdout.write(commands_page(first))
        raise SystemExit(0)
    return _parse_arguments(words, following)


def _command_words(first: str, following: Sequence[str]) -> tuple[str, list[str]]:
    """Return what was typed for a subcommand, and its arguments; no words: help of several.

    Raises:
        ConfigurationError: There is no such subcommand.
    """
    by_words = subcommands()
    seconds = [words.partition(" ")[2] for words in by_words if words.startswith(f"{first} ")]
    if not seconds:
        if first in by_words:
            return first, list(following)
        raise _unknown_command(first)
    if following and following[0] in HELP:
        return "", []
    if not following or following[0] not in seconds:
        actual = f"{following[0]!r:.80}" if following else "none"
        raise ConfigurationError(
            f"expected {PROGRAM} {first} with one of {', '.join(seconds)}, got {actual}"
        )
    return f"{first} {following[0]}", list(following[1:])


def _unknown_command(word: str) -> ConfigurationError:
    if word in TRAINER:
        return ConfigurationError(
            f"expected the trainer, which adds {PROGRAM} {word}, but it is not installed here: "
            "pip install -e '.[train]' in a checkout installs it"
        )
    names = list(dict.fromkeys([*(name.split()[0] for name in subcommands()), *commands()]))
    near = difflib.get_close_matches(word, names, 1)
    remedy = f"did you mean {near[0]}?" if near else f"{PROGRAM} --help lists them"
    return ConfigurationError(f"expected a command of {PROGRAM}, got {word!r:.80}: {remedy}")


def _parse_arguments(words: str, argv: Sequence[str]) -> object:
    """Read the arguments of a subcommand, or print its help."""
    arguments, program = subcommands()[words], f"{PROGRAM} {words}"
    if asks_help(argv):
        groups = HELP_GROUPS.get(arguments, {})
        sys.stdout.write(
            help_page(
                arguments, program, groups=groups, names=listed_names(), everything=ALL in argv
            )
        )
        raise SystemExit(0)
    return parse_arguments(arguments, argv, program)


def listed_names() -> Mapping[str, str]:
    """Return the lists that help texts of flags refer to by a word in capitals."""
    from agentgym.certification import CHECKS
    from agentgym.protocols import bundled

    return {"PROTOCOLS": ", ".join(bundled()), "CHECKS": ", ".join(CHECKS)}


@lru_cache(maxsize=1)
def subcommands() -> Mapping[str, type]:
    """Return the dataclass of every subcommand by its words, such as ``swe build``.

    Raises:
        ConfigurationError: Two subcommands have the same words, or share a dataclass.
    """
    by_words = dict(COMMANDS)
    for added in family_subcommands():
        if added.words in by_words or added.arguments in by_words.values():
            raise ConfigurationError(
                f"expected one subcommand {PROGRAM} {added.words}, with its own dataclass, got "
                f"another from {added.run.__module__}: change or uninstall its package"
            )
        by_words[added.words] = added.arguments
    first_words = {words.partition(" ")[0] for words in by_words if " " in words}
    if clashes := sorted(first_words & {*by_words}):
        raise ConfigurationError(
            f"expected {PROGRAM} {clashes[0]} to be one subcommand or the first word of several, "
            "got both: change or uninstall the package that adds it"
        )
    return by_words


def commands_page(first: str = "") -> str:
    """Return the help that lists the commands.

    Args:
        first: The first word of the listed commands; empty: all commands.
    """
    by_words = subcommands()
    if first:
        rows = {
            words.partition(" ")[2]: _summary(arguments)
            for words, arguments in by_words.items()
            if words.startswith(f"{first} ")
        }
        return _listing(f"{PROGRAM} {first}", _about_first().get(first, ""), {"": rows})
    summaries = {words.partition(" ")[0]: _summary(kind) for words, kind in by_words.items()}
    summaries |= {word: text for word, text in _about_first().items() if word in summaries}
    summaries |= {word: command.summary for word, command in commands().items()}
    blocks = {
        title: {word: summaries.pop(word) for word in words if word in summaries}
        for title, words in GROUPS.items()
    }
    return _listing(PROGRAM, ABOUT, {**blocks, OTHER_GROUP: summaries})


def _about_first() -> dict[str, str]:
    """Return the descriptions of command groups, by their first word."""
    added = family_subcommands()
    return {
        subcommand.words.partition(" ")[0]: subcommand.about
        for subcommand in added
        if subcommand.about
    } | {**ABOUT_FIRST}


def _summary(arguments: type) -> str:
    return (arguments.__doc__ or "").strip().partition("\n")[0]


def _listing(program: str, about: str, blocks: Mapping[str, Mapping[str, str]]) -> str:
    """Return a page that lists commands in groups."""
    lines = [f"usage: {program} COMMAND ...", "", about]
    for title, rows in blocks.items():
        if rows:
            lines += ["", *([f"{title}:"] if title else [])]
            lines += [line for row in rows.items() for line in summary_line(*row)]
    lines += ["", f"{program} COMMAND --help shows the flags of a command."]
    if program == PROGRAM:
        lines += ["Every command takes --quiet and --log-level LEVEL; agentgym --version."]
    return "\n".join(lines) + "\n"

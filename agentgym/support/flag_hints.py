"""Hints for unknown flags: the command's own name for the same thing.

Users of TRL, verl, Inspect, verifiers or CleanRL type the flags of these projects. One table,
``flag_hints.yaml``, serves all commands: a command suggests those equivalents that it has.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache

from agentgym.errors import ConfigurationError
from agentgym.support.bundled_files import read_table

_LETTER = re.compile(r"-[A-Za-z]")
"""A flag of one letter, as other projects have them."""
_NAMED = 3
"""Most flags that a hint names."""


@cache
def synonyms() -> Mapping[str, tuple[str, ...]]:
    """Return the flags, without dashes, that a word of another project stands for."""
    return read_table(dict[str, tuple[str, ...]], __file__)


def check_flags(argv: Sequence[str], flags: Collection[str], program: str) -> None:
    """Refuse the first argument that looks like a flag and is none.

    Args:
        argv: What was typed; of an argument after a lone ``--`` nothing is said.
        flags: All flags of the command, such as ``--rl.beta`` and ``--no-scale``.
        program: What is typed for it, such as ``agentgym train``.

    Raises:
        ConfigurationError: There is one; the message names the flag that was probably meant.
    """
    for word in argv:
        if word == "--":
            return
        name = word.partition("=")[0].replace("_", "-")
        if (name.startswith("--") or _LETTER.fullmatch(name)) and name not in flags:
            raise ConfigurationError(
                f"expected a flag of {program}, got {word.partition('=')[0]}"
                f"{flag_hint(name, flags) or f': see {program} --help-all'}"
            )


def flag_hint(name: str, flags: Collection[str]) -> str:
    """Return what to say of a flag that a command does not have, such as ``: here it is --out``.

    Args:
        name: What was typed, such as ``--output-dir``.
        flags: The flags of the command.

    Returns:
        The end of a sentence; empty where nothing is like it.
    """
    word = name.lstrip("-").replace("_", "-")
    section, _, last = word.rpartition(".")
    own_names = [
        f"--{synonym}" for synonym in _synonyms(word, section, last) if f"--{synonym}" in flags
    ]
    if own_names:
        return f": here it is {' or '.join(own_names[:_NAMED])}"
    near = [flag for flag in flags if flag.rpartition(".")[2].removeprefix("--") == last]
    near += difflib.get_close_matches(f"--{word}", sorted(flags), _NAMED, 0.75)
    near = list(dict.fromkeys(near))[:_NAMED]
    return f": did you mean {' or '.join(near)}?" if near else ""


def _synonyms(word: str, section: str, last: str) -> Iterator[str]:
    """Yield what a word stands for; a section that was typed, such as ``sft``, chooses."""
    table = synonyms()
    if word in table:
        yield from table[word]
        return
    flags = table.get(last, ()) if section else ()
    of_section = [flag for flag in flags if flag.startswith(f"{section}.")]
    yield from of_section or flags

"""Reduce any text to one line that an interpreter of Z-machine games reads as one command.

The interpreter behind Jericho takes its input from a terminal: a backslash starts a control code
(with most letters it never returns), a NUL byte hangs it, and text after a line break is executed
by the *next* step. Its parser executes every sentence of a line, and some words address the program
instead of the game. A model's text must trigger none of this.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

MAX_COMMAND = 120
"""Most characters of a command; the longest of TextWorld's own have about 80."""

READ_LENGTH = 4096
"""Characters of a text that are looked at."""

_PLAIN = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u00b4", "'"),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u00ad", "-"),
        # The parser splits words at double quotes, as it does at commas and full stops.
        **dict.fromkeys('"`\u201c\u201d\u201e\u00ab\u00bb\\', " "),
    }
)
_SENTENCE_END = re.compile(r"[.,;!]|\bthen\b", re.IGNORECASE)
_EDGES = " '*?:>-_"

_SESSION = "quit q restart restore save script transcript record recording replay verify version"
_MEMORY = "undo again g oops o"  # of the parser, which internal commands disturb
_SWITCHES = "brief verbose superbrief short long normal notify enable disable restrict"
_TESTING = (  # commands of a debug build of Inform
    "abstract actions changes daemons gonear goto messages purloin random relations routines "
    "rules scenes scope showheap showme showverb test timers trace tree"
)
_TO_THE_PROGRAM = frozenset(f"{_SESSION} {_MEMORY} {_SWITCHES} {_TESTING}".split())
_TO_THE_PROGRAM_PREFIXES = ("tw-", "print_", "transcrip", "superbrie", "#", "$")


class SanitisedCommand(NamedTuple):
    """A text, as far as it can be given to a game."""

    text: str
    """One line of printable ASCII without a backslash and with single spaces; may be empty."""
    ignored: str = ""
    """The sentences behind it, which were left out."""
    refusal: str = ""
    """Why the line must not be given to the game; empty if it may."""


def read_command(text: str) -> SanitisedCommand:
    """Find the one command in any text, with the reason for which it is refused if it is.

    The command is the first sentence of the first line that says anything: a full stop, comma,
    semicolon, exclamation mark or the word *then* ends it, since a turn is one action. Typographic
    characters and accents become plain; other letters become tildes, so that an unknown
    word stays one; all other characters become spaces.
    """
    lines = map(_printable, _plain_text(text[:READ_LENGTH]).splitlines())
    sentences = [part.strip(_EDGES) for line in lines for part in _SENTENCE_END.split(line)]
    command, *commands = [*filter(None, sentences)] or [""]
    ignored = ". ".join(commands)
    return SanitisedCommand(command[:MAX_COMMAND].rstrip(_EDGES), ignored, _refuse(command))


def plain(text: str) -> str:
    """Return one line of text in the characters of a command, as :func:`read_command` does."""
    return _printable(_plain_text(text))


def typable(name: str) -> bool:
    """Tell whether a command that holds a name reaches the game whole, in every grammar."""
    return name == " ".join(name.split()) and all(
        read_command(command) == (plain(command), "", "")
        for command in (f"take {name}", f"put {name} on it")
    )


def _plain_text(text: str) -> str:
    """Decompose to compatible plain characters and drop the accents.

    A character may decompose to a backslash or a stop, so this comes first.
    """
    if text.isascii():
        return text.translate(_PLAIN)
    # Accents that stand alone go first: normalising sorts a run of them in quadratic time.
    parts = unicodedata.normalize("NFKD", _without_accents(text.translate(_PLAIN)))
    return _without_accents(parts).translate(_PLAIN)


def _without_accents(text: str) -> str:
    return "".join([part for part in text if not unicodedata.combining(part)])


def _printable(text: str) -> str:
    """Map every character to printable ASCII and collapse white space."""
    if text.isascii() and text.isprintable():
        return " ".join(text.split())
    return " ".join("".join(map(_character, text)).split())


def _character(character: str) -> str:
    if " " <= character <= "~":
        return character
    return "~" if character.isalnum() else " "


def _refuse(command: str) -> str:
    """Say why a command must not reach the game, or return an empty text."""
    if not command:
        return "Nothing was said. Write one command, such as: look"
    if len(command) > MAX_COMMAND:
        return f"That is too long: a command has at most {MAX_COMMAND} characters."
    word = command.split(" ", 1)[0].lower()
    if word in _TO_THE_PROGRAM or word.startswith(_TO_THE_PROGRAM_PREFIXES):
        return f"There is no command {word!r} in this game."
    return ""

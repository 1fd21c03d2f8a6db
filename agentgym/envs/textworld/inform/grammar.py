"""The verbs of TextWorld's games, and the answers to commands that match none of their lines.

The grammar is Inform's standard one with TextWorld's additions; ``grammar.json`` holds it.

Lines stand in the order in which the parser tries them. Tokens: ``noun``, ``held``, ``multi``,
``multiheld``, ``multiexcept``, ``multiinside``, ``creature``, ``direction`` and ``topic``; anything
else is a preposition, its alternatives joined by ``/``. ``!`` after the action swaps the nouns.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from pathlib import Path

from agentgym.envs.textworld.inform.dictionary import key

NOUNS = frozenset(("noun", "held", "multi", "multiheld", "multiexcept", "multiinside", "creature",
                   "direction", "switched"))  # fmt: skip
MULTIPLE = frozenset(("multi", "multiheld", "multiexcept", "multiinside"))

TABLE = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))
"""The lines of the verbs, the answers to lines that do not fit and to actions that never change
anything, and the lines of the help."""
REFUSED = frozenset(map(key, (
    "quit", "q", "save", "restart", "restore", "verify", "version", "script", "transcript",
    "superbrief", "short", "verbose", "long", "brief", "normal", "notify", "undo", "oops",
    "print_state", "enable", "disable", "restrict", "tw-extra-infos", "tw-trace-actions",
    "tw-print")))  # fmt: skip
"""Verbs of the interpreter, not of the world: an episode does not know them."""


@dataclass(frozen=True)
class GrammarLine:
    """A way to use a verb.

    Attributes:
        tokens: Kinds of nouns, and prepositions as tuples of alternatives.
        action: The action that the line stands for.
        swapped: Whether the second noun is typed first.
        nouns: How many tokens are nouns.
    """

    tokens: tuple[str | tuple[str, ...], ...]
    action: str
    swapped: bool
    nouns: int


def _line(text: str) -> GrammarLine:
    """Read one line of the table."""
    tokens, _, replacement = text.partition("=>")
    action, _, swap = replacement.strip().partition(" ")
    kinds = tuple(token if token in NOUNS or token == "topic"
                  else tuple(key(word) for word in token.split("/"))
                  for token in tokens.split())  # fmt: skip
    nouns = sum(isinstance(kind, str) and kind != "topic" for kind in kinds)
    return GrammarLine(kinds, action, bool(swap), nouns)


@lru_cache(maxsize=2)
def verbs(cooking: bool) -> dict[str, tuple[GrammarLine, ...]]:
    """Return the lines of every verb, as ``words.key`` shortens it; cooking has its own."""
    table = {**TABLE["common"], **TABLE["cooking" if cooking else "plain"]}
    lines_by_verb = {}
    for names, texts in table.items():
        lines = tuple(map(_line, texts))
        lines_by_verb.update({key(name): lines for name in names.split()})
    return lines_by_verb


@lru_cache(maxsize=2)
def prepositions(cooking: bool) -> frozenset[str]:
    """Return every word that stands as a preposition in some line."""
    tokens = [token for lines in verbs(cooking).values() for line in lines for token in line.tokens]
    return frozenset(word for token in tokens if isinstance(token, tuple) for word in token)


class ParserError(IntEnum):
    """Reasons why a line of grammar did not fit; the higher, the more of it had been read.

    They are Inform's ``*_PE`` codes, and of all lines of a verb the highest one is the answer.
    """

    STUCK = 1
    UPTO = 2
    NUMBER = 3
    ANIMATE = 4
    CANTSEE = 5
    TOOLITTLE = 6
    NOTHELD = 7
    MULTI = 8
    MMULTI = 9
    VAGUE = 10
    EXCEPT = 11
    VERB = 12
    ITGONE = 14
    TOOFEW = 16
    NOTHING = 17
    CONTEXT = 19

    def text(self, detail: str = "", name: str = "") -> str:
        """Return the answer to a command that failed for this reason.

        Args:
            detail: The part understood, the pronoun in question, or the number of things.
            name: The thing that a pronoun stands for, with its article.
        """
        return str(TABLE["errors"][self.name]).replace("{detail}", detail).replace("{name}", name)

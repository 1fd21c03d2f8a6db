"""Inform 7 texts with square brackets, compiled once and said many times.

TextWorld writes descriptions as Inform source: ``The box[if c_0 is open and there is something in
the c_0] contains [a list of things in the c_0][end if].`` This module turns such a text into a
small tree of parts, and says a tree for a state. Only what TextWorld's grammars can produce is
understood; anything else raises ``DataError`` naming the bracket.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from agentgym.errors import DataError

_PIECE = re.compile(r"\[([^\]]*)\]")
_STATE = re.compile(r"^(?:(?:the )?(\S+) (?:is|are) )?(open|closed|locked|unlocked)$")
_THERE = re.compile(r"^there (?:is|are) (something|nothing) (?:in|on) (?:the )?(\S+)$")
_EMPTY = re.compile(r"^(?:the )?(\S+) contains (nothing|something)$")
_LIST = re.compile(r"^(is-are )?(?:(a|the) )?list of things (?:in|on) (?:the )?(\S+)$")
_BRANCH = re.compile(r"^(?:(else|otherwise) )?if (.*)$", re.DOTALL)
_APOSTROPHE = re.compile(r"(?<![^\W_])'|'(?![^\W_])")
_BREAKS = re.compile(r"[ \t]*\n\s*")
_SELF = ""
_BRACKETS = 1 << 12  # remembered: games of one setting share most
DEEPEST = 50
"""Most ``[if]``s in each other; TextWorld's own have two."""


class TextContext(Protocol):
    """What a text needs to know of the world while it is said."""

    def state_of(self, entity: str, state: str) -> bool:
        """Tell whether an entity is open, closed, locked or unlocked."""

    def contents(self, holder: str) -> list[str]:
        """Return what a container or supporter holds, in Inform's order."""

    def listing(self, things: list[str], article: str) -> str:
        """Return things as a sentence: ``a key, an apple and some milk``."""

    def printed_name(self, entity: str) -> str:
        """Return the name of an entity as the text prints it."""


@dataclass(frozen=True)
class Condition:
    """One clause: a state of an entity, or whether it holds anything.

    Attributes:
        entity: Id of the entity; empty for the thing that is described.
        state: ``open``, ``closed``, ``locked``, ``unlocked``, ``full`` or ``empty``.
    """

    entity: str
    state: str

    def holds(self, context: TextContext, me: str) -> bool:
        """Tell whether the clause is true of a state."""
        entity = self.entity or me
        if self.state == "full":
            return bool(context.contents(entity))
        if self.state == "empty":
            return not context.contents(entity)
        return context.state_of(entity, self.state)


@dataclass(frozen=True)
class Branches:
    """``[if]...[else if]...[otherwise]...[end if]``: conditions (all must hold) and their parts."""

    ways: tuple[tuple[tuple[Condition, ...], Parts], ...]


@dataclass(frozen=True)
class Listing:
    """``[a list of things in the X]``; ``verb`` puts ``is`` or ``are`` before it."""

    holder: str
    article: str
    verb: bool


@dataclass(frozen=True)
class OwnName:
    """``[noun]``: the name of the thing that is described."""


Part = str | Branches | Listing | OwnName
Parts = tuple[Part, ...]


def plain(text: str) -> str:
    """Return a literal as Inform prints it.

    Inside Inform's quotation marks an apostrophe that does not stand between two letters or
    digits is a double quotation mark.
    """
    return _APOSTROPHE.sub('"', text) if "'" in text else text


def paragraphs(text: str) -> str:
    """Return the source of a room's description with line breaks as Inform reads them.

    Within a literal, one line break is a space and two or more end a paragraph; blanks around
    them are dropped.
    """
    if "\n" not in text:
        return text
    return _BREAKS.sub(lambda m: "\n\n" if m.group().count("\n") > 1 else " ", text)


def compile_text(source: str) -> Parts:
    """Compile a text in Inform's notation, with line breaks as they shall be printed.

    Raises:
        DataError: If a bracket is not understood or not closed.
    """
    pieces = _PIECE.split(source)
    parts, rest = _sequence(pieces, 0, DEEPEST)
    if rest < len(pieces) or any("[" in literal or "]" in literal for literal in pieces[::2]):
        raise DataError(
            f"expected balanced brackets and an [if] for every [end if], got {source[:200]!r}; "
            "play this game with the engine 'inform7'"
        )
    return parts


def _sequence(pieces: list[str], at: int, depth: int) -> tuple[Parts, int]:
    """Compile pieces until a bracket that ends a branch; odd indices are brackets."""
    if not depth:
        raise DataError(
            f"expected at most {DEEPEST} [if]s in each other, got more in a text; use fewer"
        )
    parts: list[Part] = []
    while at < len(pieces):
        piece = pieces[at]
        if at % 2 == 0:
            if piece:
                parts.append(plain(piece))
            at += 1
        elif piece.startswith("if "):
            branches, at = _branches(pieces, at, depth)
            parts.append(branches)
        elif piece in ("end if", "otherwise", "else") or _BRANCH.match(piece):
            break
        else:
            parts.append(_substitution(piece))
            at += 1
    return tuple(parts), at


def _branches(pieces: list[str], at: int, depth: int) -> tuple[Branches, int]:
    """Compile ``[if]`` at ``at`` up to its ``[end if]``, or to the end of the text."""
    ways: list[tuple[tuple[Condition, ...], Parts]] = []
    while at < len(pieces) and pieces[at] != "end if":
        found = _BRANCH.match(pieces[at])
        conditions = _conditions(found.group(2)) if found else ()
        parts, at = _sequence(pieces, at + 1, depth - 1)
        ways.append((conditions, parts))
    return Branches(tuple(ways)), at + 1


@lru_cache(maxsize=_BRACKETS)
def _conditions(text: str) -> tuple[Condition, ...]:
    """Compile the clauses of a condition."""
    return tuple(_condition(clause.strip()) for clause in text.split(" and "))


def _condition(clause: str) -> Condition:
    """Compile one clause."""
    if found := _STATE.match(clause):
        return Condition(found.group(1) or _SELF, found.group(2))
    if found := _THERE.match(clause):
        return Condition(found.group(2), "full" if found.group(1) == "something" else "empty")
    if found := _EMPTY.match(clause):
        return Condition(found.group(1), "full" if found.group(2) == "something" else "empty")
    raise DataError(
        "expected a condition such as 'c_0 is open' or 'there is something in the c_0', got "
        f"{clause!r}; play this game with the engine 'inform7'"
    )


@lru_cache(maxsize=_BRACKETS)
def _substitution(bracket: str) -> Part:
    """Compile a bracket that stands for a text."""
    if bracket == "line break":
        return "\n"
    if bracket == "noun":
        return OwnName()
    if found := _LIST.match(bracket.strip()):
        return Listing(found.group(3), found.group(2) or "", bool(found.group(1)))
    raise DataError(f"expected a text substitution that TextWorld writes, got [{bracket}]; play "
                    "this game with the engine 'inform7'")  # fmt: skip


def say(parts: Parts, context: TextContext, me: str = "") -> str:
    """Return a compiled text as Inform prints it; ``me`` is the thing that it describes."""
    said: list[str] = []
    for part in parts:
        if isinstance(part, str):
            said.append(part)
        elif isinstance(part, Branches):
            for conditions, inner in part.ways:
                if all(condition.holds(context, me) for condition in conditions):
                    said.append(say(inner, context, me))
                    break
        elif isinstance(part, Listing):
            things = context.contents(part.holder)
            verb = ("is " if len(things) < 2 else "are ") if part.verb else ""
            said.append(verb + context.listing(things, part.article))
        else:
            said.append(context.printed_name(me))
    return "".join(said)

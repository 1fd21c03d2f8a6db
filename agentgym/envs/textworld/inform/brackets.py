"""Inform 7 texts with square brackets, compiled once and rendered many times.

TextWorld writes descriptions as Inform source: ``The box[if c_0 is open and there is something in
the c_0] contains [a list of things in the c_0][end if].`` This module parses such a text into a
small tree of parts, and renders a tree for a state. Only what TextWorld's grammars can produce is
understood; anything else raises ``DataError`` naming the bracket.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, Protocol

from agentgym.errors import DataError

_PIECE = re.compile(r"\[([^\]]*)\]")
_STATE = re.compile(r"^(?:(?:the )?(\S+) (?:is|are) )?(open|closed|locked|unlocked)$")
_THERE = re.compile(r"^there (?:is|are) (something|nothing) (?:in|on) (?:the )?(\S+)$")
_EMPTY = re.compile(r"^(?:the )?(\S+) contains (nothing|something)$")
_LIST = re.compile(r"^(is-are )?(?:(a|the) )?list of things (?:in|on) (?:the )?(\S+)$")
_BRANCH = re.compile(r"^(?:(else|otherwise) )?if (.*)$", re.DOTALL)
# Both alternatives begin with the same character, so that the search skips texts without it.
_APOSTROPHE = re.compile(r"'(?:(?<![^\W_]')|(?![^\W_]))")
_BREAKS = re.compile(r"(\n\s*)")
_SELF = ""
_BRACKETS = 1 << 12  # remembered: games of one setting share most
DEEPEST = 50
"""Most ``[if]``s in each other; TextWorld's own have two."""


class TextContext(Protocol):
    """The facts about the world that rendering a text needs."""

    def state_of(self, entity: str, state: str) -> bool:
        """Tell whether an entity is open, closed, locked or unlocked."""

    def contents(self, holder: str) -> list[str]:
        """Return what a container or supporter holds, in Inform's order."""

    def listing(self, entities: list[str], article: str) -> str:
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


class TextBranches(NamedTuple):
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


Part = str | TextBranches | Listing | OwnName
Parts = tuple[Part, ...]


@dataclass(frozen=True)
class Way:
    """A bracket that begins a way of ``TextBranches``; ``[otherwise]`` has no conditions."""

    conditions: tuple[Condition, ...]
    first: bool
    """Whether it is an ``[if]``."""


def plain_text(text: str) -> str:
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
    pieces = _BREAKS.split(text)
    pieces[:-1:2] = [line.rstrip(" \t") for line in pieces[:-1:2]]
    pieces[1::2] = ["\n\n" if blanks.count("\n") > 1 else " " for blanks in pieces[1::2]]
    return "".join(pieces)


def compile_text(source: str, *, room: bool = False) -> Parts:
    """Compile a text in Inform's notation.

    Args:
        source: The text, with line breaks as they shall be printed; of a room, as they stand in its
            source.
        room: Whether it describes a room: TextWorld cuts such a text behind each ``[end if]``, so
            that one ends all ``[if]``s.

    Raises:
        DataError: If a bracket is not understood or not closed.
    """
    pieces = _PIECE.split(paragraphs(source) if room else source)
    literals = "".join(pieces[::2])
    if "[" in literals or "]" in literals:
        raise _unbalanced(source)
    parts: list[Part] = []
    opened: list[_Opened] = []
    for place, piece in enumerate(pieces):  # every other one is a bracket
        if place % 2 == 0:
            if piece:
                parts.append(plain_text(piece))
            continue
        bracket = _bracket(piece)
        if isinstance(bracket, Way):
            if bracket.first:
                opened.append((parts, []))
            elif not opened:
                raise _unbalanced(source)
            parts = []
            opened[-1][1].append((bracket.conditions, parts))
        elif bracket is not None:
            parts.append(bracket)
        elif not opened:
            raise _unbalanced(source)
        else:
            parts = _close(opened)
            while room and opened:
                parts = _close(opened)
        if len(opened) == DEEPEST:
            raise DataError(
                f"expected at most {DEEPEST} [if]s in each other, got more in a text; use fewer"
            )
    while opened:
        parts = _close(opened)
    return tuple(parts)


_Opened = tuple[list[Part], list[tuple[tuple[Condition, ...], list[Part]]]]
"""The text that an ``[if]`` interrupted, and its branches so far."""


def _close(opened: list[_Opened]) -> list[Part]:
    """End the innermost ``[if]``; return the interrupted text, with it appended."""
    parts, ways = opened.pop()
    parts.append(TextBranches(tuple([(conditions, tuple(inner)) for conditions, inner in ways])))
    return parts


def _unbalanced(source: str) -> DataError:
    return DataError(
        f"expected balanced brackets and an [if] for every [end if], got {source[:200]!r}; "
        "play this game with the engine 'inform7'"
    )


@lru_cache(maxsize=_BRACKETS)
def _bracket(text: str) -> Part | Way | None:
    """Compile the content of a bracket; None for the end of an ``[if]``."""
    if text == "end if":
        return None
    if text in ("otherwise", "else"):
        return Way((), first=False)
    if match := _BRANCH.match(text):
        clauses = match.group(2).split(" and ")
        conditions = tuple([_condition(clause.strip()) for clause in clauses])
        return Way(conditions, first=not match.group(1))
    return _substitution(text)


def _condition(clause: str) -> Condition:
    """Compile one clause."""
    if match := _STATE.match(clause):
        return Condition(match.group(1) or _SELF, match.group(2))
    if match := _THERE.match(clause):
        return Condition(match.group(2), "full" if match.group(1) == "something" else "empty")
    if match := _EMPTY.match(clause):
        return Condition(match.group(1), "full" if match.group(2) == "something" else "empty")
    raise DataError(
        "expected a condition such as 'c_0 is open' or 'there is something in the c_0', got "
        f"{clause!r}; play this game with the engine 'inform7'"
    )


def _substitution(bracket: str) -> Part:
    """Compile a bracket that stands for a text."""
    if bracket == "line break":
        return "\n"
    if bracket == "noun":
        return OwnName()
    if match := _LIST.match(bracket.strip()):
        return Listing(match.group(3), match.group(2) or "", bool(match.group(1)))
    raise DataError(f"expected a text substitution that TextWorld writes, got [{bracket}]; play "
                    "this game with the engine 'inform7'")  # fmt: skip


def say(parts: Parts, context: TextContext, me: str = "") -> str:
    """Return a compiled text as Inform prints it; ``me`` is the thing that it describes."""
    pieces: list[str] = []
    for part in parts:
        if isinstance(part, str):
            pieces.append(part)
        elif isinstance(part, TextBranches):
            for conditions, inner in part.ways:
                if all([condition.holds(context, me) for condition in conditions]):
                    pieces.append(say(inner, context, me))
                    break
        elif isinstance(part, Listing):
            contents = context.contents(part.holder)
            verb = ("is " if len(contents) < 2 else "are ") if part.verb else ""
            pieces.append(verb + context.listing(contents, part.article))
        else:
            pieces.append(context.printed_name(me))
    return "".join(pieces)

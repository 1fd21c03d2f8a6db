"""The language of facts: what can be said of entities, and nothing else.

    fact      = application | "not" application | application ("=" | "!=") term
    term      = application | name | 'name in quotes'
    application = name [ "(" term { "," term } ")" ]

A fact is a function of entities with finitely many values. One without ``is`` is a flag: it is
``yes`` or ``no``. A name alone is a variable, an entity, a word or a fact of nothing; no two of
these share a name. Types are checked as a text is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

YES, NO = "yes", "no"
RESERVED = ("not", YES, NO)
DEEPEST = 4
"""Most applications within one another."""


class NameTerm(NamedTuple):
    """An entity, or a word, by its name."""

    name: str


class Variable(NamedTuple):
    """A parameter of a tool, or a variable of a goal."""

    name: str


class Application(NamedTuple):
    """The value that a fact has for some entities."""

    fact: str
    of: tuple[Term, ...]


Term: TypeAlias = "NameTerm | Variable | Application"


class Equation(NamedTuple):
    """That a fact has a value, or has not; as an effect, that it gets one."""

    left: Application
    right: Term
    equal: bool = True


@dataclass(frozen=True)
class Fact:
    """What can be said of entities."""

    name: str
    """Its name."""
    of: tuple[str, ...]
    """Types of the entities that it is about."""
    kinds: tuple[str, ...]
    """Its values: types, each of which stands for its entities, and words."""
    start: tuple[str, ...]
    """Values that it may begin with."""
    hidden: bool = False
    """Whether no list of offered actions depends on it."""
    distinct: bool = False
    """Whether no two entities begin with the same value."""


class Misread(ValueError):
    """A text is no fact; the message says why."""


class Vocabulary(NamedTuple):
    """What names stand for."""

    facts: Mapping[str, Fact]
    """The facts by their names."""
    names: Mapping[str, str]
    """Kinds of the names that can be written: words are their own, entities have their type."""

    def equation(
        self, text: str, variables: Mapping[str, str], *, effect: bool = False
    ) -> Equation:
        """Read a fact.

        Args:
            text: The text.
            variables: Types of the variables.
            effect: Whether it says what becomes of a fact.

        Raises:
            Misread: It is none.
        """
        reader = _Reader(self, text, variables)
        negative = reader.took("not")
        left = reader.term()
        if not isinstance(left, Application):
            raise Misread(f"it has to begin with a fact, which {left.name!r} is not")
        kinds = self.facts[left.fact].kinds
        sign = reader.took("=") or reader.took("!=")
        if negative or not sign:
            if sign or kinds != (YES, NO):
                raise Misread(
                    f"{left.fact} has values: write {left.fact} = VALUE"
                    if kinds != (YES, NO)
                    else "write either `not` or a value"
                )
            reader.end()
            return Equation(left, NameTerm(NO if negative else YES))
        if effect and sign == "!=":
            raise Misread("an effect says what a fact becomes: write = in place of !=")
        right = reader.term()
        reader.end()
        right_kinds = self.kinds(right, variables)
        fits = set(right_kinds) <= set(kinds) if effect else not set(right_kinds).isdisjoint(kinds)
        if not fits:
            raise Misread(f"{left.fact} is one of {_list(kinds)}, never {_list(right_kinds)}")
        return Equation(left, right, sign == "=")

    def term(self, text: str, variables: Mapping[str, str]) -> Term:
        """Read a term.

        Raises:
            Misread: It is none.
        """
        reader = _Reader(self, text, variables)
        term = reader.term()
        reader.end()
        return term

    def kinds(self, term: Term, variables: Mapping[str, str]) -> tuple[str, ...]:
        """Return the kinds of values that a term may have."""
        if isinstance(term, Application):
            return self.facts[term.fact].kinds
        if isinstance(term, Variable):
            return (variables[term.name],)
        return (term.name if term.name in RESERVED else self.names[term.name],)


_TOKEN = re.compile(r"\s*(?:(?P<quoted>'[^']*')|(?P<sign>!=|[=(),])|(?P<name>[A-Za-z0-9_-]+))")


class _Reader:
    """Read one text from left to right."""

    def __init__(self, vocabulary: Vocabulary, text: str, variables: Mapping[str, str]) -> None:
        self._vocabulary, self._variables = vocabulary, variables
        self._tokens: list[str] = []
        place = 0
        while text[place:].strip():
            match = _TOKEN.match(text, place)
            if match is None:
                raise Misread(f"{text[place:].strip()[:20]!r} means nothing here")
            self._tokens.append(match[0].strip())
            place = match.end()

    def took(self, token: str) -> str:
        """Take a token if it is the next one."""
        return self._tokens.pop(0) if self._tokens[:1] == [token] else ""

    def end(self) -> None:
        if self._tokens:
            raise Misread(f"nothing is expected after it, got {' '.join(self._tokens)[:40]!r}")

    def term(self, depth: int = 0) -> Term:
        if not self._tokens or depth > DEEPEST:
            raise Misread("a name is missing" if depth <= DEEPEST else "it is nested too deeply")
        token = self._tokens.pop(0)
        name = token.strip("'")
        if name in self._vocabulary.facts and token == name:
            return self._application(self._vocabulary.facts[name], depth)
        if token == name and name in self._variables:
            return Variable(name)
        if name in self._vocabulary.names or name in (YES, NO):
            return NameTerm(name)
        names = [*self._variables, *self._vocabulary.facts, *self._vocabulary.names]
        raise Misread(f"{token[:40]!r} is none of {_list(names[:40])}")

    def _application(self, fact: Fact, depth: int) -> Application:
        terms: list[Term] = []
        if self.took("("):
            terms.append(self.term(depth + 1))
            while self.took(","):
                terms.append(self.term(depth + 1))
            if not self.took(")"):
                raise Misread(f"a ) is missing after {fact.name}(")
        kinds = [self._vocabulary.kinds(term, self._variables) for term in terms]
        if kinds != [(kind,) for kind in fact.of]:
            expected = f"({', '.join(fact.of)})" if fact.of else "nothing"
            actual = ", ".join("|".join(kind) for kind in kinds)
            raise Misread(f"{fact.name} is about {expected}, not ({actual})")
        return Application(fact.name, tuple(terms))


def _list(names: Iterable[str]) -> str:
    return ", ".join(names)

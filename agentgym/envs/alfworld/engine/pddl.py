"""Reading a PDDL problem of the ALFRED domain: declared objects, initial facts and the goal.

The rules of the language are those of Fast Downward's translator, which reads the games in the
original: a semicolon begins a comment, letters lose their case, and a question mark begins a word.
Nothing of the text is ever executed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from agentgym.errors import DataError

Tree = Any
"""A word, or a list of trees."""

DEPTH = 64
"""Most nested lists; a deeper text is not a game."""
DOMAIN = "alfred"
_COMMENT = re.compile(r";[^\n]*")
_TOKEN = re.compile(r"\(([^()]*)\)|([()])|([^\s()]+)")


@dataclass(frozen=True, slots=True)
class PddlProblem:
    """A problem as it is written, with nothing checked against the domain."""

    types: dict[str, str]
    """Declared objects and their types."""
    facts: dict[str, list[tuple[str, ...]]]
    """Initial facts: predicate -> arguments of each fact, in the order of the text."""
    goal: Tree
    """The goal formula."""


def parse_problem(text: str) -> PddlProblem:
    """Parse the text of a PDDL problem.

    Raises:
        DataError: The text is not a problem of the domain ``alfred``.
    """
    sections = _sections(read_tree(text))
    for name in (":objects", ":init", ":goal"):
        if name not in sections:
            raise malformed(f"a section {name}", f"only {', '.join(sections) or 'no sections'}")
    if sections.get(":domain", [DOMAIN]) != [DOMAIN]:
        raise malformed(f"(:domain {DOMAIN})", repr(sections[":domain"]))
    goal = sections[":goal"]
    if len(goal) != 1:
        raise malformed("one goal formula", f"{len(goal)}")
    return PddlProblem(_types(sections[":objects"]), _facts(sections[":init"]), goal[0])


def read_tree(text: str) -> list[Any]:
    """Read one parenthesised list as nested lists of lower-case words.

    Raises:
        DataError: The text is not ASCII, unbalanced, nested too deeply, or not one list.
    """
    if ";" in text:
        text = _COMMENT.sub("", text)
    if not text.isascii():
        raise malformed("ASCII text outside comments", "other characters")
    root: list[Any] = []
    stack = [root]
    for match in _TOKEN.finditer(text.lower().replace("?", " ?")):
        kind = match.lastindex
        if kind == 1:  # a list of words only: nearly all of a problem, so read in one go
            stack[-1].append(match[1].split())
        elif kind == 3:
            stack[-1].append(match[3])
        elif match[2] == "(":
            if len(stack) > DEPTH:
                raise malformed(f"at most {DEPTH} nested lists", "more")
            below: list[Any] = []
            stack[-1].append(below)
            stack.append(below)
        elif len(stack) == 1:
            raise malformed("balanced parentheses", "one ')' too many")
        else:
            stack.pop()
    if len(stack) != 1:
        raise malformed("balanced parentheses", f"{len(stack) - 1} unclosed")
    if len(root) != 1 or not isinstance(root[0], list):
        raise malformed("one list '(define ...)'", f"{len(root)} expressions")
    return root[0]


def typed_list(words: list[Any]) -> list[tuple[str, str]]:
    """Read ``a b - type c`` as pairs of name and type; what has no type is an ``object``.

    Raises:
        DataError: A list or a dash stands where a name should.
    """
    pairs: list[tuple[str, str]] = []
    untyped: list[str] = []
    stream = iter(words)
    for word in stream:
        if word == "-":
            kind = next(stream, None)
            if not isinstance(kind, str):
                raise malformed("a type after '-'", repr(kind))
            pairs += [(name, kind) for name in untyped]
            untyped.clear()
        elif isinstance(word, str):
            untyped.append(word)
        else:
            raise malformed("a list of names", f"the list {str(word)[:60]} in it")
    return pairs + [(name, "object") for name in untyped]


def _sections(tree: list[Any]) -> dict[str, list[Any]]:
    """Return ``:objects``, ``:init``, ``:goal`` and the rest of the problem by name."""
    if not tree or tree[0] != "define":
        raise malformed("'(define ...)'", repr(tree[:1]))
    sections: dict[str, list[Any]] = {}
    for entry in tree[1:]:
        if not isinstance(entry, list) or not entry or not isinstance(entry[0], str):
            raise malformed("sections such as (:init ...)", str(entry)[:60])
        if entry[0] in sections:
            raise malformed(f"one section {entry[0]}", "two")
        sections[entry[0]] = entry[1:]
    return sections


def _types(words: list[Any]) -> dict[str, str]:
    """Read the section ``:objects``."""
    pairs = typed_list(words)
    types = dict(pairs)
    if len(types) != len(pairs):
        raise malformed("each object declared once", f"{len(pairs) - len(types)} declared again")
    return types


def _facts(entries: list[Any]) -> dict[str, list[tuple[str, ...]]]:
    """Read the section ``:init``; negated facts and costs say nothing that an engine needs."""
    facts: dict[str, list[tuple[str, ...]]] = {}
    for entry in entries:
        if not isinstance(entry, list) or not entry:
            raise malformed("facts such as (openable x)", str(entry)[:60])
        name = entry[0]
        if name in ("=", "not"):
            continue
        if any(type(word) is list for word in entry):
            raise malformed("facts over names", str(entry)[:60])
        facts.setdefault(name, []).append(tuple(entry[1:]))
    return facts


def malformed(expected: str, actual: str, part: str = "the PDDL problem") -> DataError:
    """Return the error for a problem that is not one of the domain."""
    return DataError(
        f"expected {expected} in {part}, got {actual}; take the text of pddl_problem from a "
        "game.tw-pddl file, or from the generator"
    )

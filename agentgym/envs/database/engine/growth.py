"""Bound the size to which SQLite may expand a statement before it calls the authorizer.

A query in FROM, or a common table, is folded into the query that reads it: each mention of a column
is replaced by a copy of its expression. So ``SELECT x + x AS x FROM (SELECT x + x AS x FROM ...)``
doubles with each level. The bound is coarse, but never too small.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

_BEGINS = ("SELECT", "WITH", "VALUES")
_READ = ("FROM", "JOIN", ",", "(")
"""What stands before a query that is read as a table."""
_ORDERED = ("ORDER", "GROUP", "PARTITION")
_RESERVED = frozenset((
    "ALL", "AND", "AS", "BETWEEN", "CASE", "COLLATE", "DELETE", "DISTINCT", "ELSE", "ESCAPE",
    "EXCEPT", "EXISTS", "FROM", "GROUP", "HAVING", "IN", "INSERT", "INTERSECT", "INTO", "IS",
    "ISNULL", "JOIN", "LIMIT", "NOT", "NOTNULL", "NULL", "ON", "OR", "ORDER", "RETURNING",
    "SELECT", "SET", "THEN", "UNION", "UPDATE", "USING", "VALUES", "WHEN", "WHERE",
))  # fmt: skip
"""Words that cannot be names."""


class _Level:
    """The words of a query, those of the queries inside it included."""

    def __init__(self) -> None:
        self.words: Counter[str] = Counter()
        self.aliases: set[str] = set()
        self.stars = 0

    def add(self, inner: _Level) -> None:
        """Take in a query that stands inside."""
        self.words += inner.words
        self.aliases |= inner.aliases
        self.stars += inner.stars

    def factor(self) -> int:
        """Return how often a column may be named, directly or by an alias of the same query."""
        direct = max(self.words.values(), default=0) + self.stars
        return max(1, direct) * max([1, *(self.words[alias] - 1 for alias in self.aliases)])


def growth(tokens: Sequence[str]) -> int:
    """Return an upper bound for the number of tokens of the expanded statement.

    Args:
        tokens: The words, names, texts and signs of the statement.
    """
    upper_tokens = [token.upper() for token in tokens]
    levels, brackets, factor, reads = [_Level()], [False], 1, False
    for place, word in enumerate(upper_tokens):
        previous_token = upper_tokens[place - 1] if place else ""
        behind = upper_tokens[place + 1] if place + 1 < len(upper_tokens) else ""
        if word == "(":
            brackets.append(behind in _BEGINS)
            if brackets[-1]:
                levels.append(_Level())
                reads = reads or previous_token in _READ or previous_token in ("AS", "MATERIALIZED")
        elif word == ")" and len(brackets) > 1:
            if brackets.pop():
                inner = levels.pop()
                factor *= inner.factor()
                levels[-1].add(inner)
        elif word == "*":
            levels[-1].stars += previous_token in ("SELECT", "DISTINCT", ",", ".")
        elif _is_word(word) and behind not in (".", "("):  # no qualifier, no function
            name = word.strip("\"'`[]")
            levels[-1].words[name] += 1
            if previous_token == "AS" or _ends(upper_tokens[max(0, place - 2) : place]):
                levels[-1].aliases.add(name)
    for level in levels:
        factor *= level.factor()
    return len(upper_tokens) * factor if reads else len(upper_tokens)


def _is_word(token: str) -> bool:
    """Return whether a token is a name, or a text, which can be an alias too."""
    start = token[0]
    named = start.isalpha() or start in "_\"'`[" or start >= "\x80"
    return named and token not in _RESERVED


def _ends(preceding: Sequence[str]) -> bool:
    """Return whether what stands before a word ends an expression, which the word then names."""
    if not preceding or (preceding[-1] == "BY" and preceding[0] in _ORDERED):
        return False
    return preceding[-1] == ")" or preceding[-1].isdigit() or _is_word(preceding[-1])

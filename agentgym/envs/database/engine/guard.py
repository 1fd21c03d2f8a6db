"""Refuse statements, functions and tables in a model's SQL.

While SQLite compiles a statement, it calls `Guard.authorize` for each operation, and only the
operations listed here are allowed. Four things are not authorized, or too late:

- ``EXPLAIN``, which gives other results in each version of SQLite: a statement must begin with a
  word of `BEGINS`.
- Common tables are copied at each mention, before any authorization: twenty of them, each of which
  names the previous one twice, take gigabytes. `refusal` bounds the copies.
- Queries are folded into the queries that read them, see `agentgym.envs.database.engine.growth`.
- Python before 3.11 cannot bound the length of a value (`LENGTH_IS_BOUNDED`). There, functions that
  make long values from short ones are refused, too.
"""

from __future__ import annotations

import re
import sqlite3
import sys
from collections.abc import Collection, Iterator
from typing import Any

from agentgym.envs.database.engine.growth import growth

LENGTH_IS_BOUNDED = sys.version_info >= (3, 11)
BEGINS = ("SELECT", "WITH", "VALUES", "INSERT", "REPLACE", "UPDATE", "DELETE")
"""First words of allowed statements."""
MOST_COPIES = 256
"""Maximum number of copies of a common table in a statement."""
LARGEST = 1_000_000
"""Maximum number of tokens of a statement after its queries are folded into each other."""
GROWING = frozenset({"replace", "group_concat"})
"""Functions with results that may be much longer than their arguments."""
CLOCKS = ("date", "time", "datetime", "julianday", "strftime")
"""Functions of time; `agentgym.envs.database.engine.clock` replaces them."""
FUNCTIONS = GROWING | {
    "abs", "avg", "coalesce", "count", "ifnull", "iif", "instr", "length", "like", "glob", "lower",
    "ltrim", "max", "min", "nullif", "round", "rtrim", "sign", "substr", "substring", "sum",
    "total", "trim", "typeof", "unicode", "upper", "row_number", "rank", "dense_rank", "lag",
    "lead", "first_value", "last_value", *CLOCKS, "current_date", "current_time",
    "current_timestamp",
}  # fmt: skip
"""Allowed functions: none reads a clock, draws at random, or touches a file."""
SCHEMAS = frozenset({"sqlite_master", "sqlite_schema"})
"""Tables of SQLite's schema, which can be read."""
_CHANGES = frozenset({sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE})
_TOKEN = re.compile(
    r"--[^\n]*|/\*.*?(?:\*/|\Z)"  # comments
    r"|'(?:[^']|'')*'?"  # text
    # Names and words, which may have all letters beyond ASCII, such as blanks of other kinds.
    r'|"(?:[^"]|"")*"?|`(?:[^`]|``)*`?|\[[^\]]*\]?|[A-Za-z_\x80-\U0010ffff][\w$\x80-\U0010ffff]*'
    r"|\|\||[^ \t\n\f\r]",
    re.DOTALL,
)
_PLAIN = re.compile(r"[a-z_]\w*")


class Guard:
    """Decides which operations a statement may perform.

    Args:
        tables: The tables of the task.
    """

    def __init__(self, tables: Collection[str]) -> None:
        self._tables = frozenset(name.lower() for name in tables)
        self._common: frozenset[str] = frozenset()
        self.trusts = False
        """Whether what is compiled now is our own, and may do everything."""
        self.denied = ""
        """Why the statement that was compiled last was refused; empty if it was not."""

    def refusal(self, sql: str) -> str:
        """Return why a statement is refused before compilation; empty if it is not."""
        self.denied = ""
        tokens = [*_tokens(sql)]
        begin = tokens[0].upper() if tokens else ""
        if begin not in BEGINS:
            return f"expected a statement that begins with {', '.join(BEGINS)}"
        if not LENGTH_IS_BOUNDED and "||" in tokens:
            return "|| is not available"
        names = common_tables(tokens)
        # A name with quotes in it can be written in several ways, which would not be counted.
        if not all(map(_PLAIN.fullmatch, names)):
            return "a common table has a plain name and no list of columns; name them in its SELECT"
        copies, words = 1, [_name(token) for token in tokens]
        for name in names:
            copies *= max(1, words.count(name) - 1)
        if copies > MOST_COPIES:
            return "the statement names its common tables too often"
        if growth(tokens) > LARGEST:
            return "queries in queries name their columns too often"
        self._common = frozenset(names)
        return ""

    def authorize(
        self, action: int, first: str | None, second: str | None, database: Any, trigger: Any
    ) -> int:
        """Allow or deny an operation of a statement; SQLite calls this."""
        if self.trusts:
            return sqlite3.SQLITE_OK
        reason = self._reason(action, (first or "").lower(), (second or "").lower())
        if reason:
            self.denied = self.denied or reason
            return sqlite3.SQLITE_DENY
        return sqlite3.SQLITE_OK

    def _reason(self, action: int, first: str, second: str) -> str:
        """Return why something is refused; empty if it is allowed."""
        if action == sqlite3.SQLITE_SELECT:
            return ""
        if action == sqlite3.SQLITE_READ:
            # A subquery of which no column is read is asked about by its name.
            is_available = first in self._tables or first in SCHEMAS
            return (
                ""
                if is_available or (not second and first in self._common)
                else f"no table {first}"
            )
        if action == sqlite3.SQLITE_FUNCTION:
            is_available = second in FUNCTIONS and (LENGTH_IS_BOUNDED or second not in GROWING)
            return "" if is_available else f"the function {second} is not available"
        if action in _CHANGES:
            return "" if first in self._tables else f"{first} cannot be changed"
        if action == sqlite3.SQLITE_RECURSIVE:
            return "recursive queries are not available"
        return f"only {', '.join(BEGINS)} on the tables of the task are available"


def common_tables(tokens: list[str]) -> list[str]:
    """Return the names of the common tables of a statement, in lower case.

    For a table that lists its columns, the bracket after them is returned in place of the name.
    """
    upper_tokens = [token.upper() for token in tokens]
    names = []
    for place, word in enumerate(upper_tokens):
        behind = upper_tokens[place + 1 : place + 4]
        for hint in ("NOT", "MATERIALIZED"):
            behind = behind[behind[:1] == [hint] :]
        if place and word == "AS" and behind[:1] == ["("]:
            names.append(_name(tokens[place - 1]))
    return names


def _tokens(sql: str) -> Iterator[str]:
    """Yield the words, names, texts and signs of a statement, without its comments."""
    for match in _TOKEN.finditer(sql):
        if not match[0].startswith(("--", "/*")):
            yield match[0]


def _name(token: str) -> str:
    """Return the name that a token stands for, in lower case, without its quotes."""
    return token.strip("\"'`[]").lower()

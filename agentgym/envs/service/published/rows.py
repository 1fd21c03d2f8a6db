"""The database of an episode: published tables, and copies of the rows that changed."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

Row = dict[str, Any]
Tables = Mapping[str, Mapping[str, Row]]
"""Rows by table and key. They are shared by all episodes, and never changed."""


class Rows:
    """Tables after some changes.

    Args:
        tables: The published tables.
        changed: Changed and new rows by table and key.
    """

    def __init__(self, tables: Tables, changed: Mapping[tuple[str, str], Row]) -> None:
        self._tables, self.changed = tables, copy.deepcopy(dict(changed))

    def get(self, table: str, key: object) -> Row | None:
        """Return a row that is only read; None if there is none."""
        if not isinstance(key, str):
            return None
        return self.changed.get((table, key)) or self._tables[table].get(key)

    def edit(self, table: str, key: str) -> Row:
        """Return an existing row that may be changed."""
        if (table, key) not in self.changed:
            self.changed[table, key] = copy.deepcopy(self._tables[table][key])
        return self.changed[table, key]

    def add(self, table: str, key: str, row: Row) -> None:
        """Add a row."""
        self.changed[table, key] = row

    def named(self, table: str) -> Iterator[tuple[str, Row]]:
        """Yield the keys and published rows of a table, which are only read, in their order."""
        for key, row in self._tables[table].items():
            yield key, self.changed.get((table, key), row)

    def differences(self) -> dict[tuple[str, str], str]:
        """Return a text of each row that differs from the published one."""
        texts = {key: str(frozen(row)) for key, row in self.changed.items()}
        return {
            (table, key): text
            for (table, key), text in texts.items()
            if text != str(frozen(self._tables[table].get(key)))
        }

    def digest(self) -> str:
        """Return the hash of all tables that tau-bench compares (``get_data_hash``).

        It is the SHA-256 of the text of the tables as nested tuples, dictionaries sorted by key.
        """
        tables: dict[str, dict[str, Row]] = {
            name: dict(rows) for name, rows in self._tables.items()
        }
        for (table, key), row in self.changed.items():
            tables[table][key] = row
        return hashlib.sha256(str(frozen(tables)).encode()).hexdigest()


def frozen(value: Any) -> Any:
    """Return a JSON value as nested tuples, dictionaries sorted by key."""
    if isinstance(value, Mapping):
        return tuple((key, frozen(value[key])) for key in sorted(value))
    return tuple(map(frozen, value)) if isinstance(value, list) else value

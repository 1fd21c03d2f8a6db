"""SQLite's functions of time, with a fixed current moment."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from functools import partial

from agentgym.envs.database.engine.guard import CLOCKS
from agentgym.envs.database.engine.tables import Cell

NOW = "2024-01-01 12:00:00"
"""The value of ``'now'`` and ``CURRENT_TIMESTAMP``."""
_OF_A_PLACE = ("localtime", "utc")
"""Modifiers that depend on where the machine stands."""
_CURRENT = {"current_date": NOW[:10], "current_time": NOW[11:], "current_timestamp": NOW}


def set_clock(connection: sqlite3.Connection) -> None:
    """Replace the functions of time of a connection."""
    for name in CLOCKS:
        connection.create_function(name, -1, partial(_call_function, name), deterministic=True)
    for name, text in _CURRENT.items():
        connection.create_function(name, 0, _always(text), deterministic=True)


def _always(text: str) -> Callable[[], str]:
    return lambda: text


def _call_function(name: str, *arguments: Cell) -> Cell:
    """Return what SQLite's own function says, with `NOW` for now."""
    place = 1 if name == "strftime" else 0
    values = [*arguments, NOW] if len(arguments) == place else [*arguments]
    if any(isinstance(value, str) and value.strip().lower() in _OF_A_PLACE for value in values):
        raise ValueError("expected no time zone")
    moment = values[place] if len(values) > place else None
    if isinstance(moment, str) and moment.lower() == "now":
        values[place] = NOW
    connection_copy = sqlite3.connect(":memory:")
    try:
        cell: Cell = connection_copy.execute(
            f"SELECT {name}({', '.join('?' * len(values))})", values
        ).fetchone()[0]
    finally:
        connection_copy.close()
    return cell

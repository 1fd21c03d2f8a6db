"""Nested mappings, such as settings of a file, and the same under names with dots."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return nested values by names with dots, such as ``rl.learning_rate``.

    Args:
        values: The nested mapping.
        prefix: Prefix of every name.
    """
    by_name: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            by_name |= flat(value, f"{prefix}{name}.")
        else:
            by_name[f"{prefix}{name}"] = value
    return by_name


def nested(values: Mapping[str, Any], onto: dict[str, Any] | None = None) -> dict[str, Any]:
    """Put values by names with dots into a nested mapping, in place of its own; return it.

    Args:
        values: The values.
        onto: The mapping, which is changed; None: an empty one.
    """
    sections = {} if onto is None else onto
    for name, value in values.items():
        *path, last = name.split(".")
        place = sections
        for section in path:
            place = place.setdefault(section, {})
        place[last] = value
    return sections

"""The metadata of a stored index: a small JSON file beside its arrays."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

UNREADABLE = (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError)
"""Exceptions from reading or using the metadata if it is missing or damaged."""


def read_facts(path: Path, form: str) -> dict[str, Any]:
    """Read the metadata of a file.

    Args:
        path: The file.
        form: The format that it must name.

    Raises:
        OSError: It cannot be read. This and the following are :data:`UNREADABLE`, for callers that
            can recover.
        ValueError: It is not a JSON object, or of another format.
        RecursionError: It is nested too deeply.
    """
    facts = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(facts, dict):
        raise ValueError(f"it holds {type(facts).__name__} instead of an object")
    if facts.get("format") != form:
        raise ValueError(f"its format is {facts.get('format')!r}")
    return facts

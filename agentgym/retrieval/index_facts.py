"""What a stored index says of itself: a small JSON file beside its arrays, read in one way."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

UNREADABLE = (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError)
"""What reading facts, and what follows from them, raises where they are missing or damaged."""


def read_facts(path: Path, form: str) -> dict[str, Any]:
    """Read the facts of a file.

    Args:
        path: The file.
        form: The format that it must name.

    Raises:
        OSError: It cannot be read. This and what follows are :data:`UNREADABLE`, for a caller who
            knows what to do about it.
        ValueError: It is no JSON object, or of another format.
        RecursionError: It is nested too deeply.
    """
    facts = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(facts, dict):
        raise ValueError(f"it holds {type(facts).__name__} instead of an object")
    if facts.get("format") != form:
        raise ValueError(f"its format is {facts.get('format')!r}")
    return facts

"""Fields that an endpoint adds to a message or a call: they are sent back unchanged.

Gemini signs its thoughts in ``extra_content`` and refuses a call that comes back without the
signature; OpenRouter has ``reasoning_details``, others have fields of their own.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Any

MESSAGE_FIELDS = frozenset({"role", "content", "refusal", "tool_calls"})
"""Fields of a message that `agentgym` writes itself."""
CALL_FIELDS = frozenset({"id", "type", "index", "function"})
"""Fields of a call that it writes itself, or that only streams have."""
FUNCTION_FIELDS = frozenset({"name", "arguments"})
"""Fields of a called function that it writes itself."""
LONGEST_EXTRA = 1 << 18
"""Maximum number of characters of JSON that are sent back of one message or call."""
DEEPEST = 32
"""Maximum nesting of fields that are sent back."""
_MARKS = frozenset({"index", "type", "id", "format", "role", "name"})
"""Fields of a piece that name what it belongs to; they are no texts that continue."""

logger = logging.getLogger(__name__)


def extra_fields(values: Mapping[str, Any], standard: frozenset[str]) -> dict[str, Any]:
    """Return an endpoint's non-standard fields, except null and too deeply nested ones."""
    return {
        name: value
        for name, value in values.items()
        if name not in standard and value is not None and _is_shallow(value, DEEPEST)
    }


def bounded_fields(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return added fields, as many as fit: a hostile endpoint may add anything."""
    returned: dict[str, Any] = {}
    room = LONGEST_EXTRA
    for name, value in values.items():
        room -= len(name) + len(json.dumps(value, default=str))
        if room < 0:
            logger.warning("the endpoint's field %.64r is too long to be sent back", name)
            break
        returned[name] = value
    return returned


def merge(fields: dict[str, Any], piece: Mapping[str, Any]) -> int:
    """Merge the next chunk of streamed fields into the earlier ones.

    Texts continue, entries of lists that have an ``index`` are merged by it, and all else is
    replaced.

    Returns:
        About how many characters were added.
    """
    size = 0
    for name, value in piece.items():
        size += len(name) + 1
        old_value = fields.get(name)
        if isinstance(value, Mapping):
            fields[name] = old_value if isinstance(old_value, dict) else {}
            size += merge(fields[name], value)
        elif isinstance(value, list):
            fields[name] = old_value if isinstance(old_value, list) else []
            size += _merge_entries(fields[name], value)
        elif isinstance(value, str) and isinstance(old_value, str) and name not in _MARKS:
            # A signature comes as a whole, and some endpoints repeat it.
            fields[name] = value if "signature" in name else old_value + value
            size += len(value)
        else:
            fields[name] = value
            size += len(value) if isinstance(value, str) else 1
    return size


def _merge_entries(entries: list[Any], pieces: list[Any]) -> int:
    size = 0
    for piece in pieces:
        last = entries[-1] if entries else None
        is_same = isinstance(piece, Mapping) and isinstance(last, dict) and "index" in piece
        if not isinstance(piece, Mapping):
            entries.append(piece)
            size += len(json.dumps(piece, default=str))
        elif is_same and last is not None and last.get("index") == piece["index"]:
            size += merge(last, piece)
        else:
            entries.append({})
            size += merge(entries[-1], piece)
    return size


def _is_shallow(value: Any, depth: int) -> bool:
    if not isinstance(value, dict | list):
        return True
    inner = value.values() if isinstance(value, dict) else value
    return depth > 0 and all(_is_shallow(entry, depth - 1) for entry in inner)

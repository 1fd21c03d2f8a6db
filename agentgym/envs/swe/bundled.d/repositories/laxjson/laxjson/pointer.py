"""Paths into a value, in the manner of JSON Pointer (RFC 6901)."""

from __future__ import annotations

from typing import Any

MISSING = object()


def split(path: str) -> list[str]:
    """Split a path into keys; ``~1`` stands for a slash and ``~0`` for a tilde within a key."""
    if path == "":
        return []
    if not path.startswith("/"):
        raise ValueError(f"a path begins with a slash, got {path!r}")
    return [key.replace("~1", "/").replace("~0", "~") for key in path[1:].split("/")]


def lookup(value: Any, path: str, default: Any = MISSING) -> Any:
    """Find what stands at a path.

    Args:
        value: The value to look into.
        path: Such as ``/servers/0/name``; the empty path is the value itself.
        default: Returned where there is nothing; without it that is a ``KeyError``.
    """
    for key in split(path):
        try:
            value = value[_index(value, key)]
        except (KeyError, IndexError, TypeError):
            if default is MISSING:
                raise KeyError(path) from None
            return default
    return value


def replace(value: Any, path: str, new: Any) -> Any:
    """Make a copy of a value with something else at a path.

    The last key may be new in an object; ``-`` appends to an array. Parts off the path are shared
    with the original, which does not change.
    """
    keys = split(path)
    if not keys:
        return new
    rest = "".join("/" + key.replace("~", "~0").replace("/", "~1") for key in keys[1:])
    if isinstance(value, list) and keys[0] == "-" and not rest:
        return [*value, new]
    if not isinstance(value, (dict, list)):
        raise KeyError(path)
    copy: Any = value.copy()
    key = _index(value, keys[0])
    if not rest and isinstance(copy, dict):
        copy[key] = new
        return copy
    try:
        copy[key] = replace(copy[key], rest, new)
    except (KeyError, IndexError, TypeError):
        raise KeyError(path) from None
    return copy


def _index(value: Any, key: str) -> Any:
    """The key as the value needs it: arrays have whole numbers without leading zeros."""
    if isinstance(value, list):
        if not key.isdigit() or (key[0] == "0" and key != "0"):
            raise KeyError(key)
        return int(key)
    return key

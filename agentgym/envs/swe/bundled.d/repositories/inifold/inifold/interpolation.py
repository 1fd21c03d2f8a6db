"""References between values: ``${key}`` and ``${section.key}``."""

from __future__ import annotations

from collections.abc import Callable

from inifold.errors import ConfigError

Lookup = Callable[[str, str], str]
"""From a section and a key to the raw value; raises ConfigError."""


def interpolate(section: str, key: str, lookup: Lookup) -> str:
    """Return a value with its references replaced.

    A reference without a section is looked up in the section that was asked for, even when the
    value was inherited, so that a section can change what its parent's values refer to.

    Args:
        section: The section that was asked for.
        key: The key of the value.
        lookup: Where raw values come from.

    Returns:
        The value.

    Raises:
        ConfigError: A reference is malformed, unknown or leads back to itself.
    """
    return _resolve(section, key, lookup, ())


def _resolve(section: str, key: str, lookup: Lookup, path: tuple[tuple[str, str], ...]) -> str:
    """Return a value; ``path`` holds the values that wait for it."""
    here = (section, key)
    if here in path:
        ring = " -> ".join(".".join(step) for step in (*path[path.index(here) :], here))
        raise ConfigError(f"a value refers to itself: {ring}")
    raw = lookup(section, key)
    parts: list[str] = []
    position = 0
    while position < len(raw):
        dollar = raw.find("$", position)
        if dollar < 0:
            break
        parts.append(raw[position:dollar])
        following = raw[dollar + 1 : dollar + 2]
        if following == "$":
            parts.append("$")
            position = dollar + 2
        elif following == "{":
            end = raw.find("}", dollar)
            if end < 0:
                raise ConfigError(f"a reference in {section}.{key} is not closed")
            target = _target(raw[dollar + 2 : end], section)
            parts.append(_resolve(*target, lookup, (*path, here)))
            position = end + 1
        else:
            parts.append("$")
            position = dollar + 1
    parts.append(raw[position:])
    return "".join(parts)


def _target(reference: str, section: str) -> tuple[str, str]:
    """Return section and key of what stands between the braces."""
    # The last dot decides: names of sections may hold dots, keys in references may not.
    owner, dot, key = reference.strip().rpartition(".")
    if not key or (dot and not owner):
        raise ConfigError(f"${{{reference}}} is not a reference")
    return (owner if dot else section), key.lower()

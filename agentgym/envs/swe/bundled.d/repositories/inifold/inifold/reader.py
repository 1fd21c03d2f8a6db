"""From text to sections of raw values."""

from __future__ import annotations

from dataclasses import dataclass, field

from inifold.errors import ParseError

COMMENT_SIGNS = (";", "#")
INLINE_COMMENT = " ;"


@dataclass
class RawSection:
    """A section as it stands in the text.

    Attributes:
        name: Its name.
        parent: The section whose values it inherits; empty if there is none.
        values: What it says itself, before interpolation, by lower-case key.
    """

    name: str
    parent: str = ""
    values: dict[str, str] = field(default_factory=dict)


def read_sections(text: str) -> dict[str, RawSection]:
    """Read the sections of a configuration in the order of the text.

    Args:
        text: The configuration.

    Returns:
        The sections by name.

    Raises:
        ParseError: A line is malformed, a section or a key occurs twice, or a parent is unknown.
    """
    sections: dict[str, RawSection] = {}
    current: RawSection | None = None
    last_key = ""
    for number, line in enumerate(text.splitlines(), start=1):
        stripped = line.strip()
        if not stripped or stripped.startswith(COMMENT_SIGNS):
            continue
        if line[0] in " \t":
            if current is None or not last_key:
                raise ParseError("there is no value to continue", number)
            continued = current.values[last_key] + "\n" + _without_comment(stripped)
            current.values[last_key] = continued.strip()
        elif stripped.startswith("["):
            current = _read_header(stripped, sections, number)
            sections[current.name] = current
            last_key = ""
        else:
            if current is None:
                raise ParseError("a value stands before the first section", number)
            last_key, value = _read_value(stripped, number)
            if last_key in current.values:
                raise ParseError(f"{last_key!r} occurs twice in [{current.name}]", number)
            current.values[last_key] = value
    return sections


def _without_comment(line: str) -> str:
    """Return a stripped line without the comment at its end."""
    position = line.find(INLINE_COMMENT)
    return line if position < 0 else line[:position].rstrip()


def _read_header(line: str, sections: dict[str, RawSection], number: int) -> RawSection:
    """Read ``[name]`` or ``[name : parent]``."""
    line = _without_comment(line)
    if not line.endswith("]"):
        raise ParseError("the header of a section does not end with ]", number)
    name, colon, parent = (part.strip() for part in line[1:-1].partition(":"))
    if not name:
        raise ParseError("a section has no name", number)
    if name in sections:
        raise ParseError(f"section [{name}] occurs twice", number)
    if colon and parent not in sections:
        raise ParseError(f"[{name}] inherits from [{parent}], which is not above it", number)
    return RawSection(name, parent)


def _read_value(line: str, number: int) -> tuple[str, str]:
    """Read ``key = value``; a key alone has an empty value."""
    key, _, value = line.partition("=")
    if not _:
        key = _without_comment(key)
    key = key.strip().lower()
    if not key:
        raise ParseError("a value has no key", number)
    # A value that is only a comment begins with the sign once the space before it is gone.
    value = value.strip()
    if value.startswith(INLINE_COMMENT.strip()):
        value = ""
    return key, _without_comment(value)

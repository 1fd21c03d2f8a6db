"""The entries of a version in a library's changelog."""

from __future__ import annotations

import re
from pathlib import Path

MOST_ITEMS = 4
"""Maximum number of entries of a version that are used."""
LONGEST_ITEM = 400
"""Most characters of an entry."""
_NAMES = re.compile(r"(?i)^(change|history|news|release|readme)[\w.-]*$")
_HEADING = re.compile(r"(?m)^[\W_]*(?:version|release|v\.?)?\s*(\d+(?:\.\d+)+)\b.*$", re.I)
_BULLET = re.compile(r"^\s*[-*+•]\s+|^\s*\d+[.)]\s+")
_REFERENCE = re.compile(
    r"\s*\(?\[?#\d+\]?(?:\([^)]*\))?\)?|\s*\(?(?:thanks|by) @?[\w -]+\)?\.?$", re.I
)
_LINK = re.compile(r"\[([^\]]+)\]\([^)]*\)|`([^`<]+) <[^>]*>`_+|:\w+:`~?([^`]+)`")


def entries(folder: Path, version: str) -> list[str]:
    """Return a version's entries in a library's changelog, about one sentence each.

    Args:
        folder: The library.
        version: The version.

    Returns:
        Entries without markup; none if the library has no changelog.
    """
    for path in sorted(folder.rglob("*")):
        if path.is_file() and _NAMES.match(path.name) and path.stat().st_size < 4 << 20:
            section = _section(path.read_text("utf-8", "replace"), version)
            if section:
                return section
    return []


def _section(text: str, version: str) -> list[str]:
    """Return the entries between the heading of a version and the next."""
    headings = list(_HEADING.finditer(text))
    for number, heading in enumerate(headings):
        if heading[1] != version:
            continue
        end = headings[number + 1].start() if number + 1 < len(headings) else len(text)
        inline = heading[0].partition(version)[2].lstrip(" :-\t)(").rstrip()
        body = ("- " + inline if re.search(r"[A-Za-z]{3} [a-z]", inline) else "") + text[
            heading.end() : end
        ]
        items = _items(body)
        if items:
            return items
    return []


def _items(body: str) -> list[str]:
    """Split a section into its entries."""
    items: list[str] = []
    joins = False
    for line in body.split("\n"):
        stripped = line.strip()
        if not stripped or set(stripped) <= set("=-~^#*_+"):
            joins = False
        elif _BULLET.match(line):
            items.append(_BULLET.sub("", line).strip())
            joins = True
        elif joins and line[:1] in (" ", "\t"):
            items[-1] += " " + stripped
    plain_items = (_plain_text(item) for item in items)
    return [item for item in plain_items if 15 <= len(item) <= LONGEST_ITEM][:MOST_ITEMS]


def _plain_text(item: str) -> str:
    """Remove links, numbers of issues and thanks."""
    text = _LINK.sub(lambda match: next(filter(None, match.groups())), item)
    return _REFERENCE.sub("", text).replace("``", "`").strip()

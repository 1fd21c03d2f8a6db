"""Names of persons: first, von, last and Jr parts, in the three notations of BibTeX."""

from __future__ import annotations

import re
from dataclasses import dataclass

from citepress.errors import PersonError
from citepress.reading.latex import plain_text, sort_text


@dataclass(frozen=True)
class Name:
    """A person.

    Attributes:
        first: First names.
        von: What stands before the last name, in small letters.
        last: Last name.
        jr: What stands behind it.
    """

    first: str = ""
    von: str = ""
    last: str = ""
    jr: str = ""

    @property
    def family(self) -> str:
        """The last name with what stands before it."""
        return f"{self.von} {self.last}".strip()

    @property
    def initials(self) -> str:
        """The first letters of the first names: ``D. E.``, ``J.-P.``."""
        return " ".join(_initial(word) for word in self.first.split())

    @property
    def sort_key(self) -> tuple[str, str, str, str]:
        """By what persons are sorted: ``van Beethoven`` under B."""
        return sort_text(self.last), sort_text(self.first), sort_text(self.von), sort_text(self.jr)

    def inverted(self) -> str:
        """Return the name as bibliographies have it: ``van Gogh, V.``."""
        return ", ".join(part for part in (self.family, self.initials, self.jr) if part)

    def natural(self, short: bool = False) -> str:
        """Return the name as it is spoken, with initials if it is to be short."""
        first = self.initials if short else self.first
        name = " ".join(part for part in (first, self.family) if part)
        return f"{name}, {self.jr}" if self.jr else name


def _initial(word: str) -> str:
    """Return the first letter of a first name, of every part of one with hyphens."""
    parts = [part for part in word.split("-") if part]
    return "-".join(f"{part[0].upper()}." for part in parts)


def read_names(field: str) -> list[Name]:
    """Read persons with ``and`` between them; ``others`` is a person without a first name.

    Raises:
        PersonError: A name is malformed or missing.
    """
    parts = _split(field, re.compile(r"(?:^|\s+)and(?=\s|$)", re.IGNORECASE))
    if len(parts) > 1 and any(not part.strip() for part in parts):
        raise PersonError(f"a name is missing in {field!r}")
    return [read_name(part) for part in parts if part.strip()]


def read_name(text: str) -> Name:
    """Read one person.

    The notations are ``First von Last``, ``von Last, First`` and ``von Last, Jr, First``. Words
    that begin with a small letter are the von part; what stands in braces is one word and never
    a von part.

    Raises:
        PersonError: There are too many commas, or there is no last name.
    """
    parts = [part.strip() for part in _split(text.strip(), re.compile(","))]
    if len(parts) > 3:
        raise PersonError(f"expected at most two commas in a name, got {text!r}")
    if len(parts) == 1:
        first, von, last = _natural_parts(_words(parts[0]))
        name = Name(_plain(first), _plain(von), _plain(last))
    else:
        von, last = _family_parts(_words(parts[0]))
        jr = parts[1] if len(parts) == 3 else ""
        name = Name(plain_text(parts[-1]), _plain(von), _plain(last), plain_text(jr))
    if not name.last:
        raise PersonError(f"there is no last name in {text!r}")
    return name


def _natural_parts(words: list[str]) -> tuple[list[str], list[str], list[str]]:
    """Return the first, von and last words of a name without commas."""
    small = [number for number, word in enumerate(words[:-1]) if _is_small(word)]
    if not small:
        return words[:-1], [], words[-1:]
    return words[: small[0]], words[small[0] : small[-1] + 1], words[small[-1] + 1 :]


def _family_parts(words: list[str]) -> tuple[list[str], list[str]]:
    """Return the von and last words of what stands before the first comma."""
    small = [number for number, word in enumerate(words[:-1]) if _is_small(word)]
    end = small[-1] + 1 if small else 0
    return words[:end], words[end:]


def _is_small(word: str) -> bool:
    """Say whether the first letter of a word is small; a group in braces never is."""
    if word.startswith("{") and not word.startswith("{\\"):
        return False
    letter = next((c for c in plain_text(word) if c.isalpha()), "")
    return letter.islower()


def _plain(words: list[str]) -> str:
    return plain_text(" ".join(words))


def _words(text: str) -> list[str]:
    """Return words that are separated by spaces outside of braces."""
    return [word for word in _split(text, re.compile(r"[\s~]+")) if word]


def _split(text: str, separator: re.Pattern[str]) -> list[str]:
    """Split a text where a separator stands outside of braces."""
    parts, start, depth, place = [], 0, 0, 0
    while place < len(text):
        if text[place] == "\\":
            place += 2
            continue
        match = separator.match(text, place) if depth == 0 else None
        if match is not None:
            parts.append(text[start:place])
            start = place = match.end()
            continue
        depth += (text[place] == "{") - (text[place] == "}")
        place += 1
    return [*parts, text[start:]]

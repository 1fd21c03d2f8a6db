"""Query strings as lists of names and values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from linkquery.percent import quote, unquote


class Query:
    """The names and values of a query string, in order; a name may occur several times.

    Args:
        pairs: The names and values.
    """

    def __init__(self, pairs: Iterable[tuple[str, str]] = ()) -> None:
        self._pairs = tuple(pairs)

    @classmethod
    def parse(cls, text: str) -> Query:
        """Read a query string, with or without the question mark.

        ``+`` stands for a space, a name without ``=`` has an empty value, and empty parts
        (``a=1&&b=2``) are left out.

        Raises:
            UrlError: The percent-encoding is malformed.
        """
        pairs = []
        for part in text.removeprefix("?").split("&"):
            if not part:
                continue
            name, _, value = part.partition("=")
            pairs.append((_decode(name), _decode(value)))
        return cls(pairs)

    def __str__(self) -> str:
        """Return the query string without the question mark."""
        return "&".join(f"{_encode(name)}={_encode(value)}" for name, value in self._pairs)

    def __repr__(self) -> str:
        """Return how the query could be read again."""
        return f"Query.parse({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        """Say whether two queries have the same names and values in the same order."""
        return isinstance(other, Query) and self._pairs == other._pairs

    def __hash__(self) -> int:
        """Return a hash that equal queries share."""
        return hash(self._pairs)

    def __iter__(self) -> Iterator[tuple[str, str]]:
        """Yield the names with their values."""
        return iter(self._pairs)

    def __len__(self) -> int:
        """Return the number of values."""
        return len(self._pairs)

    def __contains__(self, name: object) -> bool:
        """Say whether a name occurs."""
        return any(key == name for key, _ in self._pairs)

    def names(self) -> list[str]:
        """Return the names, each once, in the order of their first occurrence."""
        return list(dict.fromkeys(name for name, _ in self._pairs))

    def get(self, name: str, default: str | None = None) -> str | None:
        """Return the first value of a name, or the default."""
        for key, value in self._pairs:
            if key == name:
                return value
        return default

    def get_all(self, name: str) -> list[str]:
        """Return all values of a name."""
        return [value for key, value in self._pairs if key == name]

    def add(self, name: str, value: object) -> Query:
        """Return a query with one more value at the end."""
        return Query([*self._pairs, (name, str(value))])

    def set(self, name: str, value: object) -> Query:
        """Return a query in which a name has only this value, at the place of its first one."""
        pairs = []
        done = False
        for key, old in self._pairs:
            if key != name:
                pairs.append((key, old))
            elif not done:
                pairs.append((name, str(value)))
                done = True
        if not done:
            pairs.append((name, str(value)))
        return Query(pairs)

    def remove(self, *names: str) -> Query:
        """Return a query without any value of these names."""
        return Query((key, value) for key, value in self._pairs if key not in names)

    def sorted(self) -> Query:
        """Return a query in the order of the names; values of one name keep their order."""
        return Query(sorted(self._pairs, key=lambda pair: pair[0]))


def _decode(text: str) -> str:
    """Decode a name or a value."""
    return unquote(text.replace("+", " "))


def _encode(text: str) -> str:
    """Encode a name or a value."""
    return quote(text, safe=" ").replace(" ", "+")

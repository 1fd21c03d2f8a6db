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
        self._places: dict[str, list[int]] = {}
        for place, (name, _) in enumerate(self._pairs):
            self._places.setdefault(name, []).append(place)

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
        return name in self._places

    def names(self) -> list[str]:
        """Return the names, each once, in the order of their first occurrence."""
        return list(self._places)

    def get(self, name: str, default: str | None = None) -> str | None:
        """Return the first value of a name, or the default."""
        places = self._places.get(name)
        return self._pairs[places[0]][1] if places else default

    def get_all(self, name: str) -> list[str]:
        """Return all values of a name."""
        return [self._pairs[place][1] for place in self._places.get(name, ())]

    def add(self, name: str, value: object) -> Query:
        """Return a query with one more value at the end."""
        return Query([*self._pairs, (name, str(value))])

    def set(self, name: str, value: object) -> Query:
        """Return a query in which a name has only this value, at the place of its first one."""
        first, *others = self._places.get(name, [len(self._pairs)])
        pairs = [pair for place, pair in enumerate(self._pairs) if place not in others]
        pairs[first : first + 1] = [(name, str(value))]
        return Query(pairs)

    def update(self, values: Iterable[tuple[str, object]]) -> Query:
        """Return a query in which each of some names has only its new value."""
        query = self
        for name, value in values:
            query = query.set(name, value)
        return query

    def remove(self, *names: str) -> Query:
        """Return a query without any value of these names."""
        gone = {place for name in names for place in self._places.get(name, ())}
        return Query(pair for place, pair in enumerate(self._pairs) if place not in gone)

    def sorted(self) -> Query:
        """Return a query in the order of the names; values of one name keep their order."""
        return Query(sorted(self._pairs, key=lambda pair: pair[0]))


def _decode(text: str) -> str:
    """Decode a name or a value."""
    return unquote(text.replace("+", " "))


def _encode(text: str) -> str:
    """Encode a name or a value."""
    return quote(text, safe=" ").replace(" ", "+")

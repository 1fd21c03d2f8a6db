"""Ranges of versions."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from verrange.errors import RangeError, VersionError
from verrange.version import Version, parse_pre

TERM = re.compile(
    r"(?P<operator>\^|~|=|!=|<=|<|>=|>)?\s*v?"
    r"(?P<major>\d+|[*xX])(?:\.(?P<minor>\d+|[*xX]))?(?:\.(?P<patch>\d+|[*xX]))?"
    r"(?:-(?P<pre>[0-9A-Za-z.-]+))?"
)


HOLDS: dict[str, Callable[[Version, Version], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
"""What each comparison asks."""


@dataclass(frozen=True)
class Comparator:
    """One comparison with a version."""

    operator: str
    """``=``, ``!=``, ``<``, ``<=``, ``>`` or ``>=``."""
    version: Version

    def holds(self, version: Version) -> bool:
        """Tell whether a version compares so."""
        return HOLDS[self.operator](version, self.version)

    def mentions(self, version: Version) -> bool:
        """Tell whether it asks for pre-releases of the three numbers of a version."""
        return bool(self.version.pre) and self.version.release == version.release

    def __str__(self) -> str:
        """Write the comparison."""
        return f"{self.operator}{self.version}"


@dataclass(frozen=True)
class Range:
    """Alternatives, each of which is a list of comparisons that must all hold."""

    alternatives: tuple[tuple[Comparator, ...], ...]

    def __contains__(self, version: Version) -> bool:
        """Tell whether a version is in the range."""
        return any(_fits(alternative, version) for alternative in self.alternatives)

    def __and__(self, other: Range) -> Range:
        """Give the versions that are in both ranges."""
        return Range(tuple(one + two for one in self.alternatives for two in other.alternatives))

    def filter(self, versions: Iterable[Version]) -> list[Version]:
        """List the versions that are in the range, highest first."""
        return sorted((version for version in versions if version in self), reverse=True)

    def best(self, versions: Iterable[Version]) -> Version | None:
        """Choose the highest version that is in the range; ``None`` if there is none."""
        return max((version for version in versions if version in self), default=None)

    def __str__(self) -> str:
        """Write the range with plain comparisons only."""
        texts = [" ".join(str(item) for item in items) or "*" for items in self.alternatives]
        return " || ".join(texts)


def parse_range(text: str) -> Range:
    """Read a range; see the page of the library for what may be written.

    Raises:
        RangeError: The text is no range.
    """
    return Range(tuple(_alternative(part.strip(), text) for part in text.split("||")))


def _alternative(part: str, text: str) -> tuple[Comparator, ...]:
    """Read comparisons that must all hold."""
    if part in ("", "*"):
        return ()
    ends = re.fullmatch(r"(\S+)\s+-\s+(\S+)", part)
    if ends is not None:
        low, high = _term(ends[1], text), _term(ends[2], text)
        if low["operator"] or high["operator"]:
            raise RangeError(f"{text!r}: the ends of a range have no operators")
        return (*_at_least(low), *_at_most(high))
    comparators: list[Comparator] = []
    for word in re.sub(r"([<>=!^~])\s+", r"\1", part).replace(",", " ").split():
        comparators += _comparators(_term(word, text), text)
    return tuple(comparators)


def _term(word: str, text: str) -> re.Match[str]:
    match = TERM.fullmatch(word)
    if match is None:
        raise RangeError(f"{text!r}: cannot read {word!r}")
    return match


def _numbers(term: re.Match[str]) -> list[int]:
    """The numbers of a term up to the first that is missing or a wildcard."""
    numbers: list[int] = []
    for name in ("major", "minor", "patch"):
        if term[name] is None or not term[name].isdigit():
            break
        numbers.append(int(term[name]))
    return numbers


def _lowest(term: re.Match[str]) -> Version:
    """The lowest version that a term may mean."""
    major, minor, patch = [*_numbers(term), 0, 0, 0][:3]
    try:
        return Version(major, minor, patch, parse_pre(term["pre"]) if term["pre"] else ())
    except VersionError as error:
        raise RangeError(str(error)) from error


def _after(numbers: list[int], place: int) -> Version:
    """The version where the number at a place is one more and those behind it are zero."""
    major, minor, patch = [*numbers[:place], numbers[place] + 1, 0, 0][:3]
    return Version(major, minor, patch)


def _at_least(term: re.Match[str]) -> tuple[Comparator, ...]:
    return (Comparator(">=", _lowest(term)),) if _numbers(term) else ()


def _at_most(term: re.Match[str]) -> tuple[Comparator, ...]:
    """A partial version such as 1.2 at the upper end includes all that begin with it."""
    numbers = _numbers(term)
    if len(numbers) == 3:
        return (Comparator("<=", _lowest(term)),)
    return (Comparator("<", _after(numbers, len(numbers) - 1)),) if numbers else ()


def _comparators(term: re.Match[str], text: str) -> tuple[Comparator, ...]:
    """Translate a term with its operator to plain comparisons."""
    numbers = _numbers(term)
    operator = term["operator"] or "="
    if not numbers:
        if operator in ("<", ">", "!="):
            raise RangeError(f"{text!r}: nothing is {operator} any version")
        return ()
    low = _lowest(term)
    if operator == "^":
        place = next((i for i, number in enumerate(numbers) if number), len(numbers) - 1)
        return Comparator(">=", low), Comparator("<", _after(numbers, place))
    if operator == "~":
        return Comparator(">=", low), Comparator("<", _after(numbers, min(1, len(numbers) - 1)))
    if len(numbers) == 3 or operator in ("<", ">="):
        return (Comparator(operator, low),)
    beyond = _after(numbers, len(numbers) - 1)
    if operator == "=":
        return Comparator(">=", low), Comparator("<", beyond)
    if operator == "!=":
        raise RangeError(f"{text!r}: != needs all three numbers")
    return (Comparator("<" if operator == "<=" else ">=", beyond),)


def _fits(comparators: tuple[Comparator, ...], version: Version) -> bool:
    """Tell whether all comparisons hold; pre-releases must be asked for by one of them."""
    if not all(comparator.holds(version) for comparator in comparators):
        return False
    return not version.pre or any(comparator.mentions(version) for comparator in comparators)

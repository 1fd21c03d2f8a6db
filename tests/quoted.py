"""Figures that the pages quote, and the result files in which they must stand.

A block of Markdown (a paragraph, a list or a table) that quotes results begins with a comment,
which GitHub does not show::

    <!-- figures: throughput.json#webshop; sandbox.json
         given: 4,096 100,000
         computed: hf.seconds / vllm.seconds -->

``figures`` names files of ``benchmarks/results``, each with the part that is quoted after ``#``
(keys joined by dots); ``given`` what was set and not measured, such as sizes; ``computed`` what was
reckoned from the first part, a sum, a difference or a ratio of two of its numbers. A block that
ends in a colon takes the next one along.

Every number of the block must be a number of the files, rounded as it is quoted, except in code. A
table that holds decimals and no results says why: ``<!-- no result file: arguments -->``.
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent.parent / "benchmarks" / "results"
UNMEASURED = frozenset({"measured", "bars", "met"})
"""Entries of a result file that hold no result."""
SCALES = {
    "%": (100.0,), "us": (1.0, 1e6), "ms": (1.0, 1e3), "s": (1.0, 1e-3), "minutes": (1.0, 1 / 60),
    "KB": (1e-3,), "MB": (1.0, 1e-6), "GB": (1.0, 1e-3, 1e-9), "M": (1e-6,),
}  # fmt: skip
"""Unit of a quoted number -> by what the stored ones may have to be multiplied."""
OPERATORS = {"+": operator.add, "-": operator.sub, "/": operator.truediv}
CONFIDENCE = "95 %"

_COMMENT = re.compile(r"<!--\s*(figures|no result file):(.*?)-->\n?", re.DOTALL)
_HIDDEN = re.compile(r"<!--.*?-->|`[^`]*`|\]\([^)]*\)", re.DOTALL)
_UNITS = rf"(?:{'|'.join(SCALES)})(?!\w)"
_NUMBER = re.compile(
    r"(?<![\w.,^])(?P<sign>[+\-\u2212]?)(?P<digits>\d{1,3}(?:,\d{3})+|\d*\.\d+|\d+)"
    r"(?![\w^]|\.\d|,\d{3}(?!\d))"
    rf"(?: ?(?P<unit>{_UNITS})|(?= to [\d.,]+ ?(?P<later>{_UNITS})))?"  # 3 to 5 %
)


@dataclass(frozen=True)
class Marker:
    """What a block says of its figures."""

    sources: tuple[str, ...] = ()
    """Result files, each with the part that is quoted."""
    given: tuple[str, ...] = ()
    """Numbers that were set."""
    computed: tuple[str, ...] = ()
    """Differences and ratios of stored numbers."""
    reason: str = ""
    """Why there is no result file."""

    @classmethod
    def read(cls, kind: str, words: str) -> Marker:
        """Read a comment, its first word being known."""
        if kind != "figures":
            return cls(reason=words.strip())
        parts = re.split(r"\b(given|computed):", words)
        named = dict(zip(parts[1::2], parts[2::2], strict=True))
        given = tuple(named.get("given", "").split())
        return cls(_listed(parts[0]), given, _listed(named.get("computed", "")))

    @property
    def files(self) -> list[str]:
        """Names of the result files."""
        return [source.partition("#")[0] for source in self.sources]


@dataclass(frozen=True)
class Block:
    """A paragraph, list or table of a page."""

    heading: str
    """The heading that it stands under."""
    text: str
    """Its text without the marker."""
    marker: Marker | None
    """Its own marker, or that of the block which introduces it."""

    @property
    def visible(self) -> str:
        """The text as it is read, without code and without the targets of links."""
        return _HIDDEN.sub(" ", self.text)

    @property
    def needs_marker(self) -> bool:
        """Whether it is a table that holds decimals."""
        numbers = (found["digits"] for found in _NUMBER.finditer(self.visible))
        return self.text.startswith("|") and any("." in digits for digits in numbers)


def blocks(page: str) -> Iterator[Block]:
    """Split a page into its blocks."""
    heading, before = "", None
    prose = re.sub(r"^(`{3,}).*?^\1`*$", "", page, flags=re.DOTALL | re.MULTILINE)
    for text in re.split(r"\n\s*\n|\n(?=#)|(?<=\n)(?=<!-- (?:figures|no result))", prose):
        text = text.strip()
        if text.startswith("#"):
            title, _, text = text.partition("\n")
            heading, before = title.lstrip("# "), None
        if not text:
            continue
        comment = _COMMENT.match(text)
        marker = Marker.read(*comment.groups()) if comment else before
        text = text[comment.end() :] if comment else text
        yield Block(heading, text, marker)
        before = marker if text.endswith(":") or not text else None


def unfounded(block: Block, results: Path = RESULTS) -> list[str]:
    """Return the numbers of a block that none of its result files holds."""
    marker = block.marker
    if marker is None or marker.reason:
        return []
    stored = list(_stored(marker, results))
    return [
        found.group().strip()
        for found in _NUMBER.finditer(block.visible)
        if found.group().strip() not in (*marker.given, CONFIDENCE)
        and found["digits"] not in marker.given
        and not any(agrees(found, value) for value in stored)
    ]


def agrees(quoted: re.Match[str], value: float) -> bool:
    """Return whether a stored number, rounded as a quoted one, is that one.

    An integer that ends in zeros is rounded to the digits before them, two of them at least.
    """
    digits = quoted["digits"].replace(",", "")
    number = float(digits) * (-1 if quoted["sign"] in ("-", "\u2212") else 1)
    unit = 10.0 ** -len(digits.partition(".")[2])
    if "." not in digits:
        zeros = len(digits) - len(digits.rstrip("0"))
        unit = 10.0 ** max(0, min(zeros, len(digits) - 2))
    scales = SCALES.get(quoted["unit"] or quoted["later"] or "", (1.0,))
    return any(abs(value * scale - number) <= 0.5 * unit * (1 + 1e-9) for scale in scales)


def _stored(marker: Marker, results: Path) -> Iterator[float]:
    """Yield the numbers of the files that a marker names, and what is computed from them."""
    for source in marker.sources:
        name, _, path = source.partition("#")
        whole = json.loads((results / name).read_text())
        part = _at(whole, path)
        yield from _numbers(part)
        yield from _numbers(_drawn(whole))
        if source == marker.sources[0]:
            for words in marker.computed:
                left, sign, right = words.rsplit(" ", 2) if words.count(" ") == 2 else ("", "", "")
                if sign not in OPERATORS:
                    raise ValueError(
                        f"expected two paths with ' - ' or such between; got {words!r}"
                    )
                yield OPERATORS[sign](_operand(part, left), _operand(part, right))


def _drawn(whole: dict[str, Any]) -> list[Any]:
    """Return the seeds and the numbers of tasks of a file."""
    said = whole.get("measured", {})
    return [*said.get("seeds", ()), *said.get("n", ())]


def _operand(part: Any, word: str) -> float:
    """Return a number, or the one that stands at a path."""
    return float(word if word[0].isdigit() else _at(part, word))


def _numbers(part: Any) -> Iterator[float]:
    """Yield the numbers of a part of a file: values, and keys such as a number of passages."""
    if isinstance(part, dict):
        for key, value in part.items():
            if key not in UNMEASURED:
                if key.isdigit():
                    yield float(key)
                yield from _numbers(value)
    elif isinstance(part, list):
        for value in part:
            yield from _numbers(value)
    elif isinstance(part, int | float) and not isinstance(part, bool):
        yield float(part)


def _at(part: Any, path: str) -> Any:
    """Return the part of a file at keys that are joined by dots."""
    for key in filter(None, path.split(".")):
        part = part[int(key)] if isinstance(part, list) else part[key]
    return part


def _listed(words: str) -> tuple[str, ...]:
    """Split what semicolons separate."""
    items: Sequence[str] = [" ".join(item.split()) for item in words.split(";")]
    return tuple(item for item in items if item)

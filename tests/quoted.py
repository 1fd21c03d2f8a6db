"""Figures in the running text of the pages, each bound to the number that it is.

Tables are written by ``python -m benchmarks.tables``. A paragraph or list that quotes results
begins with a comment, which GitHub does not show::

    <!-- figures: demonstrators.json
         .355 = textworld.experts.hesitant.success
         1,480 = sandbox.json#exec.a + exec.b
         given: 60 100 -->

Each figure of the block is named as it is written, with its path (keys joined by dots, ``*`` for
each of a list) in the first file, or in the one before ``#``. A path may be reckoned with another
number (``a - b``, ``1 - a``, ``a / b``), or be reduced: ``min``, ``max``, ``mean``, ``count``,
``low`` or ``high`` (of the interval over seeds). ``given`` are numbers that were set.

A block with decimals or units and without results says why: ``<!-- no result file: settings -->``.
Code, targets of links, versions and the confidence of intervals are no figures.
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trainers.output.seed_summary import spread

RESULTS = Path(__file__).parent.parent / "benchmarks" / "results"
SCALES = {
    "%": (100.0,), "us": (1.0, 1e6), "ms": (1.0, 1e3), "s": (1.0, 1e-3), "minutes": (1.0, 1 / 60),
    "KB": (1e-3,), "MB": (1.0, 1e-6), "GB": (1.0, 1e-3, 1e-9), "M": (1e-6,),
}  # fmt: skip
"""Unit of a quoted number -> by what the stored one may have to be multiplied."""
OPERATORS: Mapping[str, Callable[[float, float], float]] = {
    "+": operator.add, "-": operator.sub, "/": operator.truediv,
}  # fmt: skip
REDUCED: Mapping[str, Callable[[list[float]], float]] = {
    "min": min, "max": max, "count": len, "mean": lambda values: spread(values)["mean"],
    "low": lambda values: spread(values)["ci95"][0],
    "high": lambda values: spread(values)["ci95"][1],
}  # fmt: skip
"""Word before a path with ``*`` -> what it makes of the numbers."""
CONFIDENCE = "95 %"

_COMMENT = re.compile(r"<!--\s*(figures|no result file|table):(.*?)-->\n?", re.DOTALL)
_HIDDEN = re.compile(
    r"<!--.*?-->|`[^`]*`|\]\([^)]*\)"
    r"|(?:arXiv[ :]?|Python |Linux |TextWorld |DeepSeek |Apache-)\d+\.\d+(?: to \d+\.\d+)?",
    re.DOTALL,
)
_UNITS = rf"(?:{'|'.join(SCALES)})(?!\w)"
_NUMBER = re.compile(
    r"(?<![\w.,^])(?P<sign>[+\-\u2212]?)(?P<digits>\d{1,3}(?:,\d{3})+|\d*\.\d+|\d+)"
    r"(?![\w^]|\.\d|,\d{3}(?!\d))"
    rf"(?: ?(?P<unit>{_UNITS})|(?= to [\d.,]+ ?(?P<later>{_UNITS})))?"  # 3 to 5 %
)


@dataclass(frozen=True)
class Marker:
    """What a block says of its figures."""

    file: str = ""
    """Result file of paths that name none."""
    bound: Mapping[str, str] = field(default_factory=dict)
    """Figure as it is written -> what it is."""
    given: tuple[str, ...] = ()
    """Numbers that were set."""
    reason: str = ""
    """Why there is no result file, or the name of the table."""

    @classmethod
    def read(cls, kind: str, words: str) -> Marker:
        """Read a comment, its first word being known."""
        if kind != "figures":
            return cls(reason=words.strip())
        lines = [line.strip() for line in words.strip().splitlines()]
        bound, given = {}, []
        for line in lines[1:]:
            if line.startswith("given:"):
                given += line.removeprefix("given:").split()
                continue
            figure, sign, path = line.partition(" = ")
            if not sign:
                raise ValueError(f"expected a line 'FIGURE = PATH' or 'given: ...', got {line!r}")
            bound[figure.strip()] = path.strip()
        return cls(lines[0], bound, tuple(given))

    @property
    def files(self) -> list[str]:
        """Names of the result files."""
        named = [path.split("#")[0] for path in self.bound.values() if "#" in path]
        others = [words.split(" ")[-1] for words in named]
        return list(dict.fromkeys([self.file, *others])) if self.file else []


@dataclass(frozen=True)
class Block:
    """A paragraph, list or table of a page."""

    heading: str
    """The heading that it stands under."""
    text: str
    """Its text without the marker."""
    marker: Marker | None
    """What it says of its figures."""

    @property
    def numbers(self) -> list[re.Match[str]]:
        """The numbers that are read, without code, targets of links and versions."""
        return list(_NUMBER.finditer(_HIDDEN.sub(" ", self.text)))

    @property
    def needs_marker(self) -> bool:
        """Whether it holds what may be a result: a decimal, or a number with a unit."""
        return any(
            found.group().strip() != CONFIDENCE and ("." in found["digits"] or found["unit"])
            for found in self.numbers
        )


def blocks(page: str) -> Iterator[Block]:
    """Split a page into its blocks."""
    heading = ""
    prose = re.sub(r"^(`{3,}).*?^\1`*$", "", page, flags=re.DOTALL | re.MULTILINE)
    pattern = r"\n\s*\n|\n(?=#)|(?<=\n)(?=<!-- (?:figures|no result|table))|(?<=[^|\s>])\n(?=\|)"
    for text in re.split(pattern, prose):
        text = text.strip()
        if text.startswith("#"):
            title, _, text = text.partition("\n")
            heading = title.lstrip("# ")
        if not text:
            continue
        comment = _COMMENT.match(text)
        marker = Marker.read(*comment.groups()) if comment else None
        yield Block(heading, text[comment.end() :] if comment else text, marker)


def unfounded(block: Block, results: Path = RESULTS) -> list[str]:
    """Return what is wrong with the figures of a block: each unbound, unused or wrong one."""
    marker = block.marker
    if marker is None or marker.reason:
        return []
    unused, wrong = dict(marker.bound), []
    for found in block.numbers:
        quoted = found.group().strip()
        name = next((n for n in (quoted, found["sign"] + found["digits"]) if n in marker.bound), "")
        if quoted == CONFIDENCE or found["digits"] in marker.given:
            continue
        if not name:
            wrong.append(f"{quoted} is bound to nothing")
            continue
        unused.pop(name, None)
        value = evaluated(marker.bound[name], marker.file, results)
        if not agrees(found, value):
            wrong.append(f"{quoted} is {value:.6g}")
    return [*wrong, *(f"{figure} is not quoted" for figure in unused)]


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


def evaluated(words: str, file: str, results: Path = RESULTS) -> float:
    """Return the number that a path stands for, or what is reckoned of two.

    Raises:
        ValueError: It cannot be read.
    """
    name, sign, path = words.partition("#")
    if sign:
        word, _, file = name.rpartition(" ")
        words = f"{word} {path}".strip()
    parts = words.split(" ")
    content = json.loads((results / file).read_text())
    if parts[0] in REDUCED and len(parts) == 2:
        return float(REDUCED[parts[0]](list(_every(content, parts[1].split(".")))))
    if len(parts) == 3 and parts[1] in OPERATORS:
        left, right = (_operand(content, part) for part in (parts[0], parts[2]))
        return OPERATORS[parts[1]](left, right)
    if len(parts) == 1:
        return _operand(content, words)
    raise ValueError(f"expected a path, 'a - b' or 'min a.*.b', got {words!r}")


def _operand(content: Any, word: str) -> float:
    """Return a number, or the one that stands at a path."""
    if re.fullmatch(r"[\d.]+", word):
        return float(word)
    (value,) = _every(content, word.split("."))
    return value


def _every(content: Any, keys: list[str]) -> Iterator[float]:
    """Yield the numbers at a path, ``*`` standing for each of a list or mapping."""
    if not keys:
        yield float(content)
        return
    key, *rest = keys
    if key == "*":
        for part in content.values() if isinstance(content, dict) else content:
            yield from _every(part, rest)
    else:
        yield from _every(content[int(key)] if isinstance(content, list) else content[key], rest)

"""Figures in the running text of the pages, each bound to the stored number that it quotes.

How to quote a result: write the figure on the page, and add an entry to ``benchmarks/quoted.toml``
under the path of the page. ``block`` is a phrase that occurs in exactly one paragraph, list or
hand-written table of the page (line breaks do not matter)::

    [["agentgym/envs/textworld/README.md"]]
    block = "solves every game"
    file = "demonstrators.json"
    figures.".355" = "textworld.experts.hesitant.success"
    figures."1,480" = "sandbox.json#exec.a + exec.b"
    given = "60 100"

Each figure of the block is listed as it is written, with its path (keys joined by dots, ``*`` for
each item of a list) in ``file``, or in the file before ``#``. A path may be combined with another
path or a number (``a - b``, ``1 - a``, ``a / b``), or be reduced: ``min``, ``max``, ``sum``,
``mean``, ``count``, ``low`` or ``high`` (ends of the interval over seeds). ``given`` are settings.
A block with decimals or units that come from no result says why: ``reason = "settings"`` in place
of ``file`` and ``figures``. Code, link targets, versions and the confidence of intervals need no
entry.

Tables made of results are not quoted but generated: ``python -m benchmarks.tables``.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.tables.formats import RESULTS
from benchmarks.tables.paths import evaluate

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

QUOTED = Path(__file__).parent.parent / "benchmarks" / "quoted.toml"
SCALES = {
    "%": (100.0,), "us": (1.0, 1e6), "ms": (1.0, 1e3), "s": (1.0, 1e-3), "minutes": (1.0, 1 / 60),
    "KB": (1e-3,), "MB": (1.0, 1e-6), "GB": (1.0, 1e-3, 1e-9), "M": (1e-6,),
}  # fmt: skip
"""Unit of a quoted number -> factors that may turn the stored number into it."""
CONFIDENCE = "95 %"

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
_GENERATED = "<!-- table:"


@dataclass(frozen=True)
class Source:
    """An entry of ``quoted.toml``: where the figures of a block come from."""

    block: str
    """Phrase that occurs in this block of the page and in no other."""
    file: str = ""
    """Result file of the paths that name none."""
    figures: Mapping[str, str] = field(default_factory=dict)
    """Figure as it is written -> path of the stored number."""
    given: str = ""
    """Numbers of the block that were set, separated by spaces."""
    reason: str = ""
    """Why there is no result file."""

    def __post_init__(self) -> None:
        """Refuse an entry that would check nothing."""
        if bool(self.reason) == bool(self.file and (self.figures or self.given)):
            raise ValueError(
                f"expected either 'file' and 'figures' or 'reason' in the entry of {self.block!r}"
            )

    @property
    def files(self) -> list[str]:
        """Names of the result files."""
        prefixes = [path.split("#")[0] for path in self.figures.values() if "#" in path]
        names = [self.file, *(prefix.split(" ")[-1] for prefix in prefixes)]
        return list(dict.fromkeys(filter(None, names)))


@dataclass(frozen=True)
class Block:
    """A paragraph, list or table of a page."""

    heading: str
    """The heading above it."""
    text: str
    """Its text."""
    source: Source | None = None
    """Where its figures come from, where an entry says so."""

    @property
    def numbers(self) -> list[re.Match[str]]:
        """The numbers that are read, without code, targets of links and versions."""
        return list(_NUMBER.finditer(_HIDDEN.sub(" ", self.text)))

    @property
    def needs_source(self) -> bool:
        """Whether it holds what may be a result: a decimal, or a number with a unit."""
        return not self.text.startswith(_GENERATED) and any(
            number.group().strip() != CONFIDENCE and ("." in number["digits"] or number["unit"])
            for number in self.numbers
        )


def read_sources(path: Path = QUOTED) -> dict[str, list[Source]]:
    """Read the entries of all pages.

    Args:
        path: A TOML file as ``benchmarks/quoted.toml``.

    Returns:
        Path of a page from the root of the checkout -> its entries.
    """
    entries: dict[str, list[Any]] = tomllib.loads(path.read_text(encoding="utf-8"))
    return {page: [Source(**entry) for entry in listed] for page, listed in entries.items()}


def split_blocks(page: str, sources: Sequence[Source] = ()) -> Iterator[Block]:
    """Split a page into its blocks, each with its source.

    Args:
        page: The text of the page.
        sources: Its entries.

    Yields:
        The blocks in their order.

    Raises:
        ValueError: The phrase of an entry is not in exactly one block, or two are in the same one.
    """
    pairs = list(_split(page))
    by_block: dict[int, Source] = {}
    for source in sources:
        phrase = " ".join(source.block.split())
        holding = [
            index for index, (_, text) in enumerate(pairs) if phrase in " ".join(text.split())
        ]
        if len(holding) != 1:
            raise ValueError(f"expected one block with {phrase!r}, got {len(holding)}")
        if holding[0] in by_block:
            raise ValueError(f"{phrase!r} and {by_block[holding[0]].block!r} are in the same block")
        by_block[holding[0]] = source
    for index, (heading, text) in enumerate(pairs):
        yield Block(heading, text, by_block.get(index))


def _split(page: str) -> Iterator[tuple[str, str]]:
    """Yield the heading and the text of each block, without code."""
    heading = ""
    prose = re.sub(r"^(`{3,}).*?^\1`*$", "", page, flags=re.DOTALL | re.MULTILINE)
    pattern = rf"\n\s*\n|\n(?=#)|\n(?={_GENERATED})|(?<=[^|\s>])\n(?=\|)"
    for text in re.split(pattern, prose):
        text = text.strip()
        if text.startswith("#"):
            title, _, text = text.partition("\n")
            heading = title.lstrip("# ")
        if text:
            yield heading, text


def find_errors(block: Block, results: Path = RESULTS) -> list[str]:
    """Check the figures of a block against the results.

    Args:
        block: A block; without result file nothing is compared.
        results: Folder of the result files.

    Returns:
        A sentence about each figure that is bound to nothing, not quoted or wrong.
    """
    source = block.source
    if source is None or source.reason:
        return []
    unused, errors = dict(source.figures), []
    for number in block.numbers:
        quoted = number.group().strip()
        names = (quoted, number["sign"] + number["digits"])
        name = next((name for name in names if name in source.figures), "")
        if quoted == CONFIDENCE or number["digits"] in source.given.split():
            continue
        if not name:
            errors.append(f"{quoted} is bound to nothing")
            continue
        unused.pop(name, None)
        value = evaluate(source.figures[name], source.file, results)
        if not agrees(number, value):
            errors.append(f"{quoted} is {value:.6g}")
    return [*errors, *(f"{figure} is not quoted" for figure in unused)]


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

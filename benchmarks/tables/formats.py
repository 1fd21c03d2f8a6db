"""Read result files, and format their numbers for pages."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from agentgym.registration import family

RESULTS = Path(__file__).resolve().parents[1] / "results"

Table = list[list[str]]
"""Rows of cells; the first is the head."""


def spoken(name: str) -> str:
    """Return the display name of a family, such as WebShop."""
    return family(name).id.partition("/")[2].rpartition("-v")[0]


@cache
def result(name: str) -> Any:
    """Return the content of a result file."""
    return json.loads((RESULTS / name).read_text())


def share(value: float) -> str:
    """Write a share with three decimals: ``.976``, ``-.039``, ``1.000``."""
    return f"{value:.3f}".replace("0.", ".", 1) if abs(value) < 0.9995 else f"{value:.3f}"


def shares(values: Iterable[float]) -> str:
    """Write several shares."""
    return ", ".join(map(share, values))


def signed(value: float) -> str:
    """Write a difference of shares: ``+.398``."""
    return f"{'+' if value >= 0 else ''}{share(value)}"


def interval(ends: Sequence[float] | None) -> str:
    """Write an interval of shares: ``[.352, .441]``; empty for one seed."""
    return f"[{share(ends[0])}, {share(ends[1])}]" if ends else ""


def difference(value: float, ends: Sequence[float] | None) -> str:
    """Write a difference with its interval."""
    return f"{signed(value)} {interval(ends)}".rstrip()


def bold_without_zero(value: float, ends: Sequence[float] | None) -> str:
    """Write a difference with its interval, in bold if it excludes zero."""
    text = difference(value, ends)
    return f"**{text}**" if ends and (ends[0] > 0 or ends[1] < 0) else text


def about(value: float) -> str:
    """Write a number with two digits, from 10,000 on with three: ``3,500``, ``25,700``."""
    digits = 3 if value >= 10_000 else 2
    unit = 10 ** max(0, len(str(int(value))) - digits)
    return f"{round(value / unit) * unit:,}"


def two(value: float) -> str:
    """Write a ratio with two decimals: ``.96``, ``1.04``."""
    return f"{value:.2f}".removeprefix("0")


def markdown(table: Table) -> str:
    """Return a table as Markdown, one line per row."""
    head, *rows = table
    lines = [head, ["---"] * len(head), *rows]
    texts = ["|" + "|".join(f" {cell} " if cell else " " for cell in row) + "|" for row in lines]
    texts[1] = "|" + "---|" * len(head)
    return "".join(f"{line}\n" for line in texts)


def part(content: Any, path: str) -> Any:
    """Return the part of a result at a dotted key."""
    for key in filter(None, path.split(".")):
        content = content[int(key)] if isinstance(content, list) else content[key]
    return content


def commit_of(measured: Mapping[str, Any]) -> str:
    """Return the first digits of the commit of an entry ``measured``."""
    return str(measured["commit"])[:7]

"""The page: markup, style and scripts of ``static/`` with the data of one or two runs."""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from agentgym.core.outcome import StopReason
from agentgym.errors import ConfigurationError, DataError
from agentgym.viewer.episode_files import RunFiles
from agentgym.viewer.html_data import (
    PACKED,
    PLAIN,
    SIMPLE_CHARS,
    Chunks,
    block,
    packed,
    to_json,
)
from agentgym.viewer.list_rows import body_of, row_of, shared_of
from agentgym.viewer.pairs import pair_rows

SCRIPTS = (
    "dom.js", "data.js", "route.js", "text.js", "charts.js", "list.js", "summary.js", "turns.js",
    "episode.js", "keys.js", "app.js",
)  # fmt: skip
"""The scripts, in the order in which they build on each other."""
MARK = b'<meta name="generator" content="agentgym view">'
"""Marker of pages of this package."""


def is_page(path: Path) -> bool:
    """Return whether a file is a page made by `render_page`."""
    with path.open("rb") as file:
        return MARK in file.read(2048)


def render_page(runs: Sequence[RunFiles], *, max_episodes: int | None = None) -> bytes:
    """Read one or two runs and render them as a self-contained page.

    Args:
        runs: The runs; their sources count the episodes read and lines skipped.
        max_episodes: Maximum number of episodes of each source.

    Raises:
        ConfigurationError: There are more than two runs, or ``max_episodes`` is below 1.
        DataError: A run holds no episode, or a file cannot be read.
    """
    if not 1 <= len(runs) <= 2:
        raise ConfigurationError(f"expected one run or two to compare, got {len(runs)}")
    if max_episodes is not None and max_episodes < 1:
        raise ConfigurationError(f"expected max_episodes of at least 1, got {max_episodes}")
    chunks, shared = Chunks(), _Shared()
    rows = [_read_files(run, side, max_episodes, chunks, shared) for side, run in enumerate(runs)]
    if len(rows) == 2:
        for first, second, by in pair_rows(*rows):
            rows[0][first].update(pair=second, paired_by=by)
            rows[1][second].update(pair=first, paired_by=by)
    for row in (row for side in rows for row in side):
        del row["options"]  # only pairs need them here
    words = {reason.value: reason.words for reason in StopReason}
    facts = {"runs": [_facts(run) for run in runs], "shared": shared.values, "words": words}
    blocks = [block("facts", to_json(facts), PLAIN), _rows_block(rows), *chunks.blocks()]
    return _fill(" and ".join(run.name for run in runs), "".join(blocks))


class _Shared:
    """Values that are embedded once, and referred to by their index."""

    def __init__(self) -> None:
        self.values: list[object] = []
        self._places: dict[str, int] = {}

    def place(self, value: object) -> int:
        place = self._places.setdefault(to_json(value), len(self.values))
        if place == len(self.values):
            self.values.append(value)
        return place


def _read_files(
    run: RunFiles, side: int, limit: int | None, chunks: Chunks, shared: _Shared
) -> list[dict[str, Any]]:
    """Add the episodes of a run to the chunks, and return their rows."""
    rows = []
    for source in run.sources:
        for episode in source.read(limit):
            number = source.episodes
            try:
                body = {**body_of(episode), "shared": shared.place(shared_of(episode))}
                index = chunks.add(to_json(body))
            except RecursionError as error:
                # `read` has counted it already.
                source.episodes -= 1
                source.skip(number, DataError(f"expected values of less depth ({error})"))
                continue
            key = f"{source.part}:{number}" if source.part else str(number)
            place = {"run": side, "part": source.part, "key": key, "at": index}
            rows.append({**row_of(episode), **place, "options": episode.options})
    if not rows:
        broken = [source for source in run.sources if source.skipped]
        why = f"; {broken[0].path}, {broken[0].reason}" if broken else ""
        paths = ", ".join(str(source.path) for source in run.sources)
        raise DataError(
            f"expected at least one episode in {paths}, got none{why}; agentgym eval --out "
            "FOLDER writes them"
        )
    return rows


def _facts(run: RunFiles) -> dict[str, Any]:
    """Return the data of a run that the page shows besides its episodes."""
    sources = [
        {
            "file": source.path.name,
            "part": source.part,
            "episodes": source.episodes,
            "skipped": source.skipped,
            "reason": source.reason[:300],
            "cut": source.cut,
            "planned": source.planned,
        }
        for source in run.sources
    ]
    return {"name": run.name, "sources": sources}


def _rows_block(rows: Sequence[Sequence[dict[str, Any]]]) -> str:
    text = to_json(rows)
    simple = len(text) <= SIMPLE_CHARS
    return block("rows", text if simple else packed(text), PLAIN if simple else PACKED)


def _fill(title: str, data: str) -> bytes:
    """Put title, style, scripts and data into the markup."""
    style = _static("viewer.css")
    script = "".join(_static(name) for name in SCRIPTS)
    script = f'(() => {{\n"use strict";\n{script}}})();\n'
    contents = {
        "title": html.escape(title.encode("utf-8", "replace").decode()),
        "style-hash": _digest(style),
        "script-hash": _digest(script),
        "style": style,
        "script": script,
        "data": data,
    }
    # In one pass, so that inserted text is not searched for further placeholders.
    return re.sub(
        r"\{\{([a-z-]+)\}\}", lambda mark: contents[mark[1]], _static("viewer.html")
    ).encode()


def _static(name: str) -> str:
    folder = resources.files("agentgym.viewer") / "static"
    return (folder / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    """Return the hash by which the content security policy admits an inline text."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

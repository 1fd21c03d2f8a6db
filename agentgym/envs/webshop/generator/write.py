"""Writes a generated shop as the three official JSON files, with a side file of facts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from agentgym.envs.webshop.generator.shop import Catalogue

ITEMS, INS, HUMAN, META = (
    "items_shuffle.json",
    "items_ins_v2.json",
    "items_human_ins.json",
    "meta.json",
)


def write(catalogue: Catalogue, folder: str | Path, goals_per_product: int = 4) -> dict[str, Any]:
    """Write a shop to ``folder`` so that any WebShop implementation can read it.

    The goals stand in ``items_human_ins.json`` in the official form; the bounds of this project's
    goals are kept under the extra key ``price_upper``, which the original ignores.

    Args:
        catalogue: The shop.
        folder: Folder to write to; it is made if absent, files in it are replaced.
        goals_per_product: Number of goals per product.

    Returns:
        What was written to ``meta.json``: the catalogue's facts and the SHA-256 of each file.
    """
    root = Path(folder)
    root.mkdir(parents=True, exist_ok=True)
    meta = dict(catalogue.meta, goals_per_product=goals_per_product)
    human = ((a, _human(catalogue, a, goals_per_product)) for a in catalogue.ins)
    meta["sha256"] = {
        ITEMS: _stream(root / ITEMS, "[]", map(_text, catalogue.items)),
        INS: _stream(root / INS, "{}", _entries(catalogue.ins.items())),
        HUMAN: _stream(root / HUMAN, "{}", _entries(human)),
    }
    (root / META).write_text(json.dumps(meta, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    return meta


def _text(value: Any) -> str:
    """Write one JSON value on one line, ASCII only."""
    return json.dumps(value, ensure_ascii=True, separators=(", ", ": "))


def _entries(pairs: Iterable[tuple[str, Any]]) -> Iterable[str]:
    """Write the entries of a JSON object."""
    return (f"{_text(key)}: {_text(value)}" for key, value in pairs)


def _stream(path: Path, brackets: str, entries: Iterable[str]) -> str:
    """Write a JSON array or object entry by entry and return the file's SHA-256."""
    digest = hashlib.sha256()
    with path.open("wb") as file:

        def put(text: str) -> None:
            data = text.encode()
            digest.update(data)
            file.write(data)

        put(brackets[0])
        for number, entry in enumerate(entries):
            put((",\n" if number else "\n") + entry)
        put("\n" + brackets[1] + "\n")
    return digest.hexdigest()


def _human(catalogue: Catalogue, asin: str, count: int) -> list[dict[str, Any]]:
    """Return the goals of a product in the form of ``items_human_ins.json``."""
    attributes = catalogue.ins[asin]["attributes"]
    return [
        {
            "asin": asin,
            "instruction": request.instruction,
            "attributes": attributes,
            "options": [value for _, value in request.options],
            "instruction_attributes": list(request.attributes),
            "instruction_options": [value for _, value in request.options],
            "price_upper": request.price_upper,
        }
        for request in catalogue.requests(catalogue.index(asin), count)
    ]

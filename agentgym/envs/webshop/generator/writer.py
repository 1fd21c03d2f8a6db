"""Write a generated shop as the three official JSON files, with a side file of facts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from agentgym.envs.webshop.generator.generated_shop import GeneratedShop
from agentgym.envs.webshop.official.schema import NAMES

META = "meta.json"


def write(shop: GeneratedShop, folder: str | Path, goals_per_product: int = 4) -> dict[str, Any]:
    """Write a shop that any WebShop implementation can read; return the content of ``meta.json``.

    The goals are in ``items_human_ins.json`` in the official form; the price bounds of this
    project's goals have the extra key ``price_upper``, which the original ignores.
    """
    root = Path(folder)
    root.mkdir(parents=True, exist_ok=True)
    meta = dict(shop.meta, goals_per_product=goals_per_product)
    human = ((a, _human(shop, a, goals_per_product)) for a in shop.instructions)
    meta["sha256"] = {
        NAMES.items: _stream(root / NAMES.items, "[]", map(_text, shop.items)),
        NAMES.instructions: _stream(
            root / NAMES.instructions, "{}", _entries(shop.instructions.items())
        ),
        NAMES.human: _stream(root / NAMES.human, "{}", _entries(human)),
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


def _human(shop: GeneratedShop, asin: str, count: int) -> list[dict[str, Any]]:
    """Return the goals of a product in the form of ``items_human_ins.json``."""
    index, attributes = shop.index(asin), shop.instructions[asin]["attributes"]
    return [
        {
            "asin": asin,
            "instruction": goal.instruction_text,
            "attributes": attributes,
            "options": list(goal.option_values),
            "instruction_attributes": list(goal.attributes),
            "instruction_options": list(goal.option_values),
            "price_upper": goal.price_upper,
        }
        for goal in (shop.goal(index, k) for k in range(count))
    ]

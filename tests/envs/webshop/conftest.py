"""A tiny shop in the official schema, and a cache folder that the tests do not share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentgym.envs.webshop.engine.goals import official_goals
from agentgym.envs.webshop.engine.nouns import builtin
from agentgym.envs.webshop.engine.shop import Shop


def make_item(number: int, **changes: Any) -> dict[str, Any]:
    """Return one official item."""
    kind = ("running shoes", "table lamps")[number % 2]
    item = {
        "asin": f"B0{number:08d}",
        "name": f"Brand{number} {kind.title()} Model {number}",
        "full_description": f"Plain {kind}.\nMade for item {number}.",
        "small_description": [f"Feature {number}: breathable", "Second feature"],
        "pricing": f"${10 + number}.5",
        "images": ["x.png"],
        "product_category": f"Home \u203a Things \u203a {kind.title()}",
        "category": "garden",
        "query": kind,
        "customization_options": {
            "Color": [{"value": "Navy", "image": None}, {"value": "olive/tan", "image": None}],
            "Size": [{"value": "small"}, {"value": "large "}],
            "Nothing": None,
        },
    }
    return {**item, **changes}


ITEMS = [make_item(number) for number in range(24)]
ITEMS[3]["pricing"] = "$20.0$40.0"
ITEMS[4]["pricing"] = ""
ITEMS[5]["customization_options"] = ""
ITEMS[6]["small_description"] = "one string"
ITEMS.append(make_item(0, name="a duplicate"))
ITEMS.append(make_item(1, asin="nan"))

INSTRUCTIONS = {
    item["asin"]: {
        "attributes": ["breathable", "long lasting"],
        "instruction": f"Find me breathable {item['query']}",
        "instruction_attributes": ["breathable"],
    }
    for item in ITEMS[:20]
}


@pytest.fixture(autouse=True, scope="package")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep built shops out of the user's cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AGENTGYM_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def shop() -> Shop:
    """The tiny shop with the original's synthetic goals."""
    goals = official_goals(INSTRUCTIONS, None)
    return Shop.build(ITEMS, INSTRUCTIONS, lambda item: builtin(item["name"]), goals=goals)


def shared_data(name: str) -> Path:
    """Return a folder of recorded data, or skip the test."""
    import os

    folder = os.environ.get("AGENTGYM_TEST_DATA")
    roots = [Path(folder)] if folder else []
    roots += [parent / "shared" / "data" for parent in Path(__file__).resolve().parents]
    for root in roots:
        if (root / name).is_dir():
            return root / name
    pytest.skip(f"needs recorded data {name!r}: set AGENTGYM_TEST_DATA to the folder that holds it")

"""Shops for the tests, served on this machine."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.envs.webshop.browser.shops import Shop, serving
from tests.envs.webshop.conftest import make_item, own_cache
from tests.viewer import chromium
from tests.viewer.conftest import browser, tab
from tests.viewer.records import HOSTILE

__all__ = ["browser", "own_cache", "tab"]


@pytest.fixture
def shop() -> Iterator[Callable[..., Shop]]:
    """Serve a shop: arguments of the environment, and ``visits`` those of the visits."""
    with ExitStack() as stack:
        yield lambda visits=None, **kwargs: stack.enter_context(serving(kwargs, visits or {}))


@pytest.fixture
def client(browser: chromium.Browser) -> Iterator[chromium.Page]:
    """A tab in which nothing may go wrong unseen, and which may ask this machine only."""
    page = chromium.Page(browser, 1280, 900)
    yield page
    complaints, requests = page.complaints(), page.requests()
    page.close()
    assert complaints == []
    assert [url for url in requests if not url.startswith(("http://127.0.0.1:", "data:,"))] == []


@pytest.fixture(scope="session")
def hostile_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Official files in which every text of a product is hostile."""
    folder = tmp_path_factory.mktemp("hostile")
    texts = [text.encode("utf-8", "replace").decode() for text in HOSTILE]
    items = [_hostile_item(i, text) for i, text in enumerate(texts)]
    instructions = {
        item["asin"]: {
            "attributes": ["breathable"],
            "instruction": f"Find me {text} shoes",
            "instruction_attributes": ["breathable"],
        }
        for item, text in zip(items, texts, strict=True)
    }
    (folder / "items_shuffle_1000.json").write_text(json.dumps(items))
    (folder / "items_ins_v2_1000.json").write_text(json.dumps(instructions))
    return folder


def _hostile_item(number: int, text: str) -> dict[str, Any]:
    everything = "\n".join(HOSTILE[: number + 1]).encode("utf-8", "replace").decode()
    values = [text, f"{text} two", f"[{text}]", "description", " ", "navy", "b"]
    return make_item(
        number,
        name=f"shoes {text}",
        full_description=everything * 40 if number % 5 == 4 else everything,
        small_description=[text, "breathable", "x" * (40_000 if number == 7 else 10)],
        customization_options={
            f"Group {text}": [{"value": value} for value in values],
            "Other": [{"value": "navy"}, {"value": "large  "}],
        },
    )

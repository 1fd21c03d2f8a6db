"""One browser for all tests of pages, and a tab for each; without a browser they are skipped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agentgym.viewer import find_run, render_page
from tests.viewer import chromium
from tests.viewer.records import write


@pytest.fixture(scope="session")
def browser() -> Iterator[chromium.Browser]:
    program = chromium.find()
    if program is None:
        pytest.skip("needs Chromium: apt-get install chromium")
    with chromium.running(program) as running:
        yield running


@pytest.fixture
def tab(browser: chromium.Browser) -> Iterator[chromium.Page]:
    """A tab, in which nothing may go wrong unseen and nothing may be asked of anybody."""
    page = chromium.Page(browser)
    yield page
    complaints, requests = page.complaints(), page.requests()
    page.close()
    assert complaints == []
    assert requests == []


@pytest.fixture
def viewer(tmp_path: Path) -> Callable[..., Path]:
    """Write the page of one or two runs, each a list of episodes."""

    def make(*sides: Any) -> Path:
        files = [write(tmp_path / f"{'ab'[i]}.jsonl", side) for i, side in enumerate(sides)]
        runs = [find_run(file) for file in files]
        (tmp_path / "page.html").write_bytes(render_page(runs))
        return tmp_path / "page.html"

    return make

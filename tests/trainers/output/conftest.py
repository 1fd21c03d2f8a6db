"""Here pictures are drawn."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True, scope="module")
def pictures() -> None:
    """Leave none blank."""

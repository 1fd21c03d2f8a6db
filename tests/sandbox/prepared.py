"""What back ends need besides their name before a test can open a box."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

OPTIONS: Mapping[str, Callable[[], AbstractContextManager[dict[str, Any]]]] = {}
"""Back end -> context that yields its arguments; one that stands here is not probed first."""

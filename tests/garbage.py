"""Garbage that is collected seldom, in tests alone.

A collection looks at every object that it has not been spared. In a worker of pytest these are a
million: the tests of the suite, torch, the games and shops that modules keep. Every training asks
for a full collection as it begins, and an environment of many tasks causes dozens.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

YOUNG = 50_000
"""So many new objects are worth a look at them; by default 700."""


def collect_seldom() -> None:
    """Let this process, and what it forks, collect seldom."""
    gc.set_threshold(YOUNG, 20, 20)


def spare() -> None:
    """Collect what is garbage by now, and look at what is not never again."""
    gc.collect()
    gc.freeze()


@contextmanager
def kept_by_trainings() -> Iterator[None]:
    """Let no training collect as it begins, which each does in full, for a while."""
    memory = sys.modules.get("accelerate.utils.memory")
    with pytest.MonkeyPatch.context() as patch:
        if memory is not None:
            patch.setattr(memory, "gc", SimpleNamespace(collect=lambda: 0))
        yield

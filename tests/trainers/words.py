"""Few episodes for the words of a tiny policy: 64 demonstrations and 16 of random play show all.

The two thousand that a run plays otherwise are a fifth of a toy run.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from trainers.phases import warm_start

ALL, FEW = warm_start.VOCABULARY_EPISODES, 80


@contextmanager
def shown(by: int = FEW) -> Iterator[None]:
    """Let so many episodes show words for a while."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(warm_start, "VOCABULARY_EPISODES", by)
        yield

"""Random numbers of peers that draw from Python's and NumPy's global generators.

Such a world has the two generators to itself while it runs, and everybody else finds them as they
were: an episode depends on its seed alone, whatever else draws in the process.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

_RUNNING = threading.RLock()
"""Held while the global generators are a world's. Worlds in threads take turns."""


class GlobalRandomness:
    """The state of the global generators, as one world sees it.

    Args:
        seed: Number below 2**32 from which both are seeded.
    """

    def __init__(self, seed: int = 0) -> None:
        self._states = _states_of(seed)

    def seed(self, seed: int) -> None:
        """Begin anew."""
        self._states = _states_of(seed)

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Put the world's generators in the place of the global ones, and back at the end."""
        with _RUNNING:
            old_states = _global_states()
            _set_global_states(self._states)
            try:
                yield
            finally:
                self._states = _global_states()
                _set_global_states(old_states)


def _states_of(seed: int) -> tuple[Any, Any]:
    return random.Random(seed).getstate(), np.random.RandomState(seed).get_state()


def _global_states() -> tuple[Any, Any]:
    return random.getstate(), np.random.get_state()


def _set_global_states(states: tuple[Any, Any]) -> None:
    random.setstate(states[0])
    np.random.set_state(states[1])

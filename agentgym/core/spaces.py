"""The space of text environments: any ``str`` up to a length."""

from __future__ import annotations

import copy
import multiprocessing
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.vector.utils import (
    create_shared_memory,
    read_from_shared_memory,
    write_to_shared_memory,
)

from agentgym.errors import ConfigurationError

SAMPLE_CHARACTERS = "".join(map(chr, range(32, 127))) + "\n\t"
SAMPLE_LENGTH = 64
_SAMPLES = spaces.Text(1, charset=SAMPLE_CHARACTERS)
"""Shared character tables, which would otherwise take 30 KB per environment."""


class UnicodeText(spaces.Text):
    """All strings of at most ``max_length`` code points, with any characters.

    ``gymnasium.spaces.Text`` enumerates a character set, but text by people and models has none.
    This space checks only the type and the length, and samples short printable strings.

    Args:
        max_length: Maximum length, in code points.
        min_length: Minimum length, in code points.
        seed: Seed of the generator behind :meth:`sample`.

    Raises:
        ConfigurationError: The bounds are negative or crossed.
    """

    def __init__(self, max_length: int = 32768, *, min_length: int = 0, seed: int | None = None):
        if not 0 <= min_length <= max_length:
            raise ConfigurationError(
                f"expected 0 <= min_length <= max_length, got {min_length} and {max_length}"
            )
        # Not super().__init__: the constructor of Text would build the character tables again.
        spaces.Space.__init__(self, dtype=str, seed=seed)
        self.min_length, self.max_length = min_length, max_length
        for table in ("_char_set", "_char_list", "_char_index", "_char_str"):
            setattr(self, table, getattr(_SAMPLES, table))

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        """Draw a printable ASCII string of at most ``min_length + 64`` characters."""
        if mask is None and probability is None:
            longest = min(self.max_length, self.min_length + SAMPLE_LENGTH)
            mask = (int(self.np_random.integers(self.min_length, longest + 1)), None)
        return super().sample(mask, probability)

    def contains(self, x: object) -> bool:
        """Return whether ``x`` is a ``str`` whose length is within the bounds."""
        return isinstance(x, str) and self.min_length <= len(x) <= self.max_length

    @property
    def is_np_flattenable(self) -> bool:
        """False: text with an unbounded alphabet has no array form of fixed size."""
        return False

    def joined(self, other: UnicodeText) -> UnicodeText:
        """Return the smallest text space that contains both spaces."""
        if self == other:
            return self
        return UnicodeText(
            max(self.max_length, other.max_length),
            min_length=min(self.min_length, other.min_length),
        )

    def __deepcopy__(self, memo: dict[int, Any]) -> UnicodeText:
        """Copy the generator, and share the character tables."""
        twin = copy.copy(self)
        twin._np_random = copy.deepcopy(self._np_random, memo)
        return twin

    def __eq__(self, other: object) -> bool:
        """Spaces with the same bounds are equal."""
        return isinstance(other, UnicodeText) and (self.min_length, self.max_length) == (
            other.min_length,
            other.max_length,
        )

    def __hash__(self) -> int:
        """Agree with :meth:`__eq__`."""
        return self.max_length * 31 + self.min_length

    def __repr__(self) -> str:
        """Return the bounds, without the sample characters that ``Text`` would list."""
        return f"UnicodeText({self.min_length}, {self.max_length})"


# -- shared memory ---------------------------------------------------------------------------------
# Gymnasium's own functions for Text write indices into a character set and read them once, when a
# vector environment is made. These write code points, and decode a text each time it is read.


class SharedTexts(Sequence[str]):
    """The current texts of several environments in shared memory; a deep copy is a tuple of texts.

    Args:
        memory: For each environment, the length of its text and ``max_length`` code points.
        n: Number of environments.
    """

    def __init__(self, memory: Any, n: int) -> None:
        self._rows = _rows(memory, n)

    def __len__(self) -> int:
        """Number of environments."""
        return len(self._rows)

    def __getitem__(self, index: Any) -> Any:
        """Read the text of one environment."""
        if isinstance(index, slice):
            return tuple(self)[index]
        row = self._rows[index]
        return row[1 : 1 + row[0]].tobytes().decode("utf-32-le", "surrogatepass")

    def __deepcopy__(self, memo: dict[int, Any]) -> tuple[str, ...]:
        """Read all texts."""
        return tuple(self)


def _rows(memory: Any, n: int) -> npt.NDArray[np.int32]:
    """View shared memory as rows [n, 1 + max_length]: a length, then that many code points."""
    return np.frombuffer(memory.get_obj(), dtype="<i4").reshape(n, -1)


@create_shared_memory.register(UnicodeText)
def _create(space: UnicodeText, n: int = 1, ctx: Any = multiprocessing) -> Any:
    return ctx.Array("i", n * (1 + space.max_length))


@read_from_shared_memory.register(UnicodeText)
def _read_texts(space: UnicodeText, shared_memory: Any, n: int = 1) -> SharedTexts:
    return SharedTexts(shared_memory, n)


@write_to_shared_memory.register(UnicodeText)
def _write(space: UnicodeText, index: int, value: Any, shared_memory: Any) -> None:
    codes = np.frombuffer(value.encode("utf-32-le", "surrogatepass"), dtype="<i4")
    row = _rows(shared_memory, len(shared_memory) // (1 + space.max_length))[index]
    row[0], row[1 : 1 + len(codes)] = len(codes), codes

"""The one space of text environments: any ``str`` up to a length."""

from __future__ import annotations

import copy
from typing import Any

from gymnasium import spaces
from gymnasium.error import CustomSpaceError
from gymnasium.vector.utils import create_shared_memory

from agentgym.errors import ConfigurationError

SAMPLE_CHARACTERS = "".join(map(chr, range(32, 127))) + "\n\t"
SAMPLE_LENGTH = 64
_SAMPLES = spaces.Text(1, charset=SAMPLE_CHARACTERS)
"""Holds the character tables, which would otherwise cost every environment 30 KB."""


class UnicodeText(spaces.Text):
    """All strings of at most ``max_length`` code points, whatever characters they hold.

    ``gymnasium.spaces.Text`` enumerates a character set, which text written by people and models
    does not have. This space checks the type and the length only, and samples short printable
    strings.

    Args:
        max_length: Longest member, in code points.
        min_length: Shortest member, in code points.
        seed: Seed of the generator behind :meth:`sample`.

    Raises:
        ConfigurationError: The bounds are negative or crossed.
    """

    def __init__(self, max_length: int = 32768, *, min_length: int = 0, seed: int | None = None):
        if not 0 <= min_length <= max_length:
            raise ConfigurationError(
                f"expected 0 <= min_length <= max_length, got {min_length} and {max_length}"
            )
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

    def contains(self, x: Any) -> bool:
        """Return whether ``x`` is a ``str`` whose length is within the bounds."""
        return isinstance(x, str) and self.min_length <= len(x) <= self.max_length

    @property
    def is_np_flattenable(self) -> bool:
        """Text of unbounded alphabet has no fixed-size array form."""
        return False

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
        """Short form: the 98 sample characters are of no interest."""
        return f"UnicodeText({self.min_length}, {self.max_length})"


@create_shared_memory.register(UnicodeText)
def _refuse_shared_memory(space: UnicodeText, n: int = 1, ctx: Any = None) -> Any:
    """Turn Gymnasium's silent corruption of text in shared memory into an error."""
    raise CustomSpaceError(
        f"expected an observation space that fits shared memory, got {space!r}, whose text does "
        'not; pass vector_kwargs={"shared_memory": False} to gym.make_vec, '
        "or leave vectorization_mode out to get agentgym.vector.TextVectorEnv"
    )

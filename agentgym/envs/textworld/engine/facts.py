"""Facts as bits: a state of a world is one integer.

Every fact that a game has met owns one bit of an integer, so that a state, the conditions of an
action and what it changes are integers too, and "do the conditions hold" is one ``&``. Bits are
given in the order of first sight: they have no meaning outside their table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from threading import Lock

from agentgym.envs.textworld.engine.logic import FactKind
from agentgym.envs.textworld.session import Fact


class FactTable:
    """The bits of the facts of one world.

    Args:
        kinds: Entity to its type.
    """

    def __init__(self, kinds: Mapping[str, str]) -> None:
        self._kinds = kinds
        self._bits: dict[Fact, int] = {}
        self._facts: list[Fact] = []
        self._lock = Lock()
        self.alike: dict[FactKind, int] = {}
        """Predicate and types of the entities to the bits of such facts."""
        self.about: dict[tuple[int, str], int] = {}
        """Argument and entity to the bits of the facts that hold it there."""

    def bit(self, fact: Fact) -> int:
        """Give the bit of a fact, a new one to a fact not seen before."""
        known = self._bits.get(fact)
        return self._add(fact) if known is None else known

    def mask(self, facts: Iterable[Fact]) -> int:
        """Join the bits of facts."""
        mask = 0
        for fact in facts:
            mask |= self.bit(fact)
        return mask

    def facts(self, mask: int) -> Iterator[Fact]:
        """Give the facts of a mask, in the order of their bits."""
        while mask:
            bit = mask & -mask
            mask ^= bit
            yield self._facts[bit.bit_length() - 1]

    def _add(self, fact: Fact) -> int:
        with self._lock:  # Worlds are shared: two threads must not give one bit to two facts.
            if fact in self._bits:
                return self._bits[fact]
            kinds = (fact[0], tuple([self._kinds[entity] for entity in fact[1:]]))
            bit = 1 << len(self._facts)
            self._facts.append(fact)
            self.alike[kinds] = self.alike.get(kinds, 0) | bit
            for place in enumerate(fact[1:]):
                self.about[place] = self.about.get(place, 0) | bit
            self._bits[fact] = bit  # last: who finds it here finds it everywhere
            return bit

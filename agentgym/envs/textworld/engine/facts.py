"""Facts as bits: a state of a world is one integer.

Each fact that a game has encountered owns one bit of an integer, so that a state, the conditions of
an action and its changes are integers too, and testing the conditions is one ``&``. Bits are given
in the order of first sight: they have no meaning outside their table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from threading import Lock

from agentgym.envs.textworld.engine.logic import Logic
from agentgym.envs.textworld.session import Fact


class FactTable:
    """The bits of the facts of one world.

    Args:
        logic: The logic, whose patterns facts may fit.
        kinds: Entity to its type.
        facts: The first facts, each once: number ``n`` owns bit ``n``.
    """

    def __init__(self, logic: Logic, kinds: Mapping[str, str], facts: Sequence[Fact] = ()) -> None:
        self._patterns = logic.fitting
        self._kinds = kinds
        self._bits: dict[Fact, int] = {}
        self._facts: list[Fact] = []
        self._lock = Lock()
        self.fitting: list[int] = [0] * len(logic.patterns)
        """Bits of the facts that fit each pattern of the logic."""
        self.about: list[dict[str, int]] = []
        """For each argument of facts: entity to the bits of the facts that hold it there."""
        self._add(facts)

    def bit(self, fact: Fact) -> int:
        """Give the bit of a fact, a new one to a fact not seen before."""
        bit = self._bits.get(fact)
        if bit is None:
            with self._lock:  # Worlds are shared: two threads must not give one bit to two facts.
                if fact not in self._bits:
                    self._add([fact])
                bit = self._bits[fact]
        return bit

    def mask(self, facts: Iterable[Fact]) -> int:
        """Join the bits of facts."""
        mask = 0
        for fact in facts:
            mask |= self.bit(fact)
        return mask

    def facts(self, mask: int) -> list[Fact]:
        """Give the facts of a mask, in the order of their bits."""
        facts = []
        while mask:
            bit = mask & -mask
            mask ^= bit
            facts.append(self._facts[bit.bit_length() - 1])
        return facts

    def _add(self, facts: Sequence[Fact]) -> None:
        """Give bits to facts that have none."""
        kinds, patterns, fitting, about = self._kinds, self._patterns, self.fitting, self.about
        about += [{} for _ in range(max(map(len, facts), default=1) - 1 - len(about))]
        bit = 1 << len(self._facts)
        self._facts += facts
        for fact in facts:
            kind = fact[:1]
            for place, entity in enumerate(fact[1:]):
                about[place][entity] = about[place].get(entity, 0) | bit
                kind += (kinds[entity],)
            for pattern in patterns[kind]:
                fitting[pattern] |= bit
            self._bits[fact] = bit  # last: a reader that finds the fact here finds it in all tables
            bit <<= 1

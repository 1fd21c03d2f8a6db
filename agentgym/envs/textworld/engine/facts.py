"""Facts as bits: a state of a world is one integer.

Every fact that a game has met owns one bit of an integer, so that a state, the conditions of an
action and what it changes are integers too, and "do the conditions hold" is one ``&``. Bits are
given in the order of first sight: they have no meaning outside their table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from threading import Lock

from agentgym.envs.textworld.session import Fact


class Pattern:
    """A predicate with types, and the known facts that fit it."""

    __slots__ = ("kinds", "total", "users", "where")

    def __init__(self, kinds: tuple[frozenset[str], ...]) -> None:
        self.kinds = kinds
        self.total = 0
        """Bits of all fitting facts."""
        self.where: tuple[dict[str, int], ...] = tuple({} for _ in kinds)
        """For each argument: entity to the bits of the fitting facts that hold it there."""
        self.users: list[Relevance] = []
        """What depends on these facts; told of every new one."""

    def learn(self, fact: Fact, bit: int) -> None:
        """Take in a fact that fits."""
        for place, entity in zip(self.where, fact[1:], strict=True):
            place[entity] = place.get(entity, 0) | bit
        self.total |= bit
        for user in self.users:
            user.mask |= bit


class Relevance:
    """The bits of all facts that some patterns match: what a rule's outcome can depend on."""

    __slots__ = ("mask",)

    def __init__(self, patterns: Iterable[Pattern]) -> None:
        self.mask = 0
        for pattern in patterns:
            pattern.users.append(self)
            self.mask |= pattern.total


class FactTable:
    """The bits of the facts of one world."""

    def __init__(self, kinds: Mapping[str, str]) -> None:
        self._kinds = kinds
        self._bits: dict[Fact, int] = {}
        self._facts: list[Fact] = []
        self._patterns: dict[tuple[str, int], dict[tuple[frozenset[str], ...], Pattern]] = {}
        self._lock = Lock()

    def pattern(self, name: str, kinds: tuple[frozenset[str], ...]) -> Pattern:
        """Find the pattern of a predicate with types, or make it."""
        alike = self._patterns.setdefault((name, len(kinds)), {})
        found = alike.get(kinds)
        if found is None:
            found = alike[kinds] = Pattern(kinds)
            for fact, bit in self._bits.items():
                if fact[0] == name and len(fact) == len(kinds) + 1 and self._fits(fact, found):
                    found.learn(fact, bit)
        return found

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
            bit = 1 << len(self._facts)
            self._facts.append(fact)
            for pattern in self._patterns.get((fact[0], len(fact) - 1), {}).values():
                if self._fits(fact, pattern):
                    pattern.learn(fact, bit)
            self._bits[fact] = bit
            return bit

    def _fits(self, fact: Fact, pattern: Pattern) -> bool:
        kinds = self._kinds
        return all([kinds[arg] in fit for arg, fit in zip(fact[1:], pattern.kinds, strict=True)])

"""Goals as unions of conjunctive queries over the state of a household.

A goal is true when one of its queries is; a query is true when some choice of its variables makes
all its literals true. (The form is that of Chandra and Merlin, Optimal implementation of
conjunctive queries, STOC 1977; an answer is found by backtracking over the variables, ordered once
so that each has few candidates.) Goals are made of formulas by
:mod:`agentgym.envs.alfworld.engine.formulas`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from agentgym.envs.alfworld.engine.state import State

FLUENTS: Mapping[str, Callable[[State, Sequence[int]], bool]] = {
    "inreceptacle": lambda s, a: a[1] < len(s.contents) and a[0] in s.contents[a[1]],
    "holds": lambda s, a: s.held == a[1],
    "holdsany": lambda s, a: s.held >= 0,
    "atlocation": lambda s, a: s.place == a[1],
    "objectatlocation": lambda s, a: (a[0], a[1]) in s.lying,
    "opened": lambda s, a: a[0] in s.opened,
    "isclean": lambda s, a: a[0] in s.clean,
    "ishot": lambda s, a: a[0] in s.hot,
    "iscool": lambda s, a: a[0] in s.cool,
    "istoggled": lambda s, a: a[0] in s.toggled,
    "issliced": lambda s, a: a[0] in s.sliced,
}
"""Predicates that actions change, and how to read them from a state."""
Conjunction = tuple["Literal", ...]


class Literal(NamedTuple):
    """A fact, or its denial; an argument below zero is variable number ``-1 - argument``."""

    predicate: str
    args: tuple[int, ...]
    positive: bool


@dataclass(frozen=True, slots=True)
class Step:
    """One variable of a query, in the order of the search."""

    variable: int
    domain: tuple[int, ...]
    members: frozenset[int]
    source: Literal | None
    """A literal that lists the few candidates, given the variables bound before."""
    checks: Conjunction
    """Literals whose variables are bound from here on."""


@dataclass(frozen=True, slots=True)
class Query:
    """Literals that must hold together for some choice of the variables."""

    domains: tuple[tuple[int, ...], ...]
    """What each variable may stand for."""
    fluents: Conjunction
    """Literals that depend on the state."""
    statics: Conjunction
    """Literals over several variables that do not."""
    tables: Mapping[str, frozenset[tuple[int, ...]]]
    """Facts for :attr:`statics`."""
    ground: Conjunction
    """Those without variables."""
    steps: tuple[Step, ...]
    """The search."""

    def satisfied(self, state: State) -> bool:
        """Return whether some choice of the variables makes every literal true."""
        binding = [0] * len(self.domains)
        return self._all(state, self.ground, binding) and self._search(state, 0, binding)

    def true(self, state: State, literal: Literal, binding: Sequence[int]) -> bool:
        """Return whether a literal holds."""
        args = [value if value >= 0 else binding[-1 - value] for value in literal.args]
        fluent = FLUENTS.get(literal.predicate)
        if fluent is not None:
            return fluent(state, args) == literal.positive
        if literal.predicate == "=":
            return (args[0] == args[1]) == literal.positive
        return (tuple(args) in self.tables[literal.predicate]) == literal.positive

    def _all(self, state: State, literals: Conjunction, binding: Sequence[int]) -> bool:
        return all(self.true(state, literal, binding) for literal in literals)

    def _search(self, state: State, depth: int, binding: list[int]) -> bool:
        if depth == len(self.steps):
            return True
        step = self.steps[depth]
        for value in _candidates(step, state, binding):
            binding[step.variable] = value
            if self._all(state, step.checks, binding) and self._search(state, depth + 1, binding):
                return True
        return False


@dataclass(frozen=True, slots=True)
class Goal:
    """A compiled goal formula: true when one of its queries is."""

    queries: tuple[Query, ...]

    def satisfied(self, state: State) -> bool:
        """Return whether a state fulfils the goal."""
        return any(query.satisfied(state) for query in self.queries)


def _candidates(step: Step, state: State, binding: Sequence[int]) -> Iterable[int]:
    """Return the values of a step's variable that are worth a try."""
    source = step.source
    if source is None:
        return step.domain
    if source.predicate == "inreceptacle":
        where = source.args[1]
        where = where if where >= 0 else binding[-1 - where]
        found = state.contents[where] if where < len(state.contents) else ()
        return [value for value in found if value in step.members]
    value = state.held if source.predicate == "holds" else state.place
    return (value,) if value in step.members else ()


def ordered_steps(
    domains: Sequence[tuple[int, ...]], literals: Sequence[Literal]
) -> Iterable[Step]:
    """Order the variables of a query so that each has few candidates, given those before it.

    Args:
        domains: What each variable may stand for.
        literals: The literals with variables.

    Returns:
        The steps of the search.
    """
    waiting = list(range(len(domains)))
    unchecked = list(literals)
    holders = {part.args[1] for part in literals if part.predicate == "inreceptacle"}
    while waiting:
        sources = {v: _source(v, waiting, literals) for v in waiting}

        def cost(v: int, known: Mapping[int, Literal | None] = sources) -> tuple[bool, bool, int]:
            return known[v] is None, -1 - v not in holders, len(domains[v])

        variable = min(waiting, key=cost)
        waiting.remove(variable)
        free = {-1 - v for v in waiting}
        checks = tuple(part for part in unchecked if not free.intersection(part.args))
        unchecked = [part for part in unchecked if free.intersection(part.args)]
        domain = domains[variable]
        yield Step(variable, domain, frozenset(domain), sources[variable], checks)


def _source(variable: int, waiting: Sequence[int], literals: Iterable[Literal]) -> Literal | None:
    """Return a literal that lists the candidates of a variable, all else in it being bound."""
    term = -1 - variable
    others = {-1 - v for v in waiting if v != variable}
    for part in literals:
        if not part.positive or others.intersection(part.args):
            continue
        if part.predicate == "inreceptacle" and part.args[0] == term != part.args[1]:
            return part
        if part.predicate in ("holds", "atlocation") and part.args[1] == term:
            return part
    return None

"""A world: the entities of one task, its facts as a row of bytes, and what actions make of them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from agentgym.errors import DataError
from agentgym.synth.facts import NO, YES, Application, Equation, Fact, Term
from agentgym.synth.specification import Need, Result, Sight, Specification, Template, Tool, written

MOST_CELLS = 128
"""Most facts of a world."""
State: TypeAlias = bytes
"""The value of every fact, by its place in `World.cells`."""
Value: TypeAlias = Callable[[State], int]
Test: TypeAlias = Callable[[State], bool]
Chosen: TypeAlias = Mapping[str, str]
"""Entities by the names of variables."""


@dataclass(frozen=True, slots=True)
class Action:
    """A tool with its entities."""

    text: str
    """How it is written."""
    needs: tuple[tuple[Test, str], ...]
    """What has to hold as everybody can see, each with what is said where it does not."""
    hidden: tuple[tuple[Test, str], ...]
    """What has to hold besides."""
    results: tuple[tuple[int, Callable[[State], State], Callable[[State], str]], ...]
    """How it may turn out: percent, what becomes of a state, and what is said of the new one."""

    def offered(self, state: State) -> bool:
        """Return whether it can be tried, as far as everybody can see."""
        return all(test(state) for test, _ in self.needs)

    def works(self, state: State) -> bool:
        """Return whether it does something."""
        return self.offered(state) and all(test(state) for test, _ in self.hidden)


class World:
    """The entities of one task and what can be done with them.

    Args:
        spec: The specification.
        entities: Names of the entities of each type.

    Raises:
        DataError: There are too many facts.

    Attributes:
        values: Every value of a fact; a state holds their places.
        cells: Every fact with the entities that it is about, in the order of a state.
        actions: Every tool with every entity that it takes.
    """

    def __init__(self, spec: Specification, entities: Mapping[str, tuple[str, ...]]) -> None:
        self.spec, self.entities = spec, entities
        words = dict.fromkeys(
            value for fact in spec.facts.values() for value in fact.kinds if value not in spec.kinds
        )
        names = [name for kind in spec.kinds for name in entities[kind]]
        self.values: tuple[str, ...] = tuple(dict.fromkeys([YES, NO, *words, *names]))
        self._value = {name: place for place, name in enumerate(self.values)}
        self.cells = tuple(
            (fact, of)
            for fact in spec.facts.values()
            for of in itertools.product(*(entities[kind] for kind in fact.of))
        )
        if len(self.cells) > MOST_CELLS:
            raise DataError(
                f"expected at most {MOST_CELLS} facts in a world of {spec.name}, got "
                f"{len(self.cells):,}: lower a count, or let a fact be about fewer types"
            )
        self._cell = {
            (fact.name, tuple(self._value[name] for name in of)): place
            for place, (fact, of) in enumerate(self.cells)
        }
        self.actions = tuple(
            self._action(tool, chosen) for tool in spec.tools for chosen in self._each(tool.takes)
        )
        self._told: dict[int, list[tuple[Callable[[State], str], list[Test]]]] = {}
        self.by_text = {action.text.casefold(): action for action in self.actions}

    def __reduce__(self) -> Any:
        """Copy and pickle a world by what it is made of: its actions are functions."""
        return World, (self.spec, self.entities)

    def domain(self, fact: Fact) -> tuple[int, ...]:
        """Return the values that a fact may begin with."""
        names: list[str] = []
        for kind in fact.start:
            names += self.entities.get(kind, (kind,))
        return tuple(self._value[name] for name in names)

    def told(self, sights: tuple[Sight, ...], state: State) -> list[str]:
        """Return the sentences that are said of a state."""
        known = self._told.get(id(sights))
        if known is None:  # the tuple is one of the specification's, so it stays where it is
            known = self._told[id(sights)] = [
                (self.says(sight.tell, chosen), [self.test(fact, chosen) for fact in sight.when])
                for sight in sights
                for chosen in self._each(sight.each)
            ]
        return [says(state) for says, tests in known if all(test(state) for test in tests)]

    def says(self, template: Template, chosen: Chosen) -> Callable[[State], str]:
        """Return what writes a template of a state."""
        parts = [part if isinstance(part, str) else self._term(part, chosen) for part in template]
        values = self.values
        if all(isinstance(part, str | int) for part in parts):
            text = "".join(part if isinstance(part, str) else values[part] for part in parts)  # type: ignore[index]
            return lambda state: text
        return lambda state: "".join(
            part
            if isinstance(part, str)
            else values[part if isinstance(part, int) else part(state)]
            for part in parts
        )

    def test(self, fact: Equation, chosen: Chosen) -> Test:
        """Return what tells whether a fact holds in a state."""
        left, right, equal = (
            self.place(fact.left, chosen),
            self._term(fact.right, chosen),
            fact.equal,
        )
        if isinstance(left, int) and isinstance(right, int):
            if equal:
                return lambda state: state[left] == right
            return lambda state: state[left] != right
        first, second = _value_of(self._term(fact.left, chosen)), _value_of(right)
        return lambda state: (first(state) == second(state)) == equal

    def place(self, fact: Application, chosen: Chosen) -> int | Value:
        """Return where the value of a fact stands, or what tells where."""
        of = [self._term(term, chosen) for term in fact.of]
        name, cells = fact.fact, self._cell
        if all(isinstance(each, int) for each in of):
            return cells[name, tuple(of)]  # type: ignore[arg-type]
        found = [_value_of(each) for each in of]
        return lambda state: cells[name, tuple(each(state) for each in found)]

    # -- parts ----------------------------------------------------------------------------------

    def _each(self, variables: Mapping[str, str]) -> Iterator[Chosen]:
        """Yield every choice of entities for some variables."""
        for chosen in itertools.product(*(self.entities[kind] for kind in variables.values())):
            yield dict(zip(variables, chosen, strict=True))

    def _action(self, tool: Tool, chosen: Chosen) -> Action:
        return Action(
            written(tool, chosen),
            self._needs(tool.needs, chosen),
            self._needs(tool.hidden, chosen),
            tuple(
                (result.percent, self._change(result, chosen), self.says(result.answer, chosen))
                for result in tool.results
            ),
        )

    def _needs(self, needs: Sequence[Need], chosen: Chosen) -> tuple[tuple[Test, str], ...]:
        return tuple((self.test(need.fact, chosen), need.otherwise) for need in needs)

    def _change(self, result: Result, chosen: Chosen) -> Callable[[State], State]:
        pairs = [
            (_value_of(self.place(each.left, chosen)), _value_of(self._term(each.right, chosen)))
            for each in result.then
        ]

        def change(state: State) -> State:
            after = bytearray(state)
            for place, value in pairs:
                after[place(state)] = value(state)
            return bytes(after)

        return change

    def _term(self, term: Term, chosen: Chosen) -> int | Value:
        """Return a value, or what tells it of a state."""
        if not isinstance(term, Application):
            return self._value[chosen.get(term.name, term.name)]
        place = self.place(term, chosen)
        if isinstance(place, int):
            return lambda state: state[place]
        return lambda state: state[place(state)]


def _value_of(found: int | Value) -> Value:
    return (lambda state: found) if isinstance(found, int) else found

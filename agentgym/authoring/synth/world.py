"""A world: the entities of one task, its facts as a row of bytes, and what actions make of them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from agentgym.authoring.synth.facts import NO, YES, Application, Equation, Fact, Term
from agentgym.authoring.synth.specification import (
    Need,
    Result,
    Sight,
    Specification,
    Template,
    Tool,
    write_action,
)
from agentgym.errors import DataError

MOST_CELLS = 128
"""Most facts of a world."""
State: TypeAlias = bytes
"""The value of every fact, by its place in `SynthWorld.cells`."""
Value: TypeAlias = Callable[[State], int]
Test: TypeAlias = Callable[[State], bool]
Bindings: TypeAlias = Mapping[str, str]
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


class SynthWorld:
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
            self._action(tool, bindings)
            for tool in spec.tools
            for bindings in self._enumerate(tool.takes)
        )
        self._descriptions: dict[int, list[tuple[Callable[[State], str], list[Test]]]] = {}
        self.by_text = {action.text.casefold(): action for action in self.actions}

    def __reduce__(self) -> Any:
        """Copy and pickle a world by what it is made of: its actions are functions."""
        return SynthWorld, (self.spec, self.entities)

    def domain(self, fact: Fact) -> tuple[int, ...]:
        """Return the values that a fact may begin with."""
        names: list[str] = []
        for kind in fact.start:
            names += self.entities.get(kind, (kind,))
        return tuple(self._value[name] for name in names)

    def describe(self, sights: tuple[Sight, ...], state: State) -> list[str]:
        """Return the sentences that are said of a state."""
        sentences = self._descriptions.get(id(sights))
        if sentences is None:  # the tuple is one of the specification's, so it stays where it is
            sentences = self._descriptions[id(sights)] = [
                (
                    self.says(sight.tell, bindings),
                    [self.test(fact, bindings) for fact in sight.when],
                )
                for sight in sights
                for bindings in self._enumerate(sight.variables)
            ]
        return [says(state) for says, tests in sentences if all(test(state) for test in tests)]

    def says(self, template: Template, bindings: Bindings) -> Callable[[State], str]:
        """Return what writes a template of a state."""
        parts = [part if isinstance(part, str) else self._term(part, bindings) for part in template]
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

    def test(self, fact: Equation, bindings: Bindings) -> Test:
        """Return what tells whether a fact holds in a state."""
        left, right, equal = (
            self.place(fact.left, bindings),
            self._term(fact.right, bindings),
            fact.equal,
        )
        if isinstance(left, int) and isinstance(right, int):
            if equal:
                return lambda state: state[left] == right
            return lambda state: state[left] != right
        first, second = _value_of(self._term(fact.left, bindings)), _value_of(right)
        return lambda state: (first(state) == second(state)) == equal

    def place(self, fact: Application, bindings: Bindings) -> int | Value:
        """Return where the value of a fact stands, or what tells where."""
        of = [self._term(term, bindings) for term in fact.of]
        name, cells = fact.fact, self._cell
        if all(isinstance(term, int) for term in of):
            return cells[name, tuple(of)]  # type: ignore[arg-type]
        readers = [_value_of(term) for term in of]
        return lambda state: cells[name, tuple(reader(state) for reader in readers)]

    # -- parts ----------------------------------------------------------------------------------

    def _enumerate(self, variables: Mapping[str, str]) -> Iterator[Bindings]:
        """Yield every choice of entities for some variables."""
        for choice in itertools.product(*(self.entities[kind] for kind in variables.values())):
            yield dict(zip(variables, choice, strict=True))

    def _action(self, tool: Tool, bindings: Bindings) -> Action:
        return Action(
            write_action(tool, bindings),
            self._needs(tool.needs, bindings),
            self._needs(tool.hidden, bindings),
            tuple(
                (result.percent, self._change(result, bindings), self.says(result.answer, bindings))
                for result in tool.results
            ),
        )

    def _needs(self, needs: Sequence[Need], bindings: Bindings) -> tuple[tuple[Test, str], ...]:
        return tuple((self.test(need.fact, bindings), need.otherwise) for need in needs)

    def _change(self, result: Result, bindings: Bindings) -> Callable[[State], State]:
        pairs = [
            (
                _value_of(self.place(equation.left, bindings)),
                _value_of(self._term(equation.right, bindings)),
            )
            for equation in result.then
        ]

        def change(state: State) -> State:
            changed_state = bytearray(state)
            for place, value in pairs:
                changed_state[place(state)] = value(state)
            return bytes(changed_state)

        return change

    def _term(self, term: Term, bindings: Bindings) -> int | Value:
        """Return a value, or what tells it of a state."""
        if not isinstance(term, Application):
            return self._value[bindings.get(term.name, term.name)]
        place = self.place(term, bindings)
        if isinstance(place, int):
            return lambda state: state[place]
        return lambda state: state[place(state)]


def _value_of(value: int | Value) -> Value:
    return (lambda state: value) if isinstance(value, int) else value

"""The rules of a TextWorld game: types, predicates, rules and their commands.

A model of ``KB.logic`` in a game's JSON, after aliases are expanded. Nothing here knows of a
particular world: ``rule_parser`` reads the text, ``commands`` binds the rules to entities.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

Types = tuple[str, ...]
Pairs = tuple[tuple[int, int], ...]
FIELD = re.compile(r"\{([^{}]*)\}")
"""A placeholder in a command template."""


@dataclass(frozen=True, slots=True)
class Atom:
    """A predicate over placeholders, such as ``at(P, r)``."""

    name: str
    """Name of the predicate; a negated one is ``not_`` and the name."""
    args: tuple[str, ...]
    """Names of the placeholders, in order."""


@dataclass(frozen=True)
class Rule:
    """A template of actions: it takes its preconditions away and puts its postconditions."""

    name: str
    """Name of the rule, for example ``take/c``."""
    preconditions: tuple[Atom, ...]
    """Conditions, in the order of the source; facts that persist are postconditions too."""
    postconditions: tuple[Atom, ...]
    """Facts that replace the preconditions."""
    types: Mapping[str, str]
    """Placeholder to the type of entity that it stands for, in order of first use."""

    # Placeholders stand for different entities, so relations between atoms hold between their
    # facts.

    @cached_property
    def added(self) -> tuple[Atom, ...]:
        """Facts that it adds."""
        return _without(self.postconditions, self.preconditions)

    @cached_property
    def removed(self) -> tuple[Atom, ...]:
        """Facts that it removes."""
        return _without(self.preconditions, self.postconditions)

    @cached_property
    def proper(self) -> tuple[bool, bool]:
        """Whether the preconditions, and the postconditions, are free of repetitions."""
        sides = (self.preconditions, self.postconditions)
        return len(set(sides[0])) == len(sides[0]), len(set(sides[1])) == len(sides[1])


FactKind = tuple[str, ...]
"""Predicate of a fact, then the types of the entities that it is about."""
Pattern = tuple[str, tuple[frozenset[str], ...]]
"""A predicate, and the types that may stand at each of its arguments."""


class Fitting(dict[FactKind, tuple[int, ...]]):
    """Kind of a fact to the places of the patterns that such facts fit, found once for each kind.

    Args:
        patterns: The patterns.
    """

    SIZE = 1 << 12
    """Most kinds that are remembered."""

    def __init__(self, patterns: Iterable[Pattern]) -> None:
        super().__init__()
        self._patterns = tuple(patterns)

    def __missing__(self, kind: FactKind) -> tuple[int, ...]:
        """Compare a kind that was not met before with each pattern."""
        if len(self) >= self.SIZE:
            self.clear()
        name, *types = kind
        matching = self[kind] = tuple([
            place for place, (predicate, fits) in enumerate(self._patterns)
            if predicate == name and len(fits) == len(types)
            and all([subtype in fit for subtype, fit in zip(types, fits, strict=True)])
        ])  # fmt: skip
        return matching


class Join(NamedTuple):
    """One precondition of a rule within a search: the slots are places in ``Rule.types``."""

    atom: Atom
    """The precondition."""
    pattern: int
    """Place in ``Logic.patterns`` of the facts that may meet it."""
    bound: Pairs
    """Argument and slot of the placeholders that are bound before."""
    new: Pairs
    """Argument and slot of the placeholders that this precondition binds."""
    same_slots: Pairs
    """Pairs of arguments that are equal because one new placeholder stands at both."""


class CommandTemplate(NamedTuple):
    """The command of a rule, to be filled with the names of the entities bound."""

    text: str
    """The command with ``%s`` where a name goes."""
    slots: tuple[int, ...]
    """Whose names: places in ``Rule.types``."""


class RuleForm(NamedTuple):
    """The part of a rule with a command that is the same in every world."""

    rule: Rule
    """The rule."""
    command: CommandTemplate
    """Its command."""
    undo: CommandTemplate | None
    """The command of the rule that undoes it."""
    start: tuple[str | None, ...]
    """A binding in which only the constants are bound."""
    joins: tuple[Join, ...]
    """Preconditions in the order in which to look them up."""
    patterns: tuple[int, ...]
    """The patterns, each once: without a fact of every one it cannot apply."""
    free: tuple[tuple[int, frozenset[str]], ...]
    """Slot and types of each placeholder that no precondition mentions."""


@dataclass(frozen=True)
class Logic:
    """Everything that the knowledge base of a game says about how the game is played."""

    parents: Mapping[str, Types]
    """Type to its direct supertypes."""
    rules: tuple[Rule, ...]
    """All rules, sorted by name: the order in which TextWorld tries them."""
    reverses: Mapping[str, str]
    """Rule to the rule that undoes it, where one is declared."""
    commands: Mapping[str, str]
    """Rule to its command template, for example ``take {o} from {c}``."""

    @cached_property
    def constants(self) -> frozenset[str]:
        """Types with a single entity of the same name, such as ``P``: not a lower-case initial."""
        return frozenset(name for name in self.parents if name[0] == name[0].upper())

    @cached_property
    def children(self) -> dict[str, Types]:
        """Type to its direct subtypes, sorted by name."""
        children: dict[str, list[str]] = {name: [] for name in self.parents}
        for name, parents in self.parents.items():
            for parent in parents:
                children.setdefault(parent, []).append(name)
        return {name: tuple(sorted(names)) for name, names in children.items()}

    @cached_property
    def subtypes(self) -> dict[str, frozenset[str]]:
        """Type to itself and all types below it."""
        return {name: frozenset(_below(name, self.children)) for name in self.children}

    @cached_property
    def joins(self) -> dict[str, tuple[Join, ...]]:
        """Rule to its preconditions in the order in which to look them up."""
        places = {pattern: place for place, pattern in enumerate(self.patterns)}
        joins = {}
        for rule in self.rules:
            numbers = [places[pattern] for pattern in self._patterns_of(rule)]
            patterns = dict(zip(rule.preconditions, numbers, strict=True))
            joins[rule.name] = tuple(_order(rule, self.constants, patterns))
        return joins

    @cached_property
    def forms(self) -> dict[str, RuleForm]:
        """The rules that a command names; of one command, the action of the last one counts."""
        forms = [self._form(rule) for rule in self.rules if rule.name in self.commands]
        # It is the rule with the most conditions, else the first. (A meal of two ingredients also
        # meets the rule of one.)
        ordered = sorted(forms[::-1], key=lambda form: len(form.rule.preconditions))
        return {form.rule.name: form for form in ordered}

    @cached_property
    def patterns(self) -> tuple[Pattern, ...]:
        """The distinct patterns of facts in the preconditions of rules."""
        return tuple(
            dict.fromkeys([pattern for rule in self.rules for pattern in self._patterns_of(rule)])
        )

    @cached_property
    def fitting(self) -> Fitting:
        """Kind of a fact to the places of the patterns that such facts fit."""
        return Fitting(self.patterns)

    def _patterns_of(self, rule: Rule) -> list[Pattern]:
        """Return the pattern of each precondition of a rule."""
        types = rule.types
        return [
            (atom.name, tuple([self.subtypes.get(types[arg], frozenset()) for arg in atom.args]))
            for atom in rule.preconditions
        ]

    def _form(self, rule: Rule) -> RuleForm:
        """Prepare a rule that a command names; all its types must be declared."""
        fits = [self.subtypes[kind] for kind in rule.types.values()]
        joins = self.joins[rule.name]
        start = tuple([
            name if name == kind and kind in self.constants else None
            for name, kind in rule.types.items()
        ])  # fmt: skip
        bound = {arg for atom in rule.preconditions for arg in atom.args}
        free = tuple([
            (slot, fits[slot])
            for slot, name in enumerate(rule.types)
            if name not in bound and start[slot] is None
        ])  # fmt: skip
        patterns = tuple(dict.fromkeys([join.pattern for join in joins]))
        undo = self.commands.get(self.reverses.get(rule.name) or "")
        return RuleForm(
            rule,
            _template(self.commands[rule.name], rule),
            None if undo is None else _template(undo, rule),
            start,
            joins,
            patterns,
            free,
        )


def _template(command: str, rule: Rule) -> CommandTemplate:
    """Read a command such as ``take {o} from {c}``."""
    slots = {name: slot for slot, name in enumerate(rule.types)}
    pieces = FIELD.split(command.replace("%", "%%"))
    return CommandTemplate("%s".join(pieces[::2]), tuple([slots[name] for name in pieces[1::2]]))


def _without(atoms: tuple[Atom, ...], excluded: tuple[Atom, ...]) -> tuple[Atom, ...]:
    return tuple(dict.fromkeys([atom for atom in atoms if atom not in excluded]))


def _order(rule: Rule, constants: frozenset[str], patterns: Mapping[Atom, int]) -> Iterator[Join]:
    """Order the preconditions so that each has as much bound as can be when its turn comes."""
    slots = {name: slot for slot, name in enumerate(rule.types)}
    bound = {name for name, kind in rule.types.items() if name == kind and kind in constants}
    conditions = list(dict.fromkeys(rule.preconditions))
    while conditions:
        # The fewest unbound first; of these, the one with most bound arguments.
        loose = [
            len(set(atom.args) - bound) - 0.1 * len(bound & set(atom.args)) for atom in conditions
        ]
        atom = conditions.pop(loose.index(min(loose)))
        first: dict[str, int] = {}
        bound_slots, new, same_slots = [], [], []
        for place, name in enumerate(atom.args):
            if name in bound:
                bound_slots.append((place, slots[name]))
            elif name in first:
                same_slots.append((first[name], place))
            else:
                first[name] = place
                new.append((place, slots[name]))
        bound |= set(first)
        yield Join(atom, patterns[atom], tuple(bound_slots), tuple(new), tuple(same_slots))


def _below(name: str, children: Mapping[str, Types]) -> Iterator[str]:
    yield name
    for child in children.get(name, ()):
        yield from _below(child, children)


def ranks(types: Types, children: Mapping[str, Types]) -> dict[Types, int]:
    """Number the type signatures that fit a predicate, in the order TextWorld looks them up.

    The order is breadth-first from ``types`` through one replacement of one type by a direct
    subtype at a time. It decides which of two actions with the same command comes first.
    """
    order = {types: 0}
    queue = deque([types])
    while queue:
        for narrower in _narrower(queue.popleft(), children):
            if narrower not in order:
                order[narrower] = len(order)
                queue.append(narrower)
    return order


def _narrower(types: Types, children: Mapping[str, Types]) -> Iterable[Types]:
    for place, name in enumerate(types):
        for child in children.get(name, ()):
            yield (*types[:place], child, *types[place + 1 :])

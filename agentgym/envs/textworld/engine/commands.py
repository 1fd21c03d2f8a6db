"""Which actions a state admits, and the commands that name them.

A rule is joined over the facts of a state one precondition at a time, the most bound one first.
The result of a rule depends on few facts, so it is remembered under those: most states of a walk
are answered from memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agentgym.envs.textworld.engine.facts import Fact, FactTable, Pattern, Relevance
from agentgym.envs.textworld.engine.logic import FIELD, Atom, Logic, Rule, ranks
from agentgym.envs.textworld.engine.steps import Step, Steps

_REMEMBERED = 256


@dataclass(frozen=True, slots=True)
class Action:
    """One admissible action.

    ``bindings`` maps each placeholder of the rule to an entity, for example
    ``{"P": "P", "r": "r_0", "c": "c_1"}``.
    """

    name: str
    """Name of the rule, for example ``open/c``."""
    command: str
    """The command in words, for example ``open wooden chest``."""
    bindings: Mapping[str, str] = field(hash=False)
    """Placeholder to the id of the entity that it stands for."""
    added: tuple[Fact, ...]
    """Facts that it brings about, in the order of the rule."""
    removed: tuple[Fact, ...]
    """Facts that it ends, in the order of the rule."""

    @property
    def key(self) -> tuple[str, ...]:
        """Rule and entities: which action of its game this is."""
        return (self.name, *self.bindings.values())


class Ground:
    """A rule with an entity for each placeholder.

    Most are only named in a list of commands: the rest is made when it is asked for.

    Args:
        rule: The rule.
        binding: The entities.
        command: The command.
    """

    __slots__ = ("_action", "_rule", "_step", "binding", "command")

    def __init__(self, rule: BoundRule, binding: tuple[str, ...], command: str) -> None:
        self._rule = rule
        self.binding = binding
        self.command = command
        self._action: Action | None = None
        self._step: Step | None = None

    @property
    def action(self) -> Action:
        """What a player sees of it."""
        if self._action is None:
            self._action = self._rule.action(self)
        return self._action

    @property
    def step(self) -> Step:
        """What a plan sees of it."""
        if self._step is None:
            self._step = self._rule.step(self)
        return self._step


Choices = dict[str, Ground]
"""Command to what it does."""


_Join = tuple[Pattern, tuple[tuple[int, int], ...], tuple[tuple[int, int], ...], Any]
"""Pattern of a precondition; known, new and same arguments as in ``logic.Join``."""


class BoundRule:
    """A rule over the entities of one world.

    Args:
        rule: The rule.
        logic: The logic that it belongs to.
        table: Facts of the world.
        steps: Steps of the world.
        names: Entity to its name in commands.
        kinds: Entity to its type.
    """

    def __init__(
        self,
        rule: Rule,
        logic: Logic,
        table: FactTable,
        steps: Steps,
        names: Mapping[str, str],
        kinds: Mapping[str, str],
    ) -> None:
        self.rule = rule
        self._logic = logic
        self._table = table
        self._steps = steps
        self._names = names
        self._kinds = kinds
        self._start = [
            name if name == kind and kind in logic.constants else None
            for name, kind in rule.types.items()
        ]
        joins = logic.joins[rule.name]
        patterns = [self._pattern(join.atom) for join in joins]
        self._joins: tuple[_Join, ...] = tuple(
            (pattern, join.known, join.new, join.same)
            for pattern, join in zip(patterns, joins, strict=True)
        )
        self._relevance = Relevance(patterns)
        bound = {arg for atom in rule.preconditions for arg in atom.args}
        self._free = [
            (slot, sorted(name for name, kind in kinds.items() if kind in logic.subtypes[free]))
            for slot, (placeholder, free) in enumerate(rule.types.items())
            if placeholder not in bound and self._start[slot] is None
        ]
        self._grounds: dict[tuple[str, ...], Ground] = {}
        self._memory: dict[int, Choices] = {}
        reverse = logic.reverses.get(rule.name)
        self._commands = (logic.commands[rule.name], logic.commands.get(reverse or ""))

    def choices(self, facts: int) -> Choices:
        """Give what the rule admits.

        Args:
            facts: Bits of the facts of a state.

        Returns:
            Command to action; of several actions with one command, the one that TextWorld
            finds first. Do not change it.
        """
        key = facts & self._relevance.mask
        found = self._memory.get(key)
        if found is None:
            if len(self._memory) >= _REMEMBERED:
                self._memory.clear()
            found = self._memory[key] = self._search(facts)
        return found

    def _search(self, facts: int) -> Choices:
        if not all([facts & join[0].total for join in self._joins]):
            return {}
        bindings: list[tuple[str, ...]] = []
        self._extend(0, facts, list(self._start), bindings)
        found: Choices = {}
        for binding in bindings:
            ground = self.ground(binding)
            other = found.setdefault(ground.command, ground)
            if other is not ground and self._place(ground) < self._place(other):
                found[ground.command] = ground
        return found

    def _extend(
        self, depth: int, facts: int, binding: list[str | None], found: list[tuple[str, ...]]
    ) -> None:
        """Bind the placeholders of the joins from ``depth`` on in every way that holds."""
        if depth == len(self._joins):
            found.extend(_filled(binding, self._free))
            return
        pattern, known, new, same = self._joins[depth]
        live = facts & pattern.total
        for place, slot in known:
            live &= pattern.where[place].get(binding[slot], 0)  # type: ignore[arg-type]
        if not new:
            if live:
                self._extend(depth + 1, facts, binding, found)
            return
        for fact in self._table.facts(live):
            if same and any(fact[one + 1] != fact[other + 1] for one, other in same):
                continue
            for place, slot in new:
                # Two placeholders never stand for one entity.
                if fact[place + 1] in binding:
                    break
                binding[slot] = fact[place + 1]
            else:
                self._extend(depth + 1, facts, binding, found)
            for _, slot in new:
                binding[slot] = None

    def _pattern(self, atom: Atom) -> Pattern:
        subtypes, types = self._logic.subtypes, self.rule.types
        return self._table.pattern(atom.name, tuple([subtypes[types[arg]] for arg in atom.args]))

    def ground(self, binding: tuple[str, ...]) -> Ground:
        """Bind the rule: one entity for each placeholder."""
        found = self._grounds.get(binding)
        if found is None:
            entities = dict(zip(self.rule.types, binding, strict=True))
            command = fill(self._commands[0], entities, self._names)
            found = self._grounds.setdefault(binding, Ground(self, binding, command))
        return found

    def action(self, ground: Ground) -> Action:
        """Describe a binding of this rule to a player."""
        rule, bindings = self.rule, self._bindings(ground)
        return Action(
            rule.name,
            ground.command,
            bindings,
            tuple(facts(rule.added, bindings)),
            tuple(facts(rule.removed, bindings)),
        )

    def step(self, ground: Ground) -> Step:
        """Describe a binding of this rule to the plans."""
        rule, bindings = self.rule, self._bindings(ground)
        undo = self._commands[1]
        return self._steps.make(
            rule.name,
            self._table.mask(facts(rule.preconditions, bindings)),
            self._table.mask(facts(rule.postconditions, bindings)),
            (ground.command, None if undo is None else fill(undo, bindings, self._names)),
            proper=rule.proper,
        )

    def binding(self, before: Sequence[Fact], after: Sequence[Fact]) -> tuple[str, ...]:
        """Read the binding off an action of this rule: its facts stand in the rule's order.

        Args:
            before: Facts of the preconditions.
            after: Facts of the postconditions.
        """
        atoms = (*self.rule.preconditions, *self.rule.postconditions)
        found = {
            arg: entity
            for atom, fact in zip(atoms, (*before, *after), strict=True)
            for arg, entity in zip(atom.args, fact[1:], strict=True)
        }
        return tuple([found[name] for name in self.rule.types])

    def _bindings(self, ground: Ground) -> dict[str, str]:
        return dict(zip(self.rule.types, ground.binding, strict=True))

    def _place(self, ground: Ground) -> tuple[object, ...]:
        """Say where TextWorld's search meets an action: a depth-first path through its facts."""
        atoms, types, children = self.rule.preconditions, self.rule.types, self._logic.children
        path: list[object] = []
        for atom, fact in zip(atoms, facts(atoms, self._bindings(ground)), strict=True):
            order = ranks(tuple([types[arg] for arg in atom.args]), children)
            path.append((order[tuple([self._kinds[entity] for entity in fact[1:]])], fact))
        return (*path, ground.binding)


def facts(atoms: Sequence[Atom], bindings: Mapping[str, str]) -> list[Fact]:
    """Put entities in the place of placeholders."""
    return [(atom.name, *[bindings[arg] for arg in atom.args]) for atom in atoms]


def _filled(
    binding: Sequence[str | None], free: Sequence[tuple[int, Sequence[str]]]
) -> Iterator[tuple[str, ...]]:
    """Complete a binding with every entity for what no precondition mentions.

    TextWorld takes these entities in the order of a Python set, which differs from run to run;
    here they come sorted.
    """
    if not free:
        yield tuple(binding)  # type: ignore[arg-type]
        return
    (slot, entities), *rest = free
    for entity in entities:
        if entity not in binding:
            yield from _filled([*binding[:slot], entity, *binding[slot + 1 :]], rest)


def fill(template: str, bindings: Mapping[str, str], names: Mapping[str, str]) -> str:
    """Put names into a command template.

    Args:
        template: For example ``take {o} from {c}``.
        bindings: Placeholder to entity.
        names: Entity to its name.

    Returns:
        For example ``take red apple from fridge``.
    """
    parts = FIELD.split(template)  # Text and placeholders in turn.
    parts[1::2] = [names[bindings[placeholder]] for placeholder in parts[1::2]]
    return "".join(parts)

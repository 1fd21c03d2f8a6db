"""Which actions a state admits, and the commands that name them.

A rule is joined over the facts of a state one precondition at a time, the most bound one first.
The result of a rule depends on few facts, so it is remembered under those: most states of a walk
are answered from memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from agentgym.caching import BoundedCache
from agentgym.envs.textworld.engine.facts import FactTable
from agentgym.envs.textworld.engine.logic import FIELD, Atom, Logic, RuleForm, ranks
from agentgym.envs.textworld.engine.steps import Step, Steps
from agentgym.envs.textworld.session import Fact

_REMEMBERED = 256


class Action:
    """A rule with an entity for each placeholder: one thing that can be done.

    Most are only named in a list of commands: the rest is made when it is asked for. Equal ones of
    one world are one object.
    """

    __slots__ = ("_rule", "_step", "binding", "command")

    def __init__(self, rule: BoundRule, binding: tuple[str, ...], command: str) -> None:
        self._rule = rule
        self.binding = binding
        self.command = command
        self._step: Step | None = None

    @property
    def name(self) -> str:
        """Name of the rule, for example ``open/c``."""
        return self._rule.rule.name

    @property
    def bindings(self) -> dict[str, str]:
        """Placeholders to entities, for example ``{"P": "P", "r": "r_0", "c": "c_1"}``."""
        return dict(zip(self._rule.rule.types, self.binding, strict=True))

    @property
    def step(self) -> Step:
        """What a plan sees of it."""
        if self._step is None:
            self._step = self._rule.step(self)
        return self._step


Actions = dict[str, Action]
"""Command to what it does."""


class BoundRule:
    """A rule over the entities of one world.

    Args:
        form: The rule.
        logic: The logic that it belongs to.
        table: Facts of the world.
        steps: Steps of the world.
        names: Entity to its name in commands.
        kinds: Entity to its type.
    """

    def __init__(
        self,
        form: RuleForm,
        logic: Logic,
        table: FactTable,
        steps: Steps,
        names: Mapping[str, str],
        kinds: Mapping[str, str],
    ) -> None:
        self.rule = form.rule
        self._form = form
        self._logic = logic
        self._table = table
        self._steps = steps
        self._names = names
        self._kinds = kinds
        self._free = [
            (slot, sorted(name for name, kind in kinds.items() if kind in fit))
            for slot, fit in form.free
        ]
        self._actions: dict[tuple[str, ...], Action] = {}
        self._memory: BoundedCache[int, Actions] = BoundedCache(_REMEMBERED)

    def actions(self, live: Sequence[int]) -> Actions:
        """Give what the rule admits in a state; do not change it.

        Of several actions with one command it is the one that TextWorld finds first.

        Args:
            live: For each pattern of the logic, the bits of the facts of the state that fit it.
        """
        key = 0
        for join in self._form.joins:
            key |= live[join.pattern]
        found = self._memory.get(key)
        if found is None:
            found = self._memory.put(key, self._search(live))
        return found

    def _search(self, live: Sequence[int]) -> Actions:
        bindings: list[tuple[str, ...]] = []
        self._extend(0, live, list(self._form.start), bindings)
        found: Actions = {}
        for binding in bindings:
            action = self.action(binding)
            other = found.setdefault(action.command, action)
            if other is not action and self._place(action) < self._place(other):
                found[action.command] = action
        return found

    def _extend(
        self,
        depth: int,
        live: Sequence[int],
        binding: list[str | None],
        found: list[tuple[str, ...]],
    ) -> None:
        """Bind the placeholders of the joins from ``depth`` on in every way that holds."""
        if depth == len(self._form.joins):
            found.extend(_filled(binding, self._free))
            return
        _, pattern, known, new, same = self._form.joins[depth]
        facts, about = live[pattern], self._table.about
        for place, slot in known:
            facts &= about.get((place, binding[slot]), 0)  # type: ignore[arg-type]
        if not new:
            if facts:
                self._extend(depth + 1, live, binding, found)
            return
        for fact in self._table.facts(facts):
            if same and any(fact[one + 1] != fact[other + 1] for one, other in same):
                continue
            for place, slot in new:
                # Two placeholders never stand for one entity.
                if fact[place + 1] in binding:
                    break
                binding[slot] = fact[place + 1]
            else:
                self._extend(depth + 1, live, binding, found)
            for _, slot in new:
                binding[slot] = None

    def action(self, binding: tuple[str, ...]) -> Action:
        """Bind the rule: one entity for each placeholder."""
        found = self._actions.get(binding)
        if found is None:
            entities = dict(zip(self.rule.types, binding, strict=True))
            command = fill(self._form.commands[0], entities, self._names)
            found = self._actions.setdefault(binding, Action(self, binding, command))
        return found

    def step(self, action: Action) -> Step:
        """Describe a binding of this rule to the plans."""
        rule, bindings = self.rule, action.bindings
        undo = self._form.commands[1]
        return self._steps.make(
            rule.name,
            self._table.mask(facts(rule.preconditions, bindings)),
            self._table.mask(facts(rule.postconditions, bindings)),
            (action.command, None if undo is None else fill(undo, bindings, self._names)),
            proper=rule.proper,
        )

    def binding(self, before: Sequence[Fact], after: Sequence[Fact]) -> tuple[str, ...]:
        """Read the binding off an action of this rule: its facts stand in the rule's order."""
        atoms = (*self.rule.preconditions, *self.rule.postconditions)
        found = {
            arg: entity
            for atom, fact in zip(atoms, (*before, *after), strict=True)
            for arg, entity in zip(atom.args, fact[1:], strict=True)
        }
        return tuple([found[name] for name in self.rule.types])

    def _place(self, action: Action) -> tuple[object, ...]:
        """Say where TextWorld's search meets an action: a depth-first path through its facts."""
        atoms, types, children = self.rule.preconditions, self.rule.types, self._logic.children
        path: list[object] = []
        for atom, fact in zip(atoms, facts(atoms, action.bindings), strict=True):
            order = ranks(tuple([types[arg] for arg in atom.args]), children)
            path.append((order[tuple([self._kinds[entity] for entity in fact[1:]])], fact))
        return (*path, action.binding)


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
    """Put the names of entities into a command template such as ``take {o} from {c}``."""
    parts = list(_pieces(template))
    parts[1::2] = [names[bindings[placeholder]] for placeholder in parts[1::2]]
    return "".join(parts)


@lru_cache(maxsize=1 << 12)  # games of one setting share most templates
def _pieces(template: str) -> tuple[str, ...]:
    """Return text and placeholders of a template in turn."""
    return tuple(FIELD.split(template))

"""Which actions a state admits, and the commands that name them.

A rule is joined over the facts of a state one precondition at a time, the most bound one first.
The result of a rule depends on few facts, so it is remembered under those: most states of a walk
are answered from memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from agentgym.envs.textworld.engine.facts import FactTable
from agentgym.envs.textworld.engine.logic import (
    FIELD,
    Atom,
    CommandTemplate,
    Logic,
    Pairs,
    RuleForm,
    ranks,
)  # fmt: skip
from agentgym.envs.textworld.engine.steps import PlanStep, StepTable
from agentgym.envs.textworld.session import Fact
from agentgym.support.caching import BoundedCache

_REMEMBERED = 4096


Binding = list[str | None]
"""An entity for each placeholder of a rule; None where it is still open."""
Bound = tuple[str, ...]
"""An entity for each placeholder of a rule."""


class GroundAction(NamedTuple):
    """A rule with an entity for each placeholder: one thing that can be done.

    Equal ones of one world are one object.
    """

    form: RuleForm
    """The rule."""
    binding: Bound
    """Its entities."""
    command: str
    """The command that names it."""
    step: PlanStep
    """The action as plans use it."""

    @property
    def name(self) -> str:
        """Name of the rule, for example ``open/c``."""
        return self.form.rule.name

    @property
    def bindings(self) -> dict[str, str]:
        """Placeholders to entities, for example ``{"P": "P", "r": "r_0", "c": "c_1"}``."""
        return _by_placeholder(self.form, self.binding)


class Admitted:
    """The admissible commands of a state, with actions built on first use: most are never taken.

    Args:
        rules: The rules.
        bindings_by_rule: Name of a rule to its commands and what each binds, in the order of the
            rules.
    """

    __slots__ = ("_bindings_by_rule", "_rules", "commands")

    def __init__(self, rules: BoundRules, bindings_by_rule: dict[str, dict[str, Bound]]) -> None:
        self._rules = rules
        self._bindings_by_rule = bindings_by_rule
        self.commands = tuple(sorted(set().union(*bindings_by_rule.values())))
        """The commands, sorted."""

    def action(self, command: str) -> GroundAction | None:
        """Return the action of a command, None if there is none; the last rule wins."""
        for name, bindings in reversed(self._bindings_by_rule.items()):
            if command in bindings:
                return self._rules.action(name, bindings[command])
        return None


class BoundRules:
    """The rules of a logic over the entities of one world.

    Args:
        logic: The logic.
        table: Facts of the world.
        steps: Steps of the world.
        names: Entity to its name in commands.
        kinds: Entity to its type.
    """

    def __init__(
        self,
        logic: Logic,
        table: FactTable,
        steps: StepTable,
        names: Mapping[str, str],
        kinds: Mapping[str, str],
    ) -> None:
        self._logic = logic
        self._forms = logic.forms
        self._table = table
        self._steps = steps
        self._names = names
        self._kinds = kinds
        self._actions: dict[tuple[str, Bound], GroundAction] = {}
        self._memory: BoundedCache[tuple[str, int], dict[str, Bound]] = BoundedCache(_REMEMBERED)

    def admitted(self, facts: int) -> Admitted:
        """Return the admissible commands of a state."""
        live = [fitting & facts for fitting in self._table.fitting]
        bindings_by_rule = {}
        for name, form in self._forms.items():
            relevant = 0
            for pattern in form.patterns:
                if not live[pattern]:
                    break
                relevant |= live[pattern]
            else:
                bindings_by_rule[name] = self._commands(form, live, relevant)
        return Admitted(self, bindings_by_rule)

    def _commands(self, form: RuleForm, live: Sequence[int], relevant: int) -> dict[str, Bound]:
        """Return the commands that a rule admits in a state, and the entities that each binds.

        Of several actions with one command it is the one that TextWorld finds first.

        Args:
            form: The rule.
            live: The facts of the state that fit each pattern.
            relevant: The facts that the rule can match, which are the key of the cached answer.
        """
        key = (form.rule.name, relevant)
        commands = self._memory.get(key)
        if commands is None:
            commands = {}
            for binding in self._bindings(form, live):
                command = self._command(form.command, binding)
                first_binding = commands.setdefault(command, binding)
                if first_binding is not binding and self._place(form, binding) < self._place(
                    form, first_binding
                ):
                    commands[command] = binding
            self._memory.put(key, commands)
        return commands

    def _bindings(self, form: RuleForm, live: Sequence[int]) -> list[Bound]:
        """Bind the placeholders in every way that holds, one precondition after another."""
        about = self._table.about
        bindings: list[Binding] = [[*form.start]]
        for _, pattern, bound, new, same_slots in form.joins:
            longer: list[Binding] = []
            for binding in bindings:
                facts = live[pattern]
                for place, slot in bound:
                    facts &= about[place].get(binding[slot], 0)  # type: ignore[arg-type]
                if new and facts:
                    self._extend(longer, binding, facts, new, same_slots)
                elif facts:
                    longer.append(binding)
            if not longer:
                return []
            bindings = longer
        if form.free:
            free = [
                (slot, sorted(name for name, kind in self._kinds.items() if kind in fit))
                for slot, fit in form.free
            ]
            return [completion for binding in bindings for completion in _filled(binding, free)]
        return [*map(tuple, bindings)]  # type: ignore[list-item]  # every placeholder is bound now

    def _extend(
        self, longer: list[Binding], binding: Binding, facts: int, new: Pairs, same_slots: Pairs
    ) -> None:
        """Bind new placeholders to the entities of facts, in every way."""
        for fact in self._table.facts(facts):
            if same_slots and any(
                fact[first + 1] != fact[second + 1] for first, second in same_slots
            ):
                continue
            extended = binding.copy()
            for place, slot in new:
                # Two placeholders never stand for one entity.
                if fact[place + 1] in extended:
                    break
                extended[slot] = fact[place + 1]
            else:
                longer.append(extended)

    def action(self, name: str, binding: Bound) -> GroundAction:
        """Bind a rule, given by its name, that a command names.

        Raises:
            KeyError: No command names such a rule.
        """
        cached = self._actions.get((name, binding))
        if cached is None:
            form = self._forms[name]
            rule, entities = form.rule, _by_placeholder(form, binding)
            command = self._command(form.command, binding)
            undo = None if form.undo is None else self._command(form.undo, binding)
            preconditions, postconditions = (
                self._table.mask(facts(atoms, entities))
                for atoms in (rule.preconditions, rule.postconditions)
            )
            step = self._steps.make(
                name, preconditions, postconditions, (command, undo), proper=rule.proper
            )
            action = GroundAction(form, binding, command, step)
            cached = self._actions.setdefault((name, binding), action)
        return cached

    def _command(self, template: CommandTemplate, binding: Bound) -> str:
        """Write the command of a bound rule."""
        names = self._names
        return template.text % tuple([names[binding[slot]] for slot in template.slots])

    def read_action(
        self, name: str, preconditions: Sequence[Fact], postconditions: Sequence[Fact]
    ) -> GroundAction:
        """Find the action of a rule by its facts, which stand in the rule's order.

        Raises:
            KeyError: No command names such a rule.
        """
        rule = self._forms[name].rule
        atoms = (*rule.preconditions, *rule.postconditions)
        entities = {
            arg: entity
            for atom, fact in zip(atoms, (*preconditions, *postconditions), strict=True)
            for arg, entity in zip(atom.args, fact[1:], strict=True)
        }
        return self.action(name, tuple([entities[placeholder] for placeholder in rule.types]))

    def _place(self, form: RuleForm, binding: Bound) -> tuple[object, ...]:
        """Say where TextWorld's search meets an action: a depth-first path through its facts."""
        rule, children = form.rule, self._logic.children
        atoms, types = rule.preconditions, rule.types
        path: list[object] = []
        for atom, fact in zip(atoms, facts(atoms, _by_placeholder(form, binding)), strict=True):
            order = ranks(tuple([types[arg] for arg in atom.args]), children)
            path.append((order[tuple([self._kinds[entity] for entity in fact[1:]])], fact))
        return (*path, binding)


def _by_placeholder(form: RuleForm, binding: Bound) -> dict[str, str]:
    return dict(zip(form.rule.types, binding, strict=True))


def facts(atoms: Sequence[Atom], bindings: Mapping[str, str]) -> list[Fact]:
    """Put entities in the place of placeholders."""
    return [(atom.name, *[bindings[arg] for arg in atom.args]) for atom in atoms]


def _filled(
    binding: Sequence[str | None], free: Sequence[tuple[int, Sequence[str]]]
) -> Iterator[tuple[str, ...]]:
    """Complete a binding with every entity for placeholders that no precondition mentions.

    TextWorld takes these entities in the order of a Python set, which differs from run to run;
    here they come sorted.
    """
    if not free:
        yield tuple(binding)  # type: ignore[arg-type]
        return
    (slot, entities), *other_slots = free
    for entity in entities:
        if entity not in binding:
            yield from _filled([*binding[:slot], entity, *binding[slot + 1 :]], other_slots)


def fill(template: str, names: Mapping[str, str]) -> str:
    """Put names into a command template such as ``take {o_1} from {c_0}``."""
    parts = list(_pieces(template))
    parts[1::2] = [names[placeholder] for placeholder in parts[1::2]]
    return "".join(parts)


@lru_cache(maxsize=1 << 12)  # games of one setting share most templates
def _pieces(template: str) -> tuple[str, ...]:
    """Return text and placeholders of a template in turn."""
    return tuple(FIELD.split(template))

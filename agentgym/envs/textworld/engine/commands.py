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
from agentgym.envs.textworld.engine.logic import (
    FIELD,
    Atom,
    Logic,
    Pairs,
    RuleForm,
    Template,
    ranks,
)  # fmt: skip
from agentgym.envs.textworld.engine.steps import Step, Steps
from agentgym.envs.textworld.session import Fact

_REMEMBERED = 4096


class Action:
    """A rule with an entity for each placeholder: one thing that can be done.

    Most are only named in a list of commands: the rest is made when it is asked for. Equal ones of
    one world are one object.
    """

    __slots__ = ("_rules", "_step", "binding", "command", "form")

    def __init__(
        self, rules: Rules, form: RuleForm, binding: tuple[str, ...], command: str
    ) -> None:
        self._rules = rules
        self.form = form
        self.binding = binding
        self.command = command
        self._step: Step | None = None

    @property
    def name(self) -> str:
        """Name of the rule, for example ``open/c``."""
        return self.form.rule.name

    @property
    def bindings(self) -> dict[str, str]:
        """Placeholders to entities, for example ``{"P": "P", "r": "r_0", "c": "c_1"}``."""
        return dict(zip(self.form.rule.types, self.binding, strict=True))

    @property
    def step(self) -> Step:
        """What a plan sees of it."""
        if self._step is None:
            self._step = self._rules.step(self)
        return self._step


Binding = tuple[str | None, ...]
"""An entity for each placeholder of a rule; None where it is still open."""
Actions = dict[str, Action]
"""Command to what it does."""


class Rules:
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
        steps: Steps,
        names: Mapping[str, str],
        kinds: Mapping[str, str],
    ) -> None:
        self._logic = logic
        self._forms = logic.forms
        self._table = table
        self._steps = steps
        self._names = names
        self._kinds = kinds
        self._actions: dict[tuple[str, tuple[str, ...]], Action] = {}
        self._memory: BoundedCache[tuple[str, int], Actions] = BoundedCache(_REMEMBERED)

    def actions(self, facts: int) -> Actions:
        """Give what a state admits; of one command, what the last rule makes of it counts."""
        live = [fitting & facts for fitting in self._table.fitting]
        merged: Actions = {}
        for form in self._forms.values():
            relevant = 0
            for pattern in form.patterns:
                if not live[pattern]:
                    break
                relevant |= live[pattern]
            else:
                merged.update(self._admitted(form, live, relevant))
        return merged

    def _admitted(self, form: RuleForm, live: Sequence[int], relevant: int) -> Actions:
        """Give what a rule admits in a state.

        Of several actions with one command it is the one that TextWorld finds first.

        Args:
            form: The rule.
            live: The facts of the state that fit each pattern.
            relevant: Those that the rule can see, by which the answer is remembered.
        """
        key = (form.rule.name, relevant)
        found = self._memory.get(key)
        if found is None:
            found = {}
            for binding in self._bindings(form, live):
                action = self.action(form, binding)
                other = found.setdefault(action.command, action)
                if other is not action and self._place(action) < self._place(other):
                    found[action.command] = action
            self._memory.put(key, found)
        return found

    def _bindings(self, form: RuleForm, live: Sequence[int]) -> list[tuple[str, ...]]:
        """Bind the placeholders in every way that holds, one precondition after another."""
        about = self._table.about
        bindings = [form.start]
        for _, pattern, known, new, same in form.joins:
            longer: list[Binding] = []
            for binding in bindings:
                facts = live[pattern]
                for place, slot in known:
                    facts &= about.get((place, binding[slot]), 0)  # type: ignore[arg-type]
                if new and facts:
                    self._extend(longer, binding, facts, new, same)
                elif facts:
                    longer.append(binding)
            bindings = longer
        if form.free and bindings:
            free = [
                (slot, sorted(name for name, kind in self._kinds.items() if kind in fit))
                for slot, fit in form.free
            ]
            bindings = [each for binding in bindings for each in _filled(binding, free)]
        return bindings  # type: ignore[return-value]  # every placeholder is bound now

    def _extend(
        self, longer: list[Binding], binding: Binding, facts: int, new: Pairs, same: Pairs
    ) -> None:
        """Bind new placeholders to what facts are about, in every way."""
        for fact in self._table.facts(facts):
            if same and any(fact[one + 1] != fact[other + 1] for one, other in same):
                continue
            extended = binding
            for place, slot in new:
                # Two placeholders never stand for one entity.
                if fact[place + 1] in extended:
                    break
                extended = (*extended[:slot], fact[place + 1], *extended[slot + 1 :])
            else:
                longer.append(extended)

    def action(self, form: RuleForm, binding: tuple[str, ...]) -> Action:
        """Bind a rule: one entity for each placeholder."""
        key = (form.rule.name, binding)
        found = self._actions.get(key)
        if found is None:
            command = self._command(form.command, binding)
            found = self._actions.setdefault(key, Action(self, form, binding, command))
        return found

    def _command(self, template: Template, binding: Sequence[str]) -> str:
        """Write the command of a bound rule."""
        names = self._names
        return template.text % tuple([names[binding[slot]] for slot in template.slots])

    def step(self, action: Action) -> Step:
        """Describe an action to the plans."""
        rule, bindings, undo = action.form.rule, action.bindings, action.form.undo
        return self._steps.make(
            rule.name,
            self._table.mask(facts(rule.preconditions, bindings)),
            self._table.mask(facts(rule.postconditions, bindings)),
            (action.command, None if undo is None else self._command(undo, action.binding)),
            proper=rule.proper,
        )

    def read(self, name: str, before: Sequence[Fact], after: Sequence[Fact]) -> Action:
        """Find the action of a rule by its facts, which stand in the rule's order.

        Raises:
            KeyError: No command names such a rule.
        """
        form = self._forms[name]
        rule = form.rule
        atoms = (*rule.preconditions, *rule.postconditions)
        found = {
            arg: entity
            for atom, fact in zip(atoms, (*before, *after), strict=True)
            for arg, entity in zip(atom.args, fact[1:], strict=True)
        }
        return self.action(form, tuple([found[name] for name in rule.types]))

    def _place(self, action: Action) -> tuple[object, ...]:
        """Say where TextWorld's search meets an action: a depth-first path through its facts."""
        rule, children = action.form.rule, self._logic.children
        atoms, types = rule.preconditions, rule.types
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


def fill(template: str, names: Mapping[str, str]) -> str:
    """Put names into a command template such as ``take {o_1} from {c_0}``."""
    parts = list(_pieces(template))
    parts[1::2] = [names[placeholder] for placeholder in parts[1::2]]
    return "".join(parts)


@lru_cache(maxsize=1 << 12)  # games of one setting share most templates
def _pieces(template: str) -> tuple[str, ...]:
    """Return text and placeholders of a template in turn."""
    return tuple(FIELD.split(template))

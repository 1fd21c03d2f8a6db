"""A TextWorld game, read from its JSON: everything that play needs and never changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from agentgym.caching import BoundedCache
from agentgym.envs.textworld.engine.commands import Actions, BoundRule, fill
from agentgym.envs.textworld.engine.dependency_tree import TreeCache
from agentgym.envs.textworld.engine.facts import FactTable
from agentgym.envs.textworld.engine.quests import TRIGGER, Event, Quest, begin
from agentgym.envs.textworld.engine.rule_parser import parse
from agentgym.envs.textworld.engine.steps import Commands, Step, Steps
from agentgym.envs.textworld.session import Fact
from agentgym.errors import DataError

_VERSION = 1
_REMEMBERED = 512
_Data = Mapping[str, Any]


class Admitted:
    """What a state admits."""

    __slots__ = ("actions", "commands")

    def __init__(self, actions: Actions) -> None:
        self.actions = actions
        """Command to action."""
        self.commands = tuple(sorted(actions))
        """The commands, sorted."""


class World:
    """A game that any number of machines can play at once. Make one with ``World.of``.

    It only ever grows in what it remembers of states met before; nothing that it answers depends
    on what was asked before.
    """

    def __init__(self, game: Mapping[str, Any]) -> None:
        self.game = game
        """The JSON that it was made of."""
        self.logic = parse(game["KB"]["logic"])
        """Rules and commands."""
        # Everything is read before anything is bound, as a quest can be about entities of its own.
        reader = _GameReader(game)
        self.names = reader.names
        """Entity to its name in commands, in the order of the game."""
        self.table = FactTable(reader.kinds)
        """The facts that this world has met, as bits."""
        self.steps = Steps(self.table, self.logic.reverses)
        """The steps of plans."""
        self._bind = partial(
            BoundRule, logic=self.logic, table=self.table, steps=self.steps, names=self.names,
            kinds=reader.kinds,
        )  # fmt: skip
        self._rules: list[BoundRule | None] = [None] * len(self.logic.forms)
        self.initial = self.table.mask(reader.facts)
        """Bits of the facts at the start."""
        builder = _QuestBuilder(self)
        self.quests = tuple([builder.quest(*source) for source in reader.quests])
        """Quests, in the order of the game."""
        self._admitted: BoundedCache[int, Admitted] = BoundedCache(_REMEMBERED)
        self.trees = TreeCache(self.steps)
        """The trees of plans."""
        self.beginning = tuple(begin(quest, self.initial, self.trees) for quest in self.quests)
        """Progress of the quests at the start."""

    @classmethod
    def of(cls, game: Mapping[str, Any]) -> World:
        """Read the JSON of a TextWorld 1.x game. It is kept and must not be changed.

        Raises:
            DataError: It is no such game.
        """
        if game.get("version", _VERSION) != _VERSION:
            raise DataError(
                f"expected a TextWorld game of version {_VERSION}, got {game['version']!r}; "
                "generate the game with TextWorld 1.x"
            )
        try:
            return cls(game)
        except (KeyError, TypeError, AttributeError, IndexError) as error:
            raise DataError(
                f"expected the JSON of a TextWorld game, got one without {error}; "
                "pass what textworld.Game.serialize() returns"
            ) from error

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as the JSON."""
        return World.of, (self.game,)

    def __deepcopy__(self, memo: dict[int, Any]) -> World:
        """Share: nothing that a world answers ever changes."""
        return self

    def admitted(self, facts: int) -> Admitted:
        """Give what the state with these facts admits."""
        found = self._admitted.get(facts)
        if found is None:
            found = self._admitted.put(facts, Admitted(self._actions(facts)))
        return found

    def _actions(self, facts: int) -> Actions:
        """Find what every rule allows; of one command, what the last rule says counts."""
        live, present = [0] * len(self.logic.patterns), 0
        for kinds, bits in list(self.table.alike.items()):  # other threads may add some
            if bits & facts:
                for place in self.logic.fitting(*kinds):
                    live[place] |= bits & facts
                    present |= 1 << place
        merged: Actions = {}
        for number, form in enumerate(self.logic.forms):
            if form.needs & ~present == 0:
                merged.update(self._rule(number).actions(live))
        return merged

    def _rule(self, number: int) -> BoundRule:
        """Bind a rule, or find it: some never apply in a world."""
        rule = self._rules[number]
        if rule is None:
            rule = self._rules[number] = self._bind(self.logic.forms[number])
        return rule

    def rule(self, name: str) -> BoundRule:
        """Return a rule that a command names.

        Raises:
            KeyError: There is none of this name.
        """
        for number, form in enumerate(self.logic.forms):
            if form.rule.name == name:
                return self._rule(number)
        raise KeyError(name)


@dataclass(frozen=True, slots=True, eq=False)
class _ActionSource:
    """An action of a walkthrough. Equal ones of one game are one object."""

    name: str
    """Name of the rule."""
    before: tuple[Fact, ...]
    """Conditions."""
    after: tuple[Fact, ...]
    """What holds in place of them afterwards."""
    templates: tuple[str | None, str | None]
    """Command, and command that undoes it, with entities in braces; None where not said."""
    undone_by: str | None
    """Rule that undoes it; None where not said."""


_EventSource = tuple[tuple[Fact, ...], tuple[_ActionSource, ...]]
"""Conditions of an event, and a way to bring it about; empty where none is known."""


class _GameReader:
    """The JSON of a game as plain values, before anything is made of it."""

    def __init__(self, game: _Data) -> None:
        self.kinds: dict[str, str] = {}
        """Entity to its type."""
        # Events repeat the actions of one walkthrough: to compare is cheaper than to read again.
        self._actions: dict[tuple[str, str | None], tuple[_Data, _ActionSource]] = {}
        self.facts = self._facts(game["world"])
        """Facts at the start."""
        self.quests = [
            (self._events(quest["win_events"]), self._events(quest["fail_events"]), quest)
            for quest in game["quests"]
        ]
        """Winning events, failing events and the rest of each quest, in order."""
        self.names = {key: info.get("name") or "" for key, info in game["infos"]}
        """Entity to the name that a player uses; empty for what no player meets."""
        for key, info in game["infos"]:
            self.kinds.setdefault(key, info["type"])

    def _facts(self, items: Iterable[_Data]) -> tuple[Fact, ...]:
        facts = []
        for item in items:
            fact = [item["name"]]
            for argument in item["arguments"]:
                name, kind = argument["name"], argument["type"]
                if self.kinds.setdefault(name, kind) != kind:
                    raise DataError(
                        f"expected one type for the entity {name!r}, got {self.kinds[name]!r} "
                        f"and {kind!r}; generate the damaged game again"
                    )
                fact.append(name)
            facts.append(tuple(fact))
        return tuple(facts)

    def _events(self, events: Iterable[_Data]) -> list[_EventSource]:
        return [
            (
                self._facts(event["condition"]["preconditions"]),
                tuple([self._action(action) for action in event["actions"]]),
            )
            for event in events
        ]

    def _action(self, data: _Data) -> _ActionSource:
        key = (data["name"], data.get("command_template"))
        known = self._actions.get(key)
        if known is None or known[0] != data:
            action = _ActionSource(
                name=data["name"],
                before=self._facts(data["preconditions"]),
                after=self._facts(data["postconditions"]),
                templates=(data.get("command_template"), data.get("reverse_command_template")),
                undone_by=data.get("reverse_name"),
            )
            known = self._actions[key] = (data, action)
        return known[1]


class _QuestBuilder:
    """Make the quests of a world."""

    def __init__(self, world: World) -> None:
        self._table, self._steps, self._names = world.table, world.steps, world.names
        self._rule = world.rule
        self._known: dict[_ActionSource, Step] = {}

    def quest(
        self, wins: Iterable[_EventSource], fails: Iterable[_EventSource], data: _Data
    ) -> Quest:
        """Make a quest of its events and the rest of its JSON."""
        return Quest(
            tuple([self._event(*event) for event in wins]),
            tuple([self._event(*event) for event in fails]),
            data["reward"],
            optional=bool(data.get("optional", False)),
            repeatable=bool(data.get("repeatable", False)),
        )

    def _event(self, conditions: tuple[Fact, ...], actions: tuple[_ActionSource, ...]) -> Event:
        condition = self._table.mask(conditions)
        if not actions:
            return Event(condition, ())
        plan = [self._step(action) for action in actions]
        involved = sorted({entity for fact in conditions for entity in fact[1:]})
        happened = condition | self._table.bit(("event", *involved))
        proper = len(set(conditions)) == len(conditions)
        trigger = self._steps.make(TRIGGER, condition, happened, proper=(proper, proper))
        return Event(condition, (*plan, trigger))

    def _step(self, action: _ActionSource) -> Step:
        step = self._known.get(action)
        if step is None:
            before, after = action.before, action.after
            step = self._known[action] = self._steps.make(
                action.name,
                self._table.mask(before),
                self._table.mask(after),
                self._commands(action),
                action.undone_by,
                (len(set(before)) == len(before), len(set(after)) == len(after)),
            )
        return step

    def _commands(self, action: _ActionSource) -> Commands:
        command, undo = action.templates
        if command is None:  # Old versions of TextWorld leave it to the rule.
            rule = self._rule(action.name)
            return rule.action(rule.binding(action.before, action.after)).step.commands
        entities = {
            entity: entity for fact in (*action.before, *action.after) for entity in fact[1:]
        }
        return (
            fill(command, entities, self._names),
            None if undo is None else fill(undo, entities, self._names),
        )

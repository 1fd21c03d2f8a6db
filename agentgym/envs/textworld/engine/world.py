"""A TextWorld game, read from its JSON: everything that play needs and never changes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from agentgym.envs.textworld.engine.commands import Action, BoundRule, Choices, fill
from agentgym.envs.textworld.engine.facts import FactTable
from agentgym.envs.textworld.engine.game_json import (
    ActionSource,
    Entity,
    EventSource,
    QuestSource,
    Reader,
)
from agentgym.envs.textworld.engine.quests import TRIGGER, Event, Quest, begin
from agentgym.envs.textworld.engine.rule_parser import parse
from agentgym.envs.textworld.engine.steps import Commands, Step, Steps
from agentgym.envs.textworld.engine.tree_cache import Forest
from agentgym.errors import DataError

_VERSION = 1
_REMEMBERED = 512


class View:
    """What a state admits."""

    __slots__ = ("choices", "commands")

    def __init__(self, choices: Choices) -> None:
        self.choices = choices
        """Command to action."""
        self.commands = tuple(sorted(choices))
        """The commands, sorted."""


class World:
    """A game that any number of machines can play at once. Make one with ``World.of``.

    It only ever grows in what it remembers of states met before; nothing that it answers depends
    on what was asked before.

    Args:
        game: JSON of a TextWorld game.
    """

    def __init__(self, game: Mapping[str, Any]) -> None:
        self.game = game
        """The JSON that it was made of."""
        self.logic = parse(game["KB"]["logic"])
        """Rules and commands."""
        reader = Reader(game)
        self.entities: dict[str, Entity] = reader.entities
        """Id to entity, in the order of the game."""
        self.table = FactTable(reader.kinds)
        """The facts that this world has met, as bits."""
        self.steps = Steps(self.table, self.logic.reverses)
        """The steps of plans."""
        names = {key: entity.name for key, entity in self.entities.items()}
        bind = partial(
            BoundRule,
            logic=self.logic,
            table=self.table,
            steps=self.steps,
            names=names,
            kinds=reader.kinds,
        )
        rules = [bind(rule) for rule in self.logic.rules if rule.name in self.logic.commands]
        self._rules = {rule.rule.name: rule for rule in rules}
        # Of one command, the action of the rule with the most conditions counts, else that of the
        # first: it is put last. (A meal of two ingredients also meets the rule of one.)
        conditions = [len(rule.rule.preconditions) for rule in rules]
        order = sorted(range(len(rules)), key=lambda number: (conditions[number], -number))
        self._backwards = tuple([rules[number] for number in order])
        self.initial = self.table.mask(reader.facts)
        """Bits of the facts at the start."""
        builder = _Builder(self.table, self.steps, names, self._rules)
        self.quests = tuple([builder.quest(source) for source in reader.quests])
        """Quests, in the order of the game."""
        self.max_score = _max_score(self.quests)
        """Points for everything; infinite where a quest pays again and again."""
        self.objective = str(game.get("objective") or "")
        """What the player is told to do."""
        self._views: dict[int, View] = {}
        self.forest = Forest(self.steps)
        """The trees of plans."""
        self.beginning = tuple(begin(quest, self.initial, self.forest) for quest in self.quests)
        """Progress of the quests at the start."""

    @classmethod
    def of(cls, game: Mapping[str, Any]) -> World:
        """Read a game.

        Args:
            game: JSON of a TextWorld 1.x game, as ``Game.serialize()`` gives it. It is kept and
                must not be changed.

        Returns:
            The world.

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

    def view(self, facts: int) -> View:
        """Give what a state admits.

        Args:
            facts: Bits of its facts.
        """
        found = self._views.get(facts)
        if found is None:
            if len(self._views) >= _REMEMBERED:
                self._views.clear()
            merged: Choices = {}
            for rule in self._backwards:
                merged.update(rule.choices(facts))
            found = self._views[facts] = View(merged)
        return found

    def action(self, key: tuple[str, ...]) -> Action:
        """Find an action by its ``key``."""
        return self._rules[key[0]].ground(key[1:]).action


class _Builder:
    """Makes the quests of a world.

    Args:
        table: Facts of the world.
        steps: Steps of the world.
        names: Entity to its name in commands.
        rules: The rules, by name.
    """

    def __init__(
        self,
        table: FactTable,
        steps: Steps,
        names: Mapping[str, str],
        rules: Mapping[str, BoundRule],
    ) -> None:
        self._table = table
        self._steps = steps
        self._names = names
        self._rules = rules
        self._known: dict[ActionSource, Step] = {}

    def quest(self, source: QuestSource) -> Quest:
        """Make a quest."""
        wins = tuple([self._event(event) for event in source.wins])
        fails = tuple([self._event(event) for event in source.fails])
        return Quest(wins, fails, source.reward, source.optional, source.repeatable)

    def _event(self, event: EventSource) -> Event:
        condition = self._table.mask(event.conditions)
        if not event.actions:
            return Event(condition, ())
        plan = [self._step(action) for action in event.actions]
        involved = sorted({entity for fact in event.conditions for entity in fact[1:]})
        happened = condition | self._table.bit(("event", *involved))
        proper = len(set(event.conditions)) == len(event.conditions)
        trigger = self._steps.make(TRIGGER, condition, happened, proper=(proper, proper))
        return Event(condition, (*plan, trigger))

    def _step(self, action: ActionSource) -> Step:
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

    def _commands(self, action: ActionSource) -> Commands:
        command, undo = action.templates
        if command is None:  # Old versions of TextWorld leave it to the rule.
            rule = self._rules[action.name]
            return rule.ground(rule.binding(action.before, action.after)).step.commands
        entities = {
            entity: entity for fact in (*action.before, *action.after) for entity in fact[1:]
        }
        return (
            fill(command, entities, self._names),
            None if undo is None else fill(undo, entities, self._names),
        )


def _max_score(quests: Iterable[Quest]) -> float:
    total: float = 0
    for quest in quests:
        if quest.repeatable and quest.reward > 0:
            return math.inf
        if not quest.optional or quest.reward > 0:
            total += quest.reward
    return total

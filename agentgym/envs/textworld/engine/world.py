"""A TextWorld game, made of its record: everything that play needs and never changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from agentgym.envs.textworld.engine.commands import Admitted, BoundRules, fill
from agentgym.envs.textworld.engine.dependency_tree import TreeCache
from agentgym.envs.textworld.engine.facts import FactTable
from agentgym.envs.textworld.engine.quests import TRIGGER, Event, Quest, begin
from agentgym.envs.textworld.engine.rule_parser import parse
from agentgym.envs.textworld.engine.steps import Commands, PlanStep, StepTable
from agentgym.envs.textworld.record import (
    ActionRecord,
    EventRecord,
    QuestRecord,
    Record,
    not_a_game,
)  # fmt: skip
from agentgym.support.caching import BoundedCache

_REMEMBERED = 512


class GameWorld:
    """A game that any number of machines can play at once. Make one with ``GameWorld.of``.

    It caches the states it has encountered; no answer depends on earlier calls.
    """

    def __init__(self, record: Record) -> None:
        self.record = record
        """The game's record."""
        self.logic = parse(record.knowledge["logic"])
        """Rules and commands."""
        self.names = {info.id: info.name or "" for info in record.infos}
        """Entity to the name that a player uses, in the order of the game; empty for entities that
        no player encounters."""
        self.table = FactTable(self.logic, record.kinds, record.facts)
        """The facts encountered in this world, as bits: those of the record first."""
        self.steps = StepTable(self.table, self.logic.reverses)
        """The steps of plans."""
        self.rules = BoundRules(self.logic, self.table, self.steps, self.names, record.kinds)
        """The rules."""
        self.initial = (1 << record.start) - 1
        """Bits of the facts at the start."""
        builder = _QuestBuilder(self)
        self.quests = tuple([builder.quest(source) for source in record.quests])
        """Quests, in the order of the game."""
        self._admitted: BoundedCache[int, Admitted] = BoundedCache(_REMEMBERED)
        self.trees = TreeCache(self.steps)
        """The trees of plans."""
        self.beginning = tuple(begin(quest, self.initial, self.trees) for quest in self.quests)
        """Progress of the quests at the start."""

    @classmethod
    def of(cls, game: Mapping[str, Any] | Record) -> GameWorld:
        """Make the world of a game, given as record or JSON, which must not be changed.

        Raises:
            DataError: It is no game of TextWorld 1.x.
        """
        record = Record.of(game)
        try:
            return cls(record)
        except (KeyError, TypeError, AttributeError, IndexError) as error:
            raise not_a_game(error) from error

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as the record."""
        return GameWorld, (self.record,)

    @property
    def game(self) -> dict[str, Any]:
        """The JSON of the game, as its record writes it."""
        return self.record.game

    def __deepcopy__(self, memo: dict[int, Any]) -> GameWorld:
        """Share: nothing that a world answers ever changes."""
        return self

    def admitted(self, facts: int) -> Admitted:
        """Return the admissible commands of the state with these facts."""
        admitted = self._admitted.get(facts)
        if admitted is None:
            admitted = self._admitted.put(facts, self.rules.admitted(facts))
        return admitted


class _QuestBuilder:
    """Make the quests of a world."""

    def __init__(self, world: GameWorld) -> None:
        self._table, self._steps, self._rules = world.table, world.steps, world.rules
        self._names = world.names
        self._record = world.record
        self._steps_by_number: dict[int, PlanStep] = {}

    def quest(self, source: QuestRecord) -> Quest:
        """Make a quest."""
        wins, fails = (
            tuple([self._event(event) for event in events])
            for events in (source.wins, source.fails)
        )
        return Quest(wins, fails, source.reward, source.optional, source.repeatable)

    def _event(self, source: EventRecord) -> Event:
        condition = _mask(source.condition)
        if not source.actions:
            return Event(condition, ())
        plan = [self._step(number) for number in source.actions]
        facts = [self._record.facts[number] for number in source.condition]
        involved = sorted({entity for fact in facts for entity in fact[1:]})
        happened = condition | self._table.bit(("event", *involved))
        proper = _proper(source.condition, condition)
        trigger = self._steps.make(TRIGGER, condition, happened, proper=(proper, proper))
        return Event(condition, (*plan, trigger))

    def _step(self, number: int) -> PlanStep:
        step = self._steps_by_number.get(number)
        if step is None:
            action = self._record.actions[number]
            preconditions, postconditions = (
                _mask(action.preconditions),
                _mask(action.postconditions),
            )
            step = self._steps_by_number[number] = self._steps.make(
                action.name,
                preconditions,
                postconditions,
                self._commands(action),
                action.undone_by,
                (
                    _proper(action.preconditions, preconditions),
                    _proper(action.postconditions, postconditions),
                ),
            )
        return step

    def _commands(self, action: ActionRecord) -> Commands:
        if action.command is None:  # Old versions of TextWorld leave it to the rule.
            facts = self._record.facts
            preconditions, postconditions = (
                [facts[number] for number in numbers]
                for numbers in (action.preconditions, action.postconditions)
            )
            return self._rules.read_action(action.name, preconditions, postconditions).step.commands
        undo = None if action.undo is None else fill(action.undo, self._names)
        return fill(action.command, self._names), undo


def _mask(numbers: Iterable[int]) -> int:
    """Join the bits of facts, given by their numbers in the record."""
    mask = 0
    for number in numbers:
        mask |= 1 << number
    return mask


def _proper(numbers: Sequence[int], mask: int) -> bool:
    """Return whether the joined facts are free of repetitions."""
    return mask.bit_count() == len(numbers)

"""The JSON of a TextWorld game as plain values, before anything is made of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from agentgym.envs.textworld.engine.facts import Fact
from agentgym.errors import DataError

Data = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Entity:
    """A thing, room or person of a game."""

    id: str
    """Unique name, such as ``c_0``."""
    type: str
    """Name of its type, such as ``c``."""
    name: str
    """Name that a player uses; empty for what no player meets."""
    noun: str | None = None
    """Noun of the name."""
    adj: str | None = None
    """Adjective of the name."""
    desc: str | None = None
    """Text shown when it is examined; for a room, Inform 7 text with bracketed expressions."""
    definite: str | None = None
    """Definite article, where it is not "the"."""
    indefinite: str | None = None
    """Indefinite article, where it is not "a" or "an"."""
    synonyms: tuple[str, ...] = ()
    """Other names."""
    room_type: str | None = None
    """Theme of its room."""


@dataclass(frozen=True, slots=True, eq=False)
class ActionSource:
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


@dataclass(frozen=True, slots=True)
class EventSource:
    """An event of a quest."""

    conditions: tuple[Fact, ...]
    """What must hold."""
    actions: tuple[ActionSource, ...]
    """A way to bring it about; empty where none is known."""


@dataclass(frozen=True, slots=True)
class QuestSource:
    """A quest."""

    wins: tuple[EventSource, ...]
    """Its winning events."""
    fails: tuple[EventSource, ...]
    """Its failing events."""
    reward: float
    """Points for one completion."""
    optional: bool
    """Whether the game can be won without it."""
    repeatable: bool
    """Whether it pays every time."""


class Reader:
    """Reads one game.

    Args:
        game: The JSON.
    """

    def __init__(self, game: Data) -> None:
        self.kinds: dict[str, str] = {}
        """Entity to its type."""
        # Events repeat the actions of one walkthrough: to compare is cheaper than to read again.
        self._actions: dict[tuple[str, str | None], tuple[Data, ActionSource]] = {}
        self.facts = self._facts(game["world"])
        """Facts at the start."""
        self.quests = tuple([self._quest(data) for data in game["quests"]])
        """Quests, in order."""
        self.entities = {key: _entity(data) for key, data in game["infos"]}
        """Id to entity, in order."""
        for key, entity in self.entities.items():
            self.kinds.setdefault(key, entity.type)

    def _facts(self, items: Iterable[Data]) -> tuple[Fact, ...]:
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

    def _quest(self, data: Data) -> QuestSource:
        return QuestSource(
            wins=self._events(data["win_events"]),
            fails=self._events(data["fail_events"]),
            reward=data["reward"],
            optional=bool(data.get("optional", False)),
            repeatable=bool(data.get("repeatable", False)),
        )

    def _events(self, events: Iterable[Data]) -> tuple[EventSource, ...]:
        return tuple(
            [
                EventSource(
                    self._facts(event["condition"]["preconditions"]),
                    tuple([self._action(action) for action in event["actions"]]),
                )
                for event in events
            ]
        )

    def _action(self, data: Data) -> ActionSource:
        key = (data["name"], data.get("command_template"))
        known = self._actions.get(key)
        if known is None or known[0] != data:
            action = ActionSource(
                name=data["name"],
                before=self._facts(data["preconditions"]),
                after=self._facts(data["postconditions"]),
                templates=(data.get("command_template"), data.get("reverse_command_template")),
                undone_by=data.get("reverse_name"),
            )
            known = self._actions[key] = (data, action)
        return known[1]


def _entity(data: Data) -> Entity:
    return Entity(
        id=data["id"],
        type=data["type"],
        name=data.get("name") or "",
        noun=data.get("noun"),
        adj=data.get("adj"),
        desc=data.get("desc"),
        definite=data.get("definite"),
        indefinite=data.get("indefinite"),
        synonyms=tuple(data.get("synonyms") or ()),
        room_type=data.get("room_type"),
    )

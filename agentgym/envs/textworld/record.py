"""A game in compact form: each fact and action once, where TextWorld's JSON repeats them.

The JSON of a game spells out a fact wherever an action needs it, with the type of each entity: less
than 3 of the 20 KB of a small game are new. A record numbers facts and actions instead. The native
engine is built from records, and packs of games store them: they are read in a third of the time,
and the JSON of a generated game can be restored exactly. Of other game files, parts that no engine
reads may be lost.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from sys import intern
from typing import Any, NamedTuple

from agentgym.envs.textworld.session import Fact
from agentgym.errors import DataError

_VERSION = 1
_TABLES = ("world", "infos", "quests", "KB")
_Data = Mapping[str, Any]


class EntityInfo(NamedTuple):
    """An entity, with the keys of the JSON."""

    id: str
    type: str
    name: str | None = None
    noun: str | None = None
    adj: str | None = None
    desc: str | None = None
    room_type: str | None = None
    definite: str | None = None
    indefinite: str | None = None
    synonyms: list[str] | None = None


class ActionRecord(NamedTuple):
    """An action of a walkthrough; facts are numbers of ``Record.facts``."""

    name: str
    """Name of the rule."""
    preconditions: Sequence[int]
    """Conditions."""
    postconditions: Sequence[int]
    """Facts that replace them."""
    command: str | None = None
    """Command with entities in braces; None where not said."""
    undone_by: str | None = None
    """Rule that undoes it; None where not said."""
    undo: str | None = None
    """Command that undoes it; None where not said."""


class EventRecord(NamedTuple):
    """Something that ends a quest."""

    condition: Sequence[int]
    """Numbers of the facts that hold together."""
    actions: Sequence[int]
    """Numbers of the actions that bring it about; empty where none are known."""
    commands: Sequence[str] = ()
    """Their commands."""


class QuestRecord(NamedTuple):
    """A goal of a game."""

    wins: Sequence[EventRecord]
    """Any of these completes it."""
    fails: Sequence[EventRecord]
    """Any of these fails it."""
    reward: float
    """Points for one completion."""
    optional: bool = False
    """Whether the game can be won without it."""
    repeatable: bool = False
    """Whether it pays every time."""
    desc: str | None = None
    """Its description for the player."""
    commands: Sequence[str] = ()
    """Commands that complete it."""


@dataclass(frozen=True, eq=False)
class Record:
    """A game in compact form; its values must not be changed."""

    facts: Sequence[Fact]
    """Every fact that the game speaks of, those at the start first."""
    start: int
    """Number of facts at the start."""
    infos: Sequence[EntityInfo]
    """The entities."""
    actions: Sequence[ActionRecord]
    """Every action of a walkthrough."""
    quests: Sequence[QuestRecord]
    """The quests."""
    other_keys: Mapping[str, Any]
    """The other entries of the JSON."""
    knowledge: Mapping[str, Any]
    """The knowledge base, which games share."""
    kinds: Mapping[str, str]
    """Entity to its type."""

    @classmethod
    def of(cls, game: Mapping[str, Any] | Record) -> Record:
        """Read the JSON of a TextWorld 1.x game; a record is returned as it is.

        Raises:
            DataError: It is no such game.
        """
        if isinstance(game, Record):
            return game
        if game.get("version", _VERSION) != _VERSION:
            raise DataError(
                f"expected a TextWorld game of version {_VERSION}, got {game['version']!r}; "
                "generate the game with TextWorld 1.x"
            )
        try:
            return _Reader(game).record
        except (KeyError, TypeError, AttributeError, IndexError) as error:
            raise not_a_game(error) from error

    @classmethod
    def unpack(cls, packed: Mapping[str, Any], knowledge: Mapping[str, Any]) -> Record:
        """Undo ``pack``."""
        infos = [EntityInfo(*row) for row in packed["infos"]]
        return cls(
            [*map(_fact, packed["facts"])],
            packed["start"],
            infos,
            [ActionRecord(*row) for row in packed["actions"]],
            [
                QuestRecord(
                    [EventRecord(*row) for row in wins],
                    [EventRecord(*row) for row in fails],
                    *attributes,
                )
                for wins, fails, *attributes in packed["quests"]
            ],
            packed["rest"],
            knowledge,
            {info.id: info.type for info in infos},
        )

    def pack(self) -> dict[str, Any]:
        """Return plain data for JSON, without the knowledge base."""
        return {
            "facts": [" ".join(fact) for fact in self.facts],
            "start": self.start,
            "infos": self.infos,
            "actions": self.actions,
            "quests": self.quests,
            "rest": self.other_keys,
        }

    @cached_property
    def beginning(self) -> frozenset[Fact]:
        """The facts at the start."""
        return frozenset(self.facts[: self.start])

    @cached_property
    def game(self) -> dict[str, Any]:
        """The JSON, cached."""
        return self.json()

    def json(self) -> dict[str, Any]:
        """Write the JSON, which the caller owns but for the knowledge base."""
        return {
            **copy.deepcopy(dict(self.other_keys)),
            "world": self._facts(range(self.start)),
            "infos": [[info.id, copy.deepcopy(info._asdict())] for info in self.infos],
            "quests": [
                {
                    "desc": quest.desc, "reward": quest.reward, "commands": list(quest.commands),
                    "win_events": [*map(self._event, quest.wins)],
                    "fail_events": [*map(self._event, quest.fails)],
                    "optional": quest.optional, "repeatable": quest.repeatable,
                }
                for quest in self.quests
            ],
            "KB": self.knowledge,
        }  # fmt: skip

    def _facts(self, numbers: Iterable[int]) -> list[dict[str, Any]]:
        """Write facts as JSON."""
        return [
            {
                "name": name,
                "arguments": [{"name": entity, "type": self.kinds[entity]} for entity in entities],
            }
            for name, *entities in [self.facts[number] for number in numbers]
        ]

    def _event(self, event: EventRecord) -> dict[str, Any]:
        """Write an event as JSON."""
        holds = self._facts(event.condition)
        involved = sorted(
            {entity for number in event.condition for entity in self.facts[number][1:]}
        )
        happened = [{"name": entity, "type": self.kinds[entity]} for entity in involved]
        postconditions = [*self._facts(event.condition), {"name": "event", "arguments": happened}]
        return {
            "commands": list(event.commands),
            "actions": [self._action(self.actions[number]) for number in event.actions],
            "condition": _action_json("trigger", holds, postconditions),
        }

    def _action(self, action: ActionRecord) -> dict[str, Any]:
        """Write an action as JSON."""
        preconditions, postconditions = (
            self._facts(action.preconditions),
            self._facts(action.postconditions),
        )
        return _action_json(action.name, preconditions, postconditions, *action[3:])


@lru_cache(maxsize=1 << 14)  # games of one setting share most facts, which are few and small
def _fact(text: str) -> Fact:
    """Read a fact as ``Record.pack`` writes it; equal ones of all games are one object."""
    return tuple([intern(part) for part in text.split()])


def not_a_game(error: Exception) -> DataError:
    """Make the error for a game that cannot be read."""
    return DataError(
        f"expected the JSON of a TextWorld game, got one without {error}; "
        "pass what textworld.Game.serialize() returns"
    )


def _action_json(
    name: str,
    preconditions: list[dict[str, Any]],
    postconditions: list[dict[str, Any]],
    command: str | None = None,
    undone_by: str | None = None,
    undo: str | None = None,
) -> dict[str, Any]:
    """Write an action as JSON."""
    return {
        "name": name, "preconditions": preconditions, "postconditions": postconditions,
        "command_template": command, "reverse_name": undone_by, "reverse_command_template": undo,
    }  # fmt: skip


class _Reader:
    """Read the JSON of a game."""

    def __init__(self, game: _Data) -> None:
        self._kinds: dict[str, str] = {}
        self._numbers: dict[Fact, int] = {}
        # Events repeat the actions of one walkthrough: to compare is cheaper than to read again.
        self._action_entries: dict[tuple[str, str | None], tuple[_Data, int]] = {}
        self._actions: list[ActionRecord] = []
        self._facts(game["world"])
        start = len(self._numbers)
        quests = [self._quest(quest) for quest in game.get("quests", ())]
        infos = []
        for key, info in game["infos"]:
            kind = self._kinds.setdefault(key, info.get("type", ""))
            infos.append(
                EntityInfo(key, kind, *[info.get(field) for field in EntityInfo._fields[2:]])
            )
        other_keys = {key: value for key, value in game.items() if key not in _TABLES}
        self.record = Record(
            [*self._numbers],
            start,
            infos,
            self._actions,
            quests,
            other_keys,
            game["KB"],
            self._kinds,
        )

    def _facts(self, items: Iterable[_Data]) -> list[int]:
        """Number facts."""
        numbers = []
        for item in items:
            fact = [item["name"]]
            for argument in item["arguments"]:
                name, kind = argument["name"], argument["type"]
                if self._kinds.setdefault(name, kind) != kind:
                    raise DataError(
                        f"expected one type for the entity {name!r}, got {self._kinds[name]!r} "
                        f"and {kind!r}; generate the damaged game again"
                    )
                fact.append(name)
            numbers.append(self._numbers.setdefault(tuple(fact), len(self._numbers)))
        return numbers

    def _quest(self, data: _Data) -> QuestRecord:
        return QuestRecord(
            self._events(data.get("win_events", ())),
            self._events(data.get("fail_events", ())),
            data["reward"],
            bool(data.get("optional")),
            bool(data.get("repeatable")),
            data.get("desc"),
            data.get("commands") or (),
        )

    def _events(self, events: Iterable[_Data]) -> list[EventRecord]:
        return [
            EventRecord(
                self._facts(event["condition"]["preconditions"]),
                [self._action(action) for action in event["actions"]],
                event.get("commands") or (),
            )
            for event in events
        ]

    def _action(self, data: _Data) -> int:
        """Number an action."""
        key = (data["name"], data.get("command_template"))
        entry = self._action_entries.get(key)
        if entry is None or entry[0] != data:
            action = ActionRecord(
                data["name"], self._facts(data["preconditions"]),
                self._facts(data["postconditions"]), data.get("command_template"),
                data.get("reverse_name"), data.get("reverse_command_template"),
            )  # fmt: skip
            entry = self._action_entries[key] = (data, len(self._actions))
            self._actions.append(action)
        return entry[1]

"""What decides a game besides its seed: the five challenges of TextWorld and their parameters.

A setting is a challenge with values for its parameters; it has a canonical name, which reads back.
Values are checked when a configuration is made.
"""

from __future__ import annotations

import difflib
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import Field, dataclass, field, fields, replace
from typing import Any, ClassVar

from agentgym.errors import ConfigurationError

DEFAULT = "w2-o12-q4,quest_end=place"
"""The setting of the default games. Who prefers some verbs to others and reads nothing wins most
games of ``w2-o3-q4``, and few of these."""
MAX_ROOMS = 100
"""TextWorld 1.7 dropped Glulx, and a Z-machine story file holds no more rooms."""


def _declare_integer(default: int, low: int, high: int) -> Any:
    """Declare a parameter that is a whole number from ``low`` to ``high``."""
    return field(default=default, metadata={"low": low, "high": high})


def _one_of(default: Any, *choices: Any) -> Any:
    """Declare a parameter with a few values."""
    return field(default=default, metadata={"choices": choices})


@dataclass(frozen=True)
class GeneratorConfig(ABC):
    """What decides a game besides its seed; one subclass for each challenge."""

    challenge: ClassVar[str] = ""
    """Name of the challenge."""

    def __post_init__(self) -> None:
        """Check every parameter.

        Raises:
            ConfigurationError: A parameter has the wrong type or is out of range.
        """
        for parameter in fields(self):
            _check(self.challenge, parameter, getattr(self, parameter.name))

    @property
    @abstractmethod
    def rooms(self) -> int:
        """Number of rooms of each game."""

    @property
    @abstractmethod
    def turns(self) -> int:
        """About how many commands a long plan has among the games of the setting."""

    @property
    def horizon(self) -> int:
        """Turn budget that suits the setting: three times the plan, at least 8.

        The Practitioner's Guide plays w2-o3-q4 with 8 to 12 turns and w4-o6-q8 with 24; this gives
        12 and 24.
        """
        return max(8, 3 * self.turns)

    @classmethod
    def of(cls, setting: str | GeneratorConfig = DEFAULT, **parameters: Any) -> GeneratorConfig:
        """Choose a setting: by name, by challenge, by parameters.

        Args:
            setting: A named setting (``NAMED``), a size ``w<rooms>-o<objects>-q<quest length>``, a
                challenge, what :meth:`key` returned, or a configuration.
            **parameters: Those to change, by the names of the challenge's class; of ``custom`` also
                ``quest_length``, ``quest_breadth`` and ``quest_depth``.

        Raises:
            ConfigurationError: The name or a parameter is unknown, belongs to another challenge, is
                out of range, or contradicts another.
        """
        base = setting if isinstance(setting, GeneratorConfig) else _parse(setting)
        if not parameters:
            return base
        values = _expand(parameters) if isinstance(base, Custom) else dict(parameters)
        allowed = [parameter.name for parameter in fields(base)]
        for parameter in values:
            if parameter not in allowed:
                raise ConfigurationError(_unknown(base.challenge, parameter, allowed))
        return replace(base, **values)

    def key(self) -> str:
        """Return the setting's canonical name, which :meth:`of` accepts."""
        changed = (
            f"{parameter.name}={_word(getattr(self, parameter.name))}"
            for parameter in fields(self)
            if getattr(self, parameter.name) != parameter.default
        )
        return ",".join((self.challenge, *changed))


def _word(value: Any) -> str:
    """Write a parameter's value as names of settings have it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _check(challenge: str, parameter: Field[Any], value: Any) -> None:
    """Check one parameter against its declaration."""
    kind, rules = type(parameter.default), parameter.metadata
    if "choices" in rules:
        good = type(value) is kind and value in rules["choices"]
        allowed = "one of " + ", ".join(map(repr, rules["choices"]))
    elif kind is bool:
        good, allowed = isinstance(value, bool), "True or False"
    else:
        good = type(value) is int and rules["low"] <= value <= rules["high"]
        allowed = f"a whole number from {rules['low']} to {rules['high']}"
    if not good:
        raise ConfigurationError(
            f"expected {parameter.name} of challenge {challenge!r} to be {allowed}; got {value!r}"
        )


@dataclass(frozen=True)
class Custom(GeneratorConfig):
    """A random house: find, fetch, unlock, open and place things.

    Defaults are those of the named setting ``w2-o3-q4``. ``quest_length=n`` is short for
    minimum and maximum length and maximum depth ``n``, ``quest_breadth=n`` and ``quest_depth=n``
    for minimum and maximum, as in ``tw-make custom``.
    """

    challenge: ClassVar[str] = "custom"

    world_size: int = _declare_integer(2, 1, MAX_ROOMS)
    """Rooms."""
    nb_objects: int = _declare_integer(3, 0, 200)
    """Fewest objects: things of the quest, then distractors up to this number."""
    quest_min_length: int = _declare_integer(4, 1, 100)
    """Fewest actions of a quest."""
    quest_max_length: int = _declare_integer(4, 1, 100)
    """Most actions of a quest."""
    quest_min_breadth: int = _declare_integer(1, 1, 20)
    """Fewest subquests of a quest."""
    quest_max_breadth: int = _declare_integer(5, 1, 20)
    """Most subquests of a quest."""
    quest_min_depth: int = _declare_integer(1, 1, 100)
    """Fewest actions of a subquest."""
    quest_max_depth: int = _declare_integer(4, 1, 100)
    """Most actions of a subquest."""
    nb_parallel_quests: int = _declare_integer(1, 1, 20)
    """Quests that share no goal."""
    theme: str = _one_of("house", "house", "basic")
    """Text grammar: a house with prose, or bare names."""
    include_adj: bool = False
    """Whether names carry adjectives."""
    entity_numbering: bool = False
    """Whether names are numbered where the theme runs out of them."""
    blend_instructions: bool = False
    """Whether the objective tells several actions in one sentence."""
    blend_descriptions: bool = False
    """Whether a room's description tells several things in one sentence."""
    only_last_action: bool = False
    """Whether the objective names the last action only, so that the rest must be found out."""
    quest_end: str = _one_of("any", "any", "place")
    """How quests end: by any action, as with ``tw-make``, or by placing a thing in a container or
    on a supporter. A game that ends by taking, opening or unlocking is won by taking, opening and
    unlocking everything, without reading the objective."""

    def __post_init__(self) -> None:
        """Check every parameter, and that no minimum exceeds its maximum."""
        super().__post_init__()
        for name in ("length", "breadth", "depth"):
            low, high = (getattr(self, f"quest_{bound}_{name}") for bound in ("min", "max"))
            if low > high:
                raise ConfigurationError(
                    f"expected quest_min_{name} <= quest_max_{name}, got {low} and {high}; "
                    f"set both, or quest_{name}"
                )

    @property
    def rooms(self) -> int:
        """Number of rooms of each game."""
        return self.world_size

    @property
    def turns(self) -> int:
        """Longest quest times the number of quests."""
        return self.quest_max_length * self.nb_parallel_quests

    def key(self) -> str:
        """Return the canonical name, such as ``w2-o3-q4``, and differing parameters."""
        length = self.quest_max_length
        base = _by_size(self.world_size, self.nb_objects, length)
        changed = (
            f"{parameter.name}={_word(getattr(self, parameter.name))}"
            for parameter in fields(self)
            if getattr(self, parameter.name) != getattr(base, parameter.name)
        )
        return ",".join((f"w{self.world_size}-o{self.nb_objects}-q{length}", *changed))


@dataclass(frozen=True)
class CoinCollector(GeneratorConfig):
    """A maze of rooms with one coin at the far end of a chain."""

    challenge: ClassVar[str] = "coin_collector"

    level: int = _declare_integer(5, 1, 300)
    """Chain of ``(level - 1) % 100 + 1`` rooms; from 101 on one, from 201 on two dead ends each."""

    def __post_init__(self) -> None:
        """Check the level, and that the game fits in a story file."""
        super().__post_init__()
        if self.rooms > MAX_ROOMS:
            raise ConfigurationError(
                f"expected a level with at most {MAX_ROOMS} rooms, as TextWorld 1.7 refuses more; "
                f"got level={self.level} with {self.rooms}; use 1-100, 101-150 or 201-233"
            )

    @property
    def rooms(self) -> int:
        """Rooms of the chain and dead ends."""
        return self.turns * ((self.level - 1) // 100 + 1)

    @property
    def turns(self) -> int:
        """One move from room to room, and taking the coin."""
        return (self.level - 1) % 100 + 1


@dataclass(frozen=True)
class TreasureHunter(GeneratorConfig):
    """Fetch the object that the objective names; taking the other one loses the game."""

    challenge: ClassVar[str] = "treasure_hunter"

    level: int = _declare_integer(5, 1, 30)
    """1-10: 5 rooms; 11-20: 10 rooms, doors, containers; 21-30: 20 rooms, locks."""

    @property
    def rooms(self) -> int:
        """5, 10 or 20."""
        return (5, 10, 20)[(self.level - 1) // 10]

    @property
    def turns(self) -> int:
        """Length of the quest, spread over the levels of a stage as TextWorld does."""
        stage, step = divmod(self.level - 1, 10)
        low, high = ((1, 5), (2, 10), (3, 20))[stage]
        return round(low + (high - low) * step / 9)


@dataclass(frozen=True)
class Simple(GeneratorConfig):
    """One house of six rooms: leave the bedroom, find the food, put it on the stove."""

    challenge: ClassVar[str] = "simple"

    rewards: str = _one_of("dense", "dense", "balanced", "sparse")
    """How many of the steps score a point."""
    goal: str = _one_of("detailed", "detailed", "brief", "none")
    """Detail of the objective: every step, the food only, or nothing."""
    held_out_foods: bool = False
    """Whether valid and test ask for foods that train never has (``--test`` of ``tw-make``)."""

    @property
    def rooms(self) -> int:
        """Six, always the same."""
        return 6

    @property
    def turns(self) -> int:
        """Longest plan."""
        return 12

    @property
    def horizon(self) -> int:
        """24, as in the Practitioner's Guide."""
        return 24


@dataclass(frozen=True)
class Cooking(GeneratorConfig):
    """Read the cookbook, fetch and prepare the ingredients, eat the meal."""

    challenge: ClassVar[str] = "cooking"

    recipe: int = _declare_integer(1, 1, 5)
    """Ingredients of the recipe."""
    take: int = _declare_integer(0, 0, 5)
    """Ingredients that must be found, at most ``recipe``."""
    go: int = _one_of(1, 1, 6, 9, 12)
    """Rooms."""
    open: bool = False
    """Whether doors and containers are closed at first."""
    cook: bool = False
    """Whether ingredients must be cooked."""
    cut: bool = False
    """Whether ingredients must be cut."""
    drop: bool = False
    """Whether the inventory is limited. TextWorld cannot track the plan of such games."""
    held_out_foods: bool = False
    """Whether valid and test have foods or preparations of their own (``--split`` of tw-make)."""

    def __post_init__(self) -> None:
        """Check every parameter, and that no more is to be found than the recipe asks for."""
        super().__post_init__()
        if self.take > self.recipe:
            raise ConfigurationError(
                f"expected take <= recipe, got take={self.take} and recipe={self.recipe}; an "
                "ingredient that the recipe does not ask for cannot be fetched for it"
            )

    @property
    def rooms(self) -> int:
        """1, 6, 9 or 12."""
        return self.go

    @property
    def turns(self) -> int:
        """Commands of a long plan: the ways between rooms, fetching and preparing."""
        ways = {1: 0, 6: 2, 9: 3, 12: 4}[self.go] * (1 + self.open) * (1 + (self.take + 1) // 2)
        prepare = self.recipe * (self.cook + self.cut * (1 + 4 * self.drop)) + self.cut
        return 2 + ways + self.take * (1 + self.open) + prepare


def _by_size(world_size: int, nb_objects: int, quest_length: int) -> Custom:
    """Return the setting of ``tw-make custom --world-size --nb-objects --quest-length``."""
    return Custom(
        world_size=world_size, nb_objects=nb_objects, quest_min_length=quest_length,
        quest_max_length=quest_length, quest_max_depth=quest_length,
    )  # fmt: skip


CHALLENGES: dict[str, type[GeneratorConfig]] = {
    kind.challenge: kind for kind in (Custom, CoinCollector, TreasureHunter, Simple, Cooking)
}
"""The challenges by name."""

NAMED: dict[str, GeneratorConfig] = {
    "w2-o3-q4": _by_size(2, 3, 4),
    "w4-o6-q8": _by_size(4, 6, 8),
    "w8-o12-q16": _by_size(8, 12, 16),
    "cooking-easy": Cooking(recipe=1, take=1, open=True, cook=True),
    "cooking-medium": Cooking(recipe=2, take=2, go=6, open=True, cook=True, cut=True),
    "cooking-hard": Cooking(recipe=3, take=3, go=12, open=True, cook=True, cut=True),
}
"""Names for settings: those of the Practitioner's Guide, and three sizes of cooking."""

REFUSED = {
    "ambiguous_instructions": "TextWorld 1.7 itself stops with 'not tested' when it is on",
    "seed": "the seed of a game is its place in a split: choose it by split and index",
    "split": "the split is chosen by the environment; held_out_foods=True uses the challenge's own",
    "test": "the split is chosen by the environment; held_out_foods=True uses the challenge's own",
    "recipe_seed": "recipes follow the seed of the game",
}
"""Parameters of ``tw-make`` that have no place here, and why."""


SHORT = {
    "quest_breadth": ("quest_min_breadth", "quest_max_breadth"),
    "quest_depth": ("quest_min_depth", "quest_max_depth"),
    "quest_length": ("quest_min_length", "quest_max_length", "quest_max_depth"),
}
"""Parameters that stand for several, as in ``tw-make``."""

_SIZE = re.compile(r"w(\d{1,3})-o(\d{1,3})-q(\d{1,3})", re.ASCII)


def _expand(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Replace the parameters that stand for several; a given depth goes before the length's."""
    values = {parameter: value for parameter, value in parameters.items() if parameter not in SHORT}
    for short, longs in SHORT.items():
        for long in longs if short in parameters else ():
            if long in parameters and (short, long) != ("quest_length", "quest_max_depth"):
                raise ConfigurationError(
                    f"expected either {short} or {long}, as the first stands for "
                    f"{', '.join(longs)}; got {short}={parameters[short]!r} and "
                    f"{long}={parameters[long]!r}"
                )
            values.setdefault(long, parameters[short])
    return values


def _parse(name: str) -> GeneratorConfig:
    """Read a name: a head, and parameters behind commas."""
    head, *changes = str(name).split(",")
    size = _SIZE.fullmatch(head)
    if head in NAMED:
        base = NAMED[head]
    elif size:
        base = _by_size(*map(int, size.groups()))
    elif head in CHALLENGES:
        base = CHALLENGES[head]()
    else:
        raise ConfigurationError(
            f"expected a TextWorld difficulty: {', '.join((*NAMED, *CHALLENGES))}, or a size such "
            f"as w3-o5-q6; got {name!r}{_close(head, (*NAMED, *CHALLENGES))}"
        )
    parameters = {parameter.name: parameter for parameter in fields(base)}
    values = {}
    for change in changes:
        parameter, sign, text = change.partition("=")
        if not sign or parameter not in parameters:
            raise ConfigurationError(
                f"in the difficulty {name!r}: "
                f"{_unknown(base.challenge, parameter, list(parameters))}"
            )
        values[parameter] = _value(parameters[parameter], text)
    return replace(base, **values)


def _value(parameter: Field[Any], text: str) -> Any:
    """Parse a parameter's value; unparsable text stays text, and the check refuses it."""
    if isinstance(parameter.default, bool):
        return {"true": True, "false": False}.get(text, text)
    is_integer = isinstance(parameter.default, int) and re.fullmatch(r"\d{1,9}", text, re.ASCII)
    return int(text) if is_integer else text


def _unknown(challenge: str, parameter: str, allowed: list[str]) -> str:
    """Describe the error of a parameter that the challenge does not have."""
    names = allowed + list(SHORT if challenge == "custom" else ())
    owners = [
        challenge
        for challenge, kind in CHALLENGES.items()
        if parameter in [f.name for f in fields(kind)]
    ]
    why = _close(parameter, names)
    if parameter in REFUSED:
        why = f"; {REFUSED[parameter]}"
    elif owners:
        challenges = " and ".join(owners)
        why = f", which is a parameter of {challenges}; choose that challenge, or leave it out"
    expected = f"expected parameters of challenge {challenge!r}: {', '.join(names)}"
    return f"{expected}; got {parameter!r}{why}"


def _close(name: str, names: Iterable[str]) -> str:
    """Return a hint at the closest name, or nothing."""
    matches = difflib.get_close_matches(name, list(names), n=1)
    return f"; did you mean {matches[0]!r}?" if matches else ""

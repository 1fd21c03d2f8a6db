"""The five challenges of TextWorld as settings: each with its own knobs."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import ClassVar

from agentgym.envs.textworld.generator.config import Settings, one_of, whole, word
from agentgym.errors import ConfigurationError

MOST_ROOMS = 100
"""TextWorld 1.7 dropped Glulx, and a Z-machine story file holds no more rooms."""


@dataclass(frozen=True)
class Custom(Settings):
    """A random house: find, fetch, unlock, open and place things.

    Defaults are those of the named setting ``w2-o3-q4``. ``quest_length=n`` is short for
    minimum and maximum length and maximum depth ``n``, ``quest_breadth=n`` and ``quest_depth=n``
    for minimum and maximum, as in ``tw-make custom``.
    """

    challenge: ClassVar[str] = "custom"

    world_size: int = whole(2, 1, MOST_ROOMS)
    """Rooms."""
    nb_objects: int = whole(3, 0, 200)
    """Fewest objects: things of the quest, then distractors up to this number."""
    quest_min_length: int = whole(4, 1, 100)
    """Fewest actions of a quest."""
    quest_max_length: int = whole(4, 1, 100)
    """Most actions of a quest."""
    quest_min_breadth: int = whole(1, 1, 20)
    """Fewest subquests of a quest."""
    quest_max_breadth: int = whole(5, 1, 20)
    """Most subquests of a quest."""
    quest_min_depth: int = whole(1, 1, 100)
    """Fewest actions of a subquest."""
    quest_max_depth: int = whole(4, 1, 100)
    """Most actions of a subquest."""
    nb_parallel_quests: int = whole(1, 1, 20)
    """Quests that share no goal."""
    theme: str = one_of("house", "house", "basic")
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

    def __post_init__(self) -> None:
        """Check every knob, and that no minimum exceeds its maximum."""
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
        """Return the canonical name: ``w2-o3-q4`` and the like, and knobs that differ from it."""
        length = self.quest_max_length
        base = by_size(self.world_size, self.nb_objects, length)
        changed = (
            f"{knob.name}={word(getattr(self, knob.name))}"
            for knob in fields(self)
            if getattr(self, knob.name) != getattr(base, knob.name)
        )
        return ",".join((f"w{self.world_size}-o{self.nb_objects}-q{length}", *changed))


@dataclass(frozen=True)
class CoinCollector(Settings):
    """A maze of rooms with one coin at the far end of a chain."""

    challenge: ClassVar[str] = "coin_collector"

    level: int = whole(5, 1, 300)
    """Chain of ``(level - 1) % 100 + 1`` rooms; from 101 on one, from 201 on two dead ends each."""

    def __post_init__(self) -> None:
        """Check the level, and that the game fits in a story file."""
        super().__post_init__()
        if self.rooms > MOST_ROOMS:
            raise ConfigurationError(
                f"expected a level with at most {MOST_ROOMS} rooms, as TextWorld 1.7 refuses more; "
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
class TreasureHunter(Settings):
    """Fetch the object that the objective names; taking the other one loses the game."""

    challenge: ClassVar[str] = "treasure_hunter"

    level: int = whole(5, 1, 30)
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
class Simple(Settings):
    """One house of six rooms: leave the bedroom, find the food, put it on the stove."""

    challenge: ClassVar[str] = "simple"

    rewards: str = one_of("dense", "dense", "balanced", "sparse")
    """How many of the steps score a point."""
    goal: str = one_of("detailed", "detailed", "brief", "none")
    """What the objective tells: every step, the food only, or nothing."""
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
class Cooking(Settings):
    """Read the cookbook, fetch and prepare the ingredients, eat the meal."""

    challenge: ClassVar[str] = "cooking"

    recipe: int = whole(1, 1, 5)
    """Ingredients of the recipe."""
    take: int = whole(0, 0, 5)
    """Ingredients that must be found, at most ``recipe``."""
    go: int = one_of(1, 1, 6, 9, 12)
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
        """Check every knob, and that no more is to be found than the recipe asks for."""
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


CHALLENGES: dict[str, type[Settings]] = {
    kind.challenge: kind for kind in (Custom, CoinCollector, TreasureHunter, Simple, Cooking)
}
"""The challenges by name."""


def by_size(world_size: int, nb_objects: int, quest_length: int) -> Custom:
    """Return what ``tw-make custom --world-size --nb-objects --quest-length`` stands for."""
    return Custom(
        world_size=world_size, nb_objects=nb_objects, quest_min_length=quest_length,
        quest_max_length=quest_length, quest_max_depth=quest_length,
    )  # fmt: skip

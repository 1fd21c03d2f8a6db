"""Which games belong to which split: disjoint seed ranges, and disjoint contents.

Task ``index`` of a split has the seed ``SEEDS[split] + index``. Disjoint seeds alone do not keep a
test game out of training: ``simple`` has 8,640 games in all and mazes of one or two rooms repeat,
so that seeds of different ranges lead to the same game. So in settings of up to
``MAX_ROOMS_BY_CONTENT`` rooms a hash of the game's content assigns it to a split, and a seed whose
game belongs to another split is redrawn. In larger settings games practically do not repeat (600
seeds gave 600 coin mazes of five rooms, 400 gave 400 of nine), and the second try would cost
seconds.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Mapping
from typing import Any

from agentgym.core.tasks import SPLITS, canonical_json
from agentgym.envs.textworld.generator.config import GeneratorConfig
from agentgym.envs.textworld.generator.generate import Game, NoSuchGame, make_game
from agentgym.errors import ConfigurationError, TaskNotFound

SEEDS = {"train": 0, "valid": 1_000_000_000, "test": 2_000_000_000}
"""First seed of each split."""
MAX_GAMES = 10_000_000
"""Games of a split; also the distance between the seeds of a game's tries."""
MAX_ROOMS_BY_CONTENT = 6
"""Settings with more rooms are split by seed alone."""
TRIES = 64
"""Seeds tried for one game; ``TRIES * MAX_GAMES`` stays within a split's range."""

WARN_AT = (3, 8, 16, 32)
"""Tries after which a search that found nothing is logged; a try can take seconds."""

_log = logging.getLogger(__name__)

GENERATOR_VERSION = 2
"""Raise it when anything here, or in ``generate``, that decides a split's games changes."""

_SHARES = ("train", "train", "valid", "test")
"""Splits by the remainder of a content's hash: half of all games are for training."""


def seed_of(split: str, index: int) -> int:
    """Return the seed of a game.

    Raises:
        TaskNotFound: There is no such split.
    """
    if split not in SEEDS:
        raise TaskNotFound(f"expected a split: one of {', '.join(SPLITS)}; got {split!r}")
    return SEEDS[split] + index


def place_of(seed: int) -> tuple[str, int] | None:
    """Return the split and index of a seed, or None where it belongs to none."""
    for split, first in SEEDS.items():
        if 0 <= seed - first < MAX_GAMES:
            return split, seed - first
    return None


def make_split_game(
    config: GeneratorConfig, split: str, index: int, make: Callable[..., Game] = make_game
) -> Game:
    """Generate game number ``index`` of a split.

    Its ``metadata["agentgym"]["seed"]`` is the seed that made it.

    Raises:
        ConfigurationError: No seed leads to a game that belongs here.
    """
    why = ""
    for attempt in range(TRIES):
        seed = seed_of(split, index) + attempt * MAX_GAMES
        try:
            game = make(config, seed, split)
        except NoSuchGame as error:
            why = f"; the last try says: {error}"
            if attempt + 1 in WARN_AT:
                _log.warning(
                    "%d of %d seeds gave no game for %s %d of the difficulty %r; trying on, but "
                    "it may ask too much of its rooms and objects: %s",
                    attempt + 1, TRIES, split, index, config.key(), error,
                )  # fmt: skip
            continue
        if split_of_content(config, game) in ("", split):
            return game
    raise ConfigurationError(
        f"expected a game for {split} {index} of the difficulty {config.key()!r}, but none of "
        f"{TRIES} seeds gave one; it has too few games, or asks too much: use more rooms or "
        f"objects, or a shorter quest{why}"
    )


def split_of_content(config: GeneratorConfig, game: Mapping[str, Any]) -> str:
    """Return the split of a game of a small setting; "" in large ones, where any will do."""
    if config.rooms > MAX_ROOMS_BY_CONTENT:
        return ""
    return _SHARES[int(fingerprint(game)[:8], 16) % len(_SHARES)]


def fingerprint(game: Mapping[str, Any]) -> str:
    """Hash a game's substance: its facts and events, with the names of the entities.

    Prose (descriptions, the wording of the objective) and the numbers of entities are left out, so
    that two games with the same fingerprint are the same task in other words. Entities without
    a name keep their number.
    """
    names = {entity: infos.get("name") or entity for entity, infos in game["infos"]}

    def named(facts: Any) -> list[list[str]]:
        return sorted(
            [
                fact["name"],
                *(names.get(argument["name"], argument["name"]) for argument in fact["arguments"]),
            ]
            for fact in facts
        )

    def ends(events: Any) -> list[Any]:
        return sorted(named(event["condition"]["preconditions"]) for event in events)

    quests = sorted(
        [quest["reward"], ends(quest["win_events"]), ends(quest["fail_events"])]
        for quest in game["quests"]
    )
    text = canonical_json([named(game["world"]), quests])
    return hashlib.sha256(text.encode()).hexdigest()

"""Making games with TextWorld's own generator, the same in every process."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from types import ModuleType
from typing import Any

from agentgym.envs.textworld.engine.session import NativeSession
from agentgym.envs.textworld.generator import upstream
from agentgym.envs.textworld.generator.config import Cooking, Custom, GeneratorConfig, Simple
from agentgym.envs.textworld.inform.story import Story
from agentgym.errors import ConfigurationError, DataError
from agentgym.support.text_lines import first_line

SEED_LIMIT = 2**32
"""Seeds are below this: TextWorld seeds numpy's MT19937 with them."""

Game = dict[str, Any]
"""A game as JSON, as ``textworld.Game.serialize`` writes it."""

_GRAMMAR = {"entity_numbering": "allowed_variables_numbering"}
_ENDS = {"place": ("put", "insert")}
"""Rules by which quests end, by the parameter ``quest_end``."""


class NoSuchGame(DataError):
    """The generator finds no game for this setting and seed."""


def make_game(config: GeneratorConfig, seed: int, split: str = "") -> Game:
    """Generate a game.

    It is the game that ``tw-make`` makes of the same parameters and seed, as JSON that
    ``textworld.Game.deserialize`` accepts. It does not depend on the process, on a hash seed or on
    a global generator; those of ``random``, ``numpy`` and ``textworld`` stay as they were. The
    split is read only by the parameter ``held_out_foods``. Games whose plan does not win are
    refused, be it by the rules or because Inform does not understand it: where a "safe" and an "old
    safe" are near, it asks which one is meant after every answer.

    Raises:
        ConfigurationError: The seed is out of range.
        NoSuchGame: The generator finds no game for this seed; another one may do.
        DependencyNotInstalled: The package ``textworld`` is missing.
    """
    if not 0 <= seed < SEED_LIMIT:
        raise ConfigurationError(f"expected a seed from 0 to {SEED_LIMIT - 1}, got {seed}")
    textworld = upstream.load_textworld()
    generators = upstream.preserve_generators(textworld, int(seed))
    with upstream.lock, generators, upstream.shared_grammars():
        try:
            game = _make(textworld, config, int(seed), split)
            commands = _plan(game)
            if not commands:
                raise ValueError("its plan does not win")
        except _failures() as error:
            raise NoSuchGame(
                f"expected a game for the difficulty {config.key()!r} and seed {seed}, but the "
                f"generator found none ({_first_line(error)}); use another seed or "
                "relax the parameters"
            ) from error
        data = json.loads(json.dumps(game.serialize()))
    data["metadata"]["agentgym"] = {
        "settings": config.key(), "seed": int(seed), "split": split, "plan": commands
    }  # fmt: skip
    data = upstream.normalise(data, game.kb)
    if not _can_be_typed(data, commands):
        raise NoSuchGame(
            f"expected a game for the difficulty {config.key()!r} and seed {seed} whose plan can "
            "be typed, but two things in it go by the same words; use another seed"
        )
    return data


def version() -> str:
    """Return the version of the installed ``textworld``, without importing it; "" if missing."""
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    try:
        return installed("textworld")
    except PackageNotFoundError:
        return ""


def stored_plan(game: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Return commands that win a game from its start, or None where the game holds none.

    Of a generated game they are TextWorld's ``policy_commands`` at the start. A game file of other
    origin has its walkthrough instead, which in ``cooking`` has commands to spare.
    """
    metadata = game["metadata"]
    commands = metadata.get("agentgym", {}).get("plan") or metadata.get("walkthrough")
    return tuple(commands) if commands else None


def _make(textworld: ModuleType, config: GeneratorConfig, seed: int, split: str) -> Any:
    """Run the generator on a fresh options object."""
    options = textworld.GameOptions()
    options.seeds = seed
    if isinstance(config, Custom):
        if config.quest_end in _ENDS:
            options.chaining = upstream.chaining_that_ends_by(*_ENDS[config.quest_end])
        _fill(options, config)
        options.kb = upstream.load_knowledge()
        return textworld.generator.make_game(options)
    parameters = asdict(config)
    if isinstance(config, Simple):
        parameters["test"] = parameters.pop("held_out_foods") and split in ("valid", "test")
    elif isinstance(config, Cooking):
        parameters["split"] = (split or None) if parameters.pop("held_out_foods") else None
        parameters["recipe_seed"] = 0
    make = textworld.challenges.CHALLENGES[f"tw-{config.challenge}"][1]
    with upstream.patched_challenge(textworld, make):
        return make(settings=parameters, options=options)


def _fill(options: Any, parameters: Custom) -> None:
    """Set the options that ``tw-make custom`` sets."""
    options.nb_rooms, options.nb_objects = parameters.world_size, parameters.nb_objects
    options.nb_parallel_quests = parameters.nb_parallel_quests
    for name in ("length", "breadth", "depth"):
        for bound in ("min", "max"):
            setattr(
                options.chaining, f"{bound}_{name}", getattr(parameters, f"quest_{bound}_{name}")
            )
    for name in ("theme", "include_adj", "entity_numbering", "blend_instructions",
                 "blend_descriptions", "only_last_action"):  # fmt: skip
        setattr(options.grammar, _GRAMMAR.get(name, name), getattr(parameters, name))


def _plan(game: Any) -> list[str]:
    """Return the commands of TextWorld's plan at the start; none where they do not win.

    With ``drop`` it has no plan; there the walkthrough is taken, without the commands that the
    rules forbid (opening an open door) or that change nothing.
    """
    rules = upstream.RuleTracker(game)
    policy = rules.policy()
    commands = []
    for command in policy or game.metadata.get("walkthrough") or ():
        action = rules.find(command)
        if action is not None and (policy or action.added or action.removed):
            rules.progress.update(action)
            commands.append(command)
    wins = rules.progress.completed and not rules.progress.failed and len(commands) >= len(policy)
    return commands if wins else []


def _can_be_typed(game: Game, commands: list[str]) -> bool:
    """Return whether the plan wins when it is typed."""
    Story.of(game).check()
    session = NativeSession(game)
    session.start()
    return any([session.act(command).won for command in commands])


def _failures() -> tuple[type[BaseException], ...]:
    """Return the exceptions that TextWorld raises where a seed leads to no game."""
    # TextWorld has an exception for two cases; in the others its code fails with a builtin one.
    from textworld.generator import QuestGenerationError
    from textworld.generator.world import NoFreeExitError

    return QuestGenerationError, NoFreeExitError, AssertionError, ValueError, IndexError, KeyError


def _first_line(error: BaseException) -> str:
    line = first_line(str(error))
    return f"{type(error).__name__}: {line}" if line else type(error).__name__

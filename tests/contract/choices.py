"""What every family lets a user choose, from the families' own declarations.

The contract tests run over these choices, so an expert, a reward or an engine that joins a family's
declaration is tested without a word here.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import gymnasium
import pytest

from agentgym.core.env import TextEnv
from agentgym.envs.alfworld import env as alfworld
from agentgym.envs.alfworld import session as alfworld_session
from agentgym.envs.alfworld.experts import EXPERTS
from agentgym.envs.alfworld.generator import DIFFICULTIES as HOUSEHOLDS
from agentgym.envs.babyai.engine.levels import DIFFICULTIES as LEVELS
from agentgym.envs.database import env as database
from agentgym.envs.database.experts import EXPERTS as CLERKS
from agentgym.envs.database.experts import FALLIBLE as GUESSERS
from agentgym.envs.database.generator.config import DIFFICULTIES as DATABASES
from agentgym.envs.mathpython import env as mathpython
from agentgym.envs.mathpython.experts import EXPERTS as MATHEMATICIANS
from agentgym.envs.mathpython.experts import FALLIBLE as HURRYING
from agentgym.envs.mathpython.generator import DIFFICULTIES as PROBLEMS
from agentgym.envs.search import env as search
from agentgym.envs.search.engine import session as search_session
from agentgym.envs.search.experts import EXPERTS as ANSWERERS
from agentgym.envs.search.experts import FALLIBLE as GUESSING
from agentgym.envs.search.generator.config import DIFFICULTIES as ENCYCLOPAEDIAS
from agentgym.envs.service import env as service
from agentgym.envs.service.domains import DOMAINS as BUSINESSES
from agentgym.envs.service.experts import EXPERTS as CLERKS_OF_SERVICE
from agentgym.envs.service.experts import FALLIBLE as CARELESS
from agentgym.envs.service.generator.config import DIFFICULTIES as CONVERSATIONS
from agentgym.envs.shell import env as shell
from agentgym.envs.shell.experts import EXPERTS as SHELL_USERS
from agentgym.envs.shell.experts import FALLIBLE as STRANGERS
from agentgym.envs.shell.generator.config import DIFFICULTIES as FOLDERS
from agentgym.envs.swe import env as swe
from agentgym.envs.swe.experts import EXPERTS as DEVELOPERS
from agentgym.envs.swe.instance import DIFFICULTIES
from agentgym.envs.textcraft import env as textcraft
from agentgym.envs.textcraft.experts import EXPERTS as CRAFTERS
from agentgym.envs.textcraft.experts import FALLIBLE as HASTY
from agentgym.envs.textcraft.generator import DIFFICULTIES as RECIPES
from agentgym.envs.textworld import session as textworld_session
from agentgym.envs.textworld.games.game_set import EXPERTS as PLAYERS
from agentgym.envs.textworld.games.game_set import FALLIBLE as COOKS
from agentgym.envs.textworld.generator.config import CHALLENGES, DEFAULT, NAMED
from agentgym.envs.textworld.rewards import REWARDS
from agentgym.envs.webshop import shared_shop
from agentgym.envs.webshop.engine import reward as webshop_reward
from agentgym.envs.webshop.env import SPEAKING
from agentgym.envs.webshop.experts import EXPERTS as SHOPPERS
from agentgym.envs.webshop.experts import FALLIBLE
from agentgym.envs.webshop.generator import DIFFICULTIES as SHOPS
from agentgym.registration import FAMILIES, family
from agentgym.retrieval import index_builder as building
from tests.envs.swe.boxed import NO_BOX

FEW = {"train": 12, "valid": 4, "test": 6}
"""Games of a generated TextWorld setting."""
LARGEST = "w8-o12-q16"
"""The setting of which one game takes seconds to generate."""
INDEX_PACKAGES = {"tantivy": ("tantivy",)}
"""Indexes that need packages."""
ORIGINALS = {"alfworld": ("alfworld", "fast_downward"), "inform7": ("textworld",)}
"""Engines of other people, which are slow, and the packages that they need."""
BOXED = tuple(entry.name for entry in FAMILIES if entry.boxed and entry.backend == "thread")
"""Families whose every command runs in a sandbox: their turns wait for another process."""
SWITCH = (False, True)


@dataclass(frozen=True)
class Configuration:
    """A family with some arguments, all others being at their defaults."""

    name: str
    """Short name of the family."""
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    """The arguments."""

    def __str__(self) -> str:
        """Name the configuration in the names of tests."""
        arguments = {key: value for key, value in self.kwargs.items() if key != "games"}
        return "-".join([self.name, *(f"{key}={value}" for key, value in arguments.items())])

    @property
    def tasks(self) -> int:
        """How many tasks a test plays: few where games have to be generated or engines are slow."""
        if self.slow or self.kwargs.get("difficulty") == LARGEST:
            return 1
        return 2 if "games" in self.kwargs or self.name == "mathpython" else 4

    def indices(self, size: int) -> list[int]:
        """Return the tasks that a test plays of a split, spread over it."""
        return [(2 * number + 1) * size // (2 * self.tasks) for number in range(self.tasks)]

    @property
    def slow(self) -> bool:
        """Whether every action asks another process: an original engine, or a sandbox."""
        return self.original or self.name in BOXED

    @property
    def original(self) -> bool:
        """Whether an engine of other people plays."""
        return self.kwargs.get("engine") in ORIGINALS

    @property
    def fallible(self) -> bool:
        """Whether the expert makes mistakes, as its family declares."""
        of: Mapping[str, Mapping[str, str] | tuple[str, ...]] = {
            "webshop": FALLIBLE, "search": GUESSING, "textworld": COOKS, "database": GUESSERS,
            "service": CARELESS, "shell": STRANGERS, "mathpython": HURRYING, "textcraft": HASTY,
        }  # fmt: skip
        return self.kwargs.get("expert") in of.get(self.name, {})

    def make(self, **more: Any) -> TextEnv:
        """Make the environment without wrappers, or skip the test if a package is missing."""
        needed = ORIGINALS.get(self.kwargs.get("engine", ""), ())
        needed += family(self.name).packages
        needed += INDEX_PACKAGES.get(self.kwargs.get("index", ""), ())
        if "games" in self.kwargs:
            needed += ("textworld",)
        for package in needed:
            if importlib.util.find_spec(package) is None:
                pytest.skip(f"{self} needs the package {package}")
        if family(self.name).boxed and NO_BOX:
            pytest.skip(f"{self} needs a sandbox: {NO_BOX}")
        env = gymnasium.make(family(self.name).id, **{**self.kwargs, **more}).unwrapped
        assert isinstance(env, TextEnv)
        return env


CHOICES: Mapping[str, Mapping[str, tuple[Any, ...]]] = {
    "alfworld": {
        "engine": alfworld_session.ENGINES,
        "expert": tuple(EXPERTS),
        "reward": alfworld.REWARDS,
        "difficulty": tuple(HOUSEHOLDS),
        "show_admissible": SWITCH,
    },
    # BabyAI's original reward falls with every step, so it pays no solved task in full.
    "babyai": {"reward": ("sparse",), "difficulty": tuple(LEVELS)},
    "database": {
        "expert": tuple(CLERKS),
        "reward": database.REWARDS,
        "difficulty": tuple(DATABASES),
    },
    "mathpython": {
        "expert": tuple(MATHEMATICIANS),
        "reward": mathpython.REWARDS,
        "difficulty": tuple(PROBLEMS),
    },
    "search": {
        "index": building.INDEXES,
        "expert": tuple(ANSWERERS),
        "reward": search.REWARDS,
        "difficulty": tuple(ENCYCLOPAEDIAS),
        "on_error": search_session.ON_ERROR,
        "shared_corpus": SWITCH,
        "first_search": SWITCH,
    },
    "service": {
        "domain": tuple(BUSINESSES),
        "expert": tuple(CLERKS_OF_SERVICE),
        "reward": service.REWARDS,
        "difficulty": tuple(CONVERSATIONS),
    },
    "shell": {
        "expert": tuple(SHELL_USERS),
        "reward": shell.REWARDS,
        "difficulty": tuple(FOLDERS),
    },
    "swe": {
        "expert": tuple(DEVELOPERS),
        "reward": swe.REWARDS,
        "allow_unsafe": SWITCH,
        "hidden_tests": SWITCH,
        "difficulty": DIFFICULTIES,
    },
    "textcraft": {
        "expert": tuple(CRAFTERS),
        "look_up": SWITCH,
        "reward": textcraft.REWARDS,
        "difficulty": tuple(RECIPES),
    },
    "textworld": {
        "engine": textworld_session.ENGINES,
        "expert": PLAYERS,
        "reward": REWARDS,
        "difficulty": tuple(NAMED),
        "challenge": tuple(CHALLENGES),
        "description": SWITCH,
        "brief": SWITCH,
        "inventory": SWITCH,
        "show_admissible": SWITCH,
    },
    "webshop": {
        "expert": tuple(SHOPPERS),
        "observation_mode": shared_shop.OBSERVATION_MODES,
        "reward": webshop_reward.REWARDS,
        "difficulty": tuple(SHOPS),
        "highlights": SWITCH,
        "show_score": SWITCH,
    },
}
"""Argument -> its values, by family. Every family accepts the reward ``sparse``."""
TOGETHER = {
    "alfworld": ("expert", "difficulty"),
    "search": ("expert", "difficulty"),
    "webshop": ("expert", "observation_mode"),
}
"""Pairs of arguments of which every combination is tried; others are tried one at a time."""
NEEDS: Mapping[tuple[str, Any], Mapping[str, Any]] = {
    **{("expert", name): {"observation_mode": "compact"} for name in SPEAKING},
    ("expert", "guessing"): {"challenge": "cooking", "games": FEW, "look_up": True},
    ("highlights", True): {"observation_mode": "compact"},
    ("engine", "inform7"): {"games": FEW},
    ("index", "tantivy"): {"size": 3000},
    ("engine", "alfworld"): {
        "difficulty": {"task_types": ["place"], "receptacles": 3, "distractors": 0}
    },
    **{("difficulty", name): {"games": FEW} for name in NAMED if name != DEFAULT},
    **{("challenge", name): {"games": FEW} for name in CHALLENGES},
}
"""What else a value asks for: another choice without which it is refused, or a small size."""


def _combinations(name: str) -> Iterator[dict[str, Any]]:
    """Yield the arguments of a family's configurations; some come twice."""
    choices = CHOICES[name]
    yield {}
    for argument, values in choices.items():
        yield from ({argument: value} for value in values)
    if name in TOGETHER:
        first, second = TOGETHER[name]
        yield from ({first: a, second: b} for a in choices[first] for b in choices[second])


def defaults(name: str) -> Mapping[str, Any]:
    """Return what holds where an argument is left out."""
    module, _, kind = family(name).entry_point.partition(":")
    maker = getattr(importlib.import_module(module), kind).__init__
    plain_defaults = {
        key: item.default for key, item in inspect.signature(maker).parameters.items()
    }
    return {**plain_defaults, "difficulty": DEFAULT} if name == "textworld" else plain_defaults


def _configurations() -> Iterator[Configuration]:
    configurations: list[Configuration] = []
    for name in CHOICES:
        usual = defaults(name)
        for combination in _combinations(name):
            kwargs = {key: value for key, value in combination.items() if value != usual[key]}
            needed = {
                key: value
                for choice in kwargs.items()
                for key, value in NEEDS.get(choice, {}).items()
                if key in usual  # another family may have a choice of the same name
            }
            if any(kwargs.get(key, value) != value for key, value in needed.items()):
                continue  # a combination that the family refuses
            configuration = Configuration(name, {**needed, **kwargs})
            if configuration not in configurations:
                configurations.append(configuration)
                yield configuration


CONFIGURATIONS = tuple(_configurations())


def over(configurations: Iterable[Configuration]) -> pytest.MarkDecorator:
    """Run a test over configurations, of which some are of the slow lane."""
    cases = [
        pytest.param(config, marks=[pytest.mark.slow] * config.slow) for config in configurations
    ]
    return pytest.mark.parametrize("configuration", cases, ids=str)


EVERY = over(CONFIGURATIONS)
"""Runs a test over every configuration."""
TASKS_ONLY = {"allow_unsafe", "difficulty"}
"""Choices that change no turn of a slow family: which tasks there are, and what may be missing."""
PLAYED = tuple(
    config
    for config in CONFIGURATIONS
    if not (config.slow and config.kwargs and TASKS_ONLY.issuperset(config.kwargs))
)
"""Every configuration in which turns may differ."""

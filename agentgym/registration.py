"""The one table of environment families, and their registration with Gymnasium.

Other distributions add families of their own by an entry point of the group ``agentgym.families``,
whose value is an `EnvFamily`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module, metadata
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import gymnasium

from agentgym.errors import ConfigurationError

if TYPE_CHECKING:
    from rich.console import Console

GROUP = "agentgym.families"
"""Group of the entry points that add families."""
Arguments = TypeVar("Arguments")


@dataclass(frozen=True, slots=True)
class Subcommand(Generic[Arguments]):
    """A subcommand of ``agentgym`` that a family brings.

    What its module imports is imported by every call of ``agentgym``: packages that are heavy
    belong into ``run``.
    """

    words: str
    """What is typed for it: one word, or two, such as ``swe build``, if it is one of several."""
    arguments: type[Arguments]
    """A dataclass of its own, as tyro reads it; its docstring and those of its fields are the
    help."""
    run: Callable[[Arguments, Console], int]
    """Carries it out: takes the arguments and where to print, and returns the exit code."""
    about: str = ""
    """What the first of two words stands for; it is enough that one of its subcommands says it."""


@dataclass(frozen=True, slots=True)
class EnvFamily:
    """One registered environment family."""

    name: str
    """Short name, for command lines."""
    id: str
    """Gymnasium id."""
    entry_point: str
    """``module:class`` of the environment."""
    summary: str
    """One line for people."""
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    """Default keyword arguments of the id."""
    play: Mapping[str, Any] = field(default_factory=dict)
    """Keyword arguments that suit a person at the terminal better; ``agentgym play`` takes them
    where the user sets nothing else."""
    packages: tuple[str, ...] = ()
    """Import names of the optional packages that the family needs beyond the core."""
    extra: str = ""
    """Extra of the distribution that installs them."""
    boxed: bool = False
    """Whether its tasks are played in a sandbox."""
    programs: tuple[str, ...] = ()
    """Programs that a sandbox has to have for them."""
    backend: str = "sync"
    """Back end of a vector environment that suits the family where none is asked for."""
    heavy: Mapping[str, Any] = field(default_factory=dict)
    """Keyword arguments that each make the engine heavy, or let it crash: worker processes suit
    environments that are made with one of them better."""
    subcommands: str = ""
    """``module:name`` of a tuple of `Subcommand`, which ``agentgym`` imports when it is called."""

    def backend_for(self, kwargs: Mapping[str, Any]) -> str:
        """Return the back end that suits environments made with these keyword arguments."""
        heavy = any(kwargs.get(name) == value for name, value in self.heavy.items())
        return "process" if heavy else self.backend

    def load_subcommands(self) -> tuple[Subcommand[Any], ...]:
        """Import what the family adds to ``agentgym``.

        Raises:
            ConfigurationError: It cannot be imported, or is no tuple of subcommands.
        """
        if not self.subcommands:
            return ()
        module, _, name = self.subcommands.partition(":")
        try:
            found = getattr(import_module(module), name)
            if not all(isinstance(one, Subcommand) for one in found):
                raise TypeError(f"got {found!r:.80}")
        except Exception as error:
            raise ConfigurationError(
                f"expected the family {self.name} to have a tuple of Subcommand at "
                f"{self.subcommands}, but: {type(error).__name__}: {error}; install its package "
                "again, or uninstall it"
            ) from error
        return tuple(found)


FAMILIES: tuple[EnvFamily, ...] = (
    EnvFamily(
        name="alfworld",
        id="agentgym/ALFWorld-v0",
        entry_point="agentgym.envs.alfworld.env:ALFWorldEnv",
        summary="Do a household task in a room: find, clean, heat, cool, place, look at.",
        heavy={"engine": "alfworld"},
    ),
    EnvFamily(
        name="babyai",
        id="agentgym/BabyAI-v0",
        entry_point="agentgym.envs.babyai.env:BabyAIEnv",
        summary="Do what a sentence asks in a world of rooms, doors and things.",
        packages=("minigrid",),
        extra="babyai",
    ),
    EnvFamily(
        name="database",
        id="agentgym/Database-v0",
        entry_point="agentgym.envs.database.env:DatabaseEnv",
        summary="Answer questions about a database, and change it, by SQL.",
    ),
    EnvFamily(
        name="mathpython",
        id="agentgym/MathPython-v0",
        entry_point="agentgym.envs.mathpython.env:MathPythonEnv",
        summary="Solve a problem of mathematics with a calculator and Python in a sandbox.",
        boxed=True,
        programs=("python3",),
    ),
    EnvFamily(
        name="search",
        id="agentgym/Search-v0",
        entry_point="agentgym.envs.search.env:SearchEnv",
        summary="Answer a question by several searches in a corpus.",
        subcommands="agentgym.envs.search.subcommands:SUBCOMMANDS",
    ),
    EnvFamily(
        name="shell",
        id="agentgym/Shell-v0",
        entry_point="agentgym.envs.shell.env:ShellEnv",
        summary="Answer questions about files, and change them, by commands in a sandbox.",
        boxed=True,
        backend="thread",
    ),
    EnvFamily(
        name="swe",
        id="agentgym/SWE-v0",
        entry_point="agentgym.envs.swe.env:SWEEnv",
        summary="Repair a repository in a sandbox so that its failing tests pass.",
        packages=("pytest",),
        extra="swe",
        boxed=True,
        backend="thread",
        subcommands="agentgym.envs.swe.subcommands:SUBCOMMANDS",
    ),
    EnvFamily(
        name="textcraft",
        id="agentgym/TextCraft-v0",
        entry_point="agentgym.envs.textcraft.env:TextCraftEnv",
        summary="Craft a thing by the recipes shown, from parts that have recipes, too.",
    ),
    EnvFamily(
        name="textworld",
        id="agentgym/TextWorld-v0",
        entry_point="agentgym.envs.textworld.env:TextWorldEnv",
        summary="Reach the objective of a text adventure: explore, unlock, take, cook.",
        heavy={"engine": "inform7"},
    ),
    EnvFamily(
        name="webshop",
        id="agentgym/WebShop-v0",
        entry_point="agentgym.envs.webshop.env:WebShopEnv",
        summary="Find and buy the product that an instruction describes.",
        play={"observation_mode": "text_rich"},
        subcommands="agentgym.envs.webshop.subcommands:SUBCOMMANDS",
    ),
)
"""The families of the suite."""


@cache
def families() -> tuple[EnvFamily, ...]:
    """Return the families of the suite, and those that other distributions add; registers these.

    Raises:
        ConfigurationError: One that is added cannot be loaded, or has a name that is taken.
    """
    found = {entry.name: entry for entry in FAMILIES}
    for point in metadata.entry_points(group=GROUP):
        try:
            entry = point.load()
            if not isinstance(entry, EnvFamily):
                raise TypeError(f"got {entry!r:.80}")
        except Exception as error:
            raise ConfigurationError(
                f"expected the entry point {point.name} = {point.value} of {GROUP} to be an "
                f"EnvFamily, but: {type(error).__name__}: {error}; install its package again, or "
                "uninstall it"
            ) from error
        if found.setdefault(entry.name, entry) != entry:
            raise ConfigurationError(
                f"expected one family named {entry.name!r}, but {found[entry.name].id} and "
                f"{entry.id} of the entry point {point.value} both are: uninstall its package"
            )
        _register(entry)
    return tuple(found.values())


def family(name: str) -> EnvFamily:
    """Return the family of a short name or id.

    ``"webshop"``, ``"WebShop-v0"`` and ``"agentgym/WebShop-v0"`` are one; case is ignored.

    Raises:
        ConfigurationError: No family has this name; lists those that exist.
    """
    wanted = name.lower().removeprefix("agentgym/")
    for entry in families():
        short = entry.id.lower().removeprefix("agentgym/")
        if wanted in (entry.name, short, short.rsplit("-v", 1)[0]):
            return entry
    known = ", ".join(entry.name for entry in families())
    raise ConfigurationError(f"expected the name of an environment ({known}), got {name!r}")


def register_all() -> None:
    """Register the ids of the suite with Gymnasium; entry points stay strings, so this is cheap."""
    for entry in FAMILIES:
        _register(entry)


def _register(entry: EnvFamily) -> None:
    if entry.id not in gymnasium.registry:
        gymnasium.register(
            entry.id,
            entry_point=entry.entry_point,
            vector_entry_point=f"agentgym.vector.entry:{entry.name}",
            kwargs=dict(entry.kwargs),
        )

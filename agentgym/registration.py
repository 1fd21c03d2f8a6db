"""The one table of environment families, and their registration with Gymnasium.

Other distributions add families of their own by an entry point of the group ``agentgym.families``,
whose value is an `EnvFamily`, and commands by one of ``agentgym.commands``, whose value is a
`Command`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
COMMANDS = "agentgym.commands"
"""Group of the entry points that add commands."""
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
class NamedTaskSet:
    """Tasks of a family under a name: ``webshop:easy`` wherever an environment is named."""

    name: str
    """What stands behind the colon: a plain word."""
    summary: str
    """One line for people."""
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    """Keyword arguments of the environment beyond those of its id."""


STANDARD = NamedTaskSet("standard", "The default arguments of the environment.")
"""The task set that every family has: the one of its bare name, but for the trainer."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command that another package adds to ``agentgym``, and which reads its own arguments.

    The name of its entry point, such as ``train``, is what is typed for it. Its module is imported
    to list the commands: heavy packages belong into ``main``.
    """

    summary: str
    """What it does, in one line."""
    main: Callable[[Sequence[str]], int]
    """Carries it out: takes what was typed behind it, and returns the exit code."""
    arguments: Callable[[], type]
    """Returns the dataclass of its arguments, for tools that look at the flags of all commands."""


@cache
def commands() -> Mapping[str, Command]:
    """Return the commands that other packages add, by what is typed for them.

    Raises:
        ConfigurationError: One cannot be loaded.
    """
    loaded: dict[str, Command] = {}
    for point in metadata.entry_points(group=COMMANDS):
        try:
            command = point.load()
            if not isinstance(command, Command):
                raise TypeError(f"got {command!r:.80}")
        except Exception as error:
            raise ConfigurationError(
                f"expected the entry point {point.name} = {point.value} of {COMMANDS} to be a "
                f"Command, but: {type(error).__name__}: {error}; install its package again, or "
                "uninstall it"
            ) from error
        loaded[point.name] = command
    return loaded


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
    task_sets: tuple[NamedTaskSet, ...] = ()
    """Its named task sets besides ``standard``. `agentgym train` with the bare name of the family
    trains on the first of them."""
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

    def __post_init__(self) -> None:
        """Check the names of the task sets.

        Raises:
            ConfigurationError: One is no plain word, or is there twice.
        """
        names = [task_set.name for task_set in self.all_task_sets]
        wrong = [name for name in names if not name.isidentifier() or names.count(name) > 1]
        if wrong:
            raise ConfigurationError(
                f"expected task sets of {self.name} with different names of one word, got "
                f"{', '.join(wrong)}"
            )

    @property
    def all_task_sets(self) -> tuple[NamedTaskSet, ...]:
        """The named task sets, ``standard`` first."""
        return (STANDARD, *self.task_sets)

    @property
    def training_set(self) -> NamedTaskSet:
        """The task set that the bare name of the family means to the trainer."""
        return self.all_task_sets[1 if self.task_sets else 0]

    def task_set(self, name: str) -> NamedTaskSet:
        """Return the task set of a name.

        Raises:
            ConfigurationError: There is none of this name; lists those there are.
        """
        for task_set in self.all_task_sets:
            if task_set.name == name.lower():
                return task_set
        known = ", ".join(f"{self.name}:{task_set.name}" for task_set in self.all_task_sets)
        module = (
            ""
            if name.isidentifier()
            else f"; in MODULE:ID the module cannot be called {self.name}, which is a family"
        )
        raise ConfigurationError(
            f"expected a task set of {self.name} ({known}), got {name!r:.80}{module}"
        )

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
        task_sets=(
            NamedTaskSet(
                "clean",
                "Small rooms and one kind of task: put a clean thing in its place; 8 turns.",
                {
                    "difficulty": "easy",
                    "task_types": "clean",
                    "receptacles": 3,
                    "distractors": 1,
                    "ready": 45,
                    "horizon": 8,
                },
            ),
        ),
        heavy={"engine": "alfworld"},
    ),
    EnvFamily(
        name="babyai",
        id="agentgym/BabyAI-v0",
        entry_point="agentgym.envs.babyai.env:BabyAIEnv",
        summary="Do what a sentence asks in a world of rooms, doors and things.",
        task_sets=(
            NamedTaskSet(
                "easy",
                "The easy levels; 12 turns.",
                {"difficulty": "easy", "horizon": 12},
            ),
        ),
        packages=("minigrid",),
        extra="babyai",
    ),
    EnvFamily(
        name="database",
        id="agentgym/Database-v0",
        entry_point="agentgym.envs.database.env:DatabaseEnv",
        summary="Answer questions about a database, and change it, by SQL.",
        task_sets=(
            NamedTaskSet(
                "easy",
                "The easy questions; 4 turns.",
                {"difficulty": "easy", "horizon": 4},
            ),
        ),
    ),
    EnvFamily(
        name="mathpython",
        id="agentgym/MathPython-v0",
        entry_point="agentgym.envs.mathpython.env:MathPythonEnv",
        summary="Solve a problem of mathematics with a calculator and Python in a sandbox.",
        task_sets=(
            NamedTaskSet(
                "easy",
                "The easy problems; 3 turns.",
                {"difficulty": "easy", "horizon": 3},
            ),
        ),
        boxed=True,
        programs=("python3",),
    ),
    EnvFamily(
        name="search",
        id="agentgym/Search-v0",
        entry_point="agentgym.envs.search.env:SearchEnv",
        summary="Answer a question by several searches in a corpus.",
        task_sets=(
            NamedTaskSet(
                "local",
                "Plain articles and questions of two steps, one passage a page; 4 turns.",
                {"difficulty": "local", "topk": 1, "horizon": 4},
            ),
        ),
        subcommands="agentgym.envs.search.subcommands:SUBCOMMANDS",
    ),
    EnvFamily(
        name="shell",
        id="agentgym/Shell-v0",
        entry_point="agentgym.envs.shell.env:ShellEnv",
        summary="Answer questions about files, and change them, by commands in a sandbox.",
        task_sets=(
            NamedTaskSet(
                "easy",
                "The easy tasks; 4 turns.",
                {"difficulty": "easy", "horizon": 4},
            ),
        ),
        boxed=True,
        backend="thread",
    ),
    EnvFamily(
        name="swe",
        id="agentgym/SWE-v0",
        entry_point="agentgym.envs.swe.env:SWEEnv",
        summary="Repair a repository in a sandbox so that its failing tests pass.",
        task_sets=(
            NamedTaskSet(
                "brief",
                "The bundled tasks with at most 1,500 characters an observation; 20 turns.",
                {"max_observation_chars": 1500, "horizon": 20},
            ),
        ),
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
        summary="Craft an item by recipe, after crafting the ingredients it needs.",
        task_sets=(
            NamedTaskSet(
                "lookup",
                "Easy goals, and an action that looks up recipes; 4 turns.",
                {"difficulty": "easy", "look_up": True, "horizon": 4},
            ),
        ),
    ),
    EnvFamily(
        name="textworld",
        id="agentgym/TextWorld-v0",
        entry_point="agentgym.envs.textworld.env:TextWorldEnv",
        summary="Reach the objective of a text adventure: explore, unlock, take, cook.",
        task_sets=(
            NamedTaskSet(
                "cooking",
                "One dish to cook in one kitchen, in short texts; 5 turns.",
                {"difficulty": "cooking,cook=true", "brief": True, "horizon": 5},
            ),
        ),
        heavy={"engine": "inform7"},
    ),
    EnvFamily(
        name="webshop",
        id="agentgym/WebShop-v0",
        entry_point="agentgym.envs.webshop.env:WebShopEnv",
        summary="Find and buy the product that an instruction describes.",
        task_sets=(
            NamedTaskSet(
                "easy",
                "Easy instructions in a shop of 2,000 products, on compact pages; 9 turns.",
                {
                    "difficulty": "easy",
                    "size": 2000,
                    "observation_mode": "compact",
                    "horizon": 9,
                },
            ),
        ),
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
    if (entry := find_family(name)) is not None:
        return entry
    known = ", ".join(entry.name for entry in families())
    raise ConfigurationError(f"expected the name of an environment ({known}), got {name!r}")


def find_family(name: str) -> EnvFamily | None:
    """Return the family of a short name or id, as `family` does; None if no family has it."""
    wanted = name.lower().removeprefix("agentgym/")
    for entry in families():
        short = entry.id.lower().removeprefix("agentgym/")
        if wanted in (entry.name, short, short.rsplit("-v", 1)[0]):
            return entry
    return None


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

"""The table of environment families, and their registration with Gymnasium.

Other distributions add families by an entry point of the group ``agentgym.families`` with an
`EnvFamily` as its value, and commands by one of the group ``agentgym.commands`` with a `Command`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module, metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import gymnasium

from agentgym.errors import ConfigurationError
from agentgym.support.guesses import with_guesses

if TYPE_CHECKING:
    from rich.console import Console

GROUP = "agentgym.families"
"""Group of the entry points that add families."""
COMMANDS = "agentgym.commands"
"""Group of the entry points that add commands."""
Arguments = TypeVar("Arguments")


@dataclass(frozen=True, slots=True)
class Subcommand(Generic[Arguments]):
    """A subcommand of ``agentgym`` that a family adds.

    Its module is imported by every call of ``agentgym``: import heavy packages in ``run``.
    """

    words: str
    """Name of the command: one word, or two such as ``swe build`` for a command within a group."""
    arguments: type[Arguments]
    """A dataclass; the docstrings of the class and its fields are the help."""
    run: Callable[[Arguments, Console], int]
    """Runs the command: takes the arguments and the output stream, and returns the exit code."""
    about: str = ""
    """Description of the group, such as ``swe``; only one of its subcommands needs to set it."""


@dataclass(frozen=True, slots=True)
class NamedTaskSet:
    """A named task set of a family, such as ``webshop:easy``."""

    name: str
    """Name after the colon: a plain word."""
    summary: str
    """Description in one line."""
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    """Keyword arguments of the environment, added to those of its id."""
    demonstrator: str = ""
    """Value of the environment's argument ``expert`` when training on this set imitates the
    demonstrator; empty: the environment's default. The tasks do not depend on it."""


STANDARD = NamedTaskSet("standard", "The default arguments of the environment.")
"""The task set that every family has; its bare name means this set, except in training."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command that another package adds to ``agentgym`` and that parses its own arguments.

    The name of its entry point, such as ``train``, is the name of the command. Its module is
    imported to list the commands: import heavy packages in ``main``.
    """

    summary: str
    """Description in one line."""
    main: Callable[[Sequence[str]], int]
    """Runs the command: takes its command-line arguments, and returns the exit code."""
    arguments: Callable[[], type]
    """Returns the dataclass of its arguments, for tools that inspect the flags of all commands."""


@cache
def commands() -> Mapping[str, Command]:
    """Return the commands that other packages add, by name.

    Raises:
        ConfigurationError: A command cannot be loaded.
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
    """A registered environment family."""

    name: str
    """Short name, for command lines."""
    id: str
    """Gymnasium id."""
    entry_point: str
    """``module:class`` of the environment."""
    summary: str
    """Description in one line."""
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    """Default keyword arguments of the id."""
    task_sets: tuple[NamedTaskSet, ...] = ()
    """Its named task sets besides ``standard``. `agentgym train` with the bare name of the family
    trains on the first of them."""
    play: Mapping[str, Any] = field(default_factory=dict)
    """Keyword arguments suited to human players; defaults of ``agentgym play``."""
    packages: tuple[str, ...] = ()
    """Import names of the optional packages that the family needs beyond the core."""
    extra: str = ""
    """Extra of the distribution that installs them."""
    boxed: bool = False
    """Whether its tasks run in a sandbox."""
    programs: tuple[str, ...] = ()
    """Programs that the sandbox must provide."""
    backend: str = "sync"
    """Default backend of vector environments of the family."""
    heavy: Mapping[str, Any] = field(default_factory=dict)
    """Keyword arguments that select a slow or crash-prone engine. Environments with one of them use
    worker processes as their default backend."""
    data: str = ""
    """What the argument ``data`` reads in place of generated tasks."""
    subcommands: str = ""
    """``module:name`` of a tuple of `Subcommand`, imported by every call of ``agentgym``."""

    def __post_init__(self) -> None:
        """Check the names of the task sets.

        Raises:
            ConfigurationError: A name is not a plain word, or occurs twice.
        """
        names = [task_set.name for task_set in self.all_task_sets]
        bad_names = [name for name in names if not name.isidentifier() or names.count(name) > 1]
        if bad_names:
            raise ConfigurationError(
                f"expected task sets of {self.name} with different names of one word, got "
                f"{', '.join(bad_names)}"
            )

    @property
    def all_task_sets(self) -> tuple[NamedTaskSet, ...]:
        """The named task sets, ``standard`` first."""
        return (STANDARD, *self.task_sets)

    @property
    def training_set(self) -> NamedTaskSet:
        """The task set that the trainer uses for the bare name of the family."""
        return self.all_task_sets[1 if self.task_sets else 0]

    def task_set(self, name: str) -> NamedTaskSet:
        """Return the task set with a name.

        Raises:
            ConfigurationError: There is no such task set; the message lists the existing ones.
        """
        for task_set in self.all_task_sets:
            if task_set.name == name.lower():
                return task_set
        names = ", ".join(f"{self.name}:{task_set.name}" for task_set in self.all_task_sets)
        module = (
            ""
            if name.isidentifier()
            else f"; in MODULE:ID the module cannot be called {self.name}, which is a family"
        )
        raise ConfigurationError(
            f"expected a task set of {self.name} ({names}), got {name!r:.80}{module}"
        )

    def backend_for(self, kwargs: Mapping[str, Any]) -> str:
        """Return the default backend of environments with these keyword arguments."""
        heavy = any(kwargs.get(name) == value for name, value in self.heavy.items())
        return "process" if heavy else self.backend

    def load_subcommands(self) -> tuple[Subcommand[Any], ...]:
        """Import the subcommands that the family adds to ``agentgym``.

        Raises:
            ConfigurationError: The object cannot be imported, or is not a tuple of subcommands.
        """
        if not self.subcommands:
            return ()
        module, _, name = self.subcommands.partition(":")
        try:
            subcommands = getattr(import_module(module), name)
            if not all(isinstance(subcommand, Subcommand) for subcommand in subcommands):
                raise TypeError(f"got {subcommands!r:.80}")
        except Exception as error:
            raise ConfigurationError(
                f"expected the family {self.name} to have a tuple of Subcommand at "
                f"{self.subcommands}, but: {type(error).__name__}: {error}; install its package "
                "again, or uninstall it"
            ) from error
        return tuple(subcommands)


def _family(row: dict[str, Any]) -> EnvFamily:
    task_sets = tuple(NamedTaskSet(**task_set) for task_set in row.pop("task_sets"))
    lists = {name: tuple(row.get(name, ())) for name in ("packages", "programs")}
    return EnvFamily(**{**row, **lists, "task_sets": task_sets})


FAMILIES = tuple(map(_family, json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))))
"""The families of the suite, which ``families.json`` holds."""


@cache
def families() -> tuple[EnvFamily, ...]:
    """Return the families of the suite and of other distributions; registers the latter.

    Raises:
        ConfigurationError: An added family cannot be loaded, or its name is taken.
    """
    entries = {entry.name: entry for entry in FAMILIES}
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
        if entries.setdefault(entry.name, entry) != entry:
            raise ConfigurationError(
                f"expected one family named {entry.name!r}, but {entries[entry.name].id} and "
                f"{entry.id} of the entry point {point.value} both are: uninstall its package"
            )
        _register(entry)
    return tuple(entries.values())


def family(name: str) -> EnvFamily:
    """Return the family with a short name or id.

    ``"webshop"``, ``"WebShop-v0"`` and ``"agentgym/WebShop-v0"`` are equivalent; case is ignored.

    Raises:
        ConfigurationError: No family has this name; the message lists the existing ones.
    """
    if (entry := find_family(name)) is not None:
        return entry
    names = [entry.name for entry in families()]
    listing, actual = ", ".join(names), with_guesses([name], names)
    raise ConfigurationError(f"expected the name of an environment ({listing}), got {actual}")


def find_family(name: str) -> EnvFamily | None:
    """Return the family with a short name or id, like `family`; None if there is none."""
    short_name = name.lower().removeprefix("agentgym/")
    for entry in families():
        short = entry.id.lower().removeprefix("agentgym/")
        if short_name in (entry.name, short, short.rsplit("-v", 1)[0]):
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

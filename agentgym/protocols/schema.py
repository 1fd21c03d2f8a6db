"""Data classes of protocols: how a paper evaluates, for one or several environments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agentgym.conversation import Layout
from agentgym.errors import ConfigurationError
from agentgym.support.typed_json import read_json

VALUES = ("score", "success")
"""Quantities of which a figure can be the mean."""


@dataclass(frozen=True)
class ProtocolFigure:
    """A figure as a paper prints it."""

    name: str
    """Its name there."""
    value: str = "success"
    """The averaged quantity, one of `VALUES`."""
    scale: float = 1.0
    """Factor of the mean: 100 if the paper prints percentages."""
    where: Mapping[str, str] = field(default_factory=dict)
    """Labels of the tasks that it is about, such as ``task_type``; all tasks if it is empty."""

    def __post_init__(self) -> None:
        """Validate.

        Raises:
            ConfigurationError: The value is none that episodes have.
        """
        if self.value not in VALUES:
            raise ConfigurationError(
                f"expected the value of the figure {self.name!r:.80} to be one of "
                f"{', '.join(VALUES)}; got {self.value!r:.80}"
            )


@dataclass(frozen=True)
class OfficialData:
    """The official data that a protocol is about."""

    argument: str
    """Argument of the environment that names its folder."""
    variable: str
    """Environment variable that names it where the argument is not given."""
    remedy: str
    """How to get it."""
    env: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of the environment that go with it."""


@dataclass(frozen=True)
class Items:
    """The names that a paper has for the tasks: a prefix and a number."""

    prefix: str
    """Text before the number."""
    order: tuple[str, ...] = ()
    """The numbers count the tasks of these splits, one after the other."""
    task_id: str = ""
    """Or: template of the id of a task, with the field ``{name}``."""
    names: Mapping[int, str] = field(default_factory=dict)
    """And the name of each number."""
    listed_in: str = ""
    """Where the list of the items that are played is to be had, if it is not here."""
    count: int | None = None
    """Number of items to play."""


@dataclass(frozen=True)
class TaskChoice:
    """The tasks that are played."""

    split: str
    """Their split."""
    also: tuple[str, ...] = ()
    """Splits that the paper reports, too."""
    sizes: Mapping[str, int] = field(default_factory=dict)
    """Numbers of tasks of these splits."""
    items: Items | None = None
    """Names for single tasks; if they are listed, they are played in this order."""


@dataclass(frozen=True)
class Setup:
    """How a protocol evaluates in one environment."""

    protocol: str
    """Name of the protocol."""
    sha256: str
    """Hash of its file."""
    env: str
    """Short name or id of the environment."""
    tasks: TaskChoice
    """The tasks that are played."""
    horizon: int | None = None
    """Turn budget; None: the environment's own."""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of the environment, its grammar among them."""
    data: OfficialData | None = None
    """The official data that it is about."""
    sampling: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the model, such as ``temperature``."""
    layout: Layout | None = None
    """How prompts are laid out; None: as the policy does."""
    figures: tuple[ProtocolFigure, ...] = ()
    """Figures that the paper prints."""


@dataclass(frozen=True)
class Protocol:
    """How a paper evaluates."""

    name: str
    """Its name."""
    about: str
    """Description in one sentence."""
    sources: tuple[str, ...]
    """Paper and code that it follows."""
    differences: tuple[str, ...]
    """What is known to be other here than there."""
    setups: Mapping[str, Setup]
    """Environment -> how it is evaluated."""
    path: Path
    """Its file."""

    def setup(self, env_name: str, env_id: str) -> Setup:
        """Return how an environment is evaluated.

        Args:
            env_name: Short name of the environment.
            env_id: Its id.

        Raises:
            ConfigurationError: The protocol does not cover it.
        """
        for key in (env_name, env_id):
            if key in self.setups:
                return self.setups[key]
        raise ConfigurationError(
            f"expected an environment of the protocol {self.name} ({', '.join(self.setups)}), got "
            f"{env_name}; a file with a section [{env_name}] makes a protocol for it"
        )


@dataclass(frozen=True)
class ProtocolUse:
    """The protocol of an evaluation, as its report keeps it."""

    name: str
    """Its name."""
    sha256: str
    """Hash of its file."""
    tasks: int | None = None
    """Number of tasks that it plays; None: any."""
    figures: tuple[ProtocolFigure, ...] = ()
    """Figures that it prints."""
    departures: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
    """Settings that are not the protocol's: name -> (the protocol's, the one that was used)."""

    @property
    def identity(self) -> str:
        """Name and version of the file, which tell protocols apart."""
        return f"{self.name} {self.sha256[:16]}"

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> ProtocolUse:
        """Read the output of ``dataclasses.asdict``.

        Raises:
            ConfigurationError: A figure is of something that episodes do not have.
            DataError: It is none.
        """
        return read_json(cls, data, "protocol")

"""The one table of environment families, and their registration with Gymnasium."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import gymnasium

from agentgym.errors import ConfigurationError


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
    backend: str = "sync"
    """Back end of a vector environment that suits the family where none is asked for."""
    heavy: Mapping[str, Any] = field(default_factory=dict)
    """Keyword arguments that each make the engine heavy, or let it crash: worker processes suit
    environments that are made with one of them better."""

    def backend_for(self, kwargs: Mapping[str, Any]) -> str:
        """Return the back end that suits environments made with these keyword arguments."""
        heavy = any(kwargs.get(name) == value for name, value in self.heavy.items())
        return "process" if heavy else self.backend


FAMILIES: tuple[EnvFamily, ...] = (
    EnvFamily(
        name="alfworld",
        id="agentgym/ALFWorld-v0",
        entry_point="agentgym.envs.alfworld.env:ALFWorldEnv",
        summary="Do a household task in a room: find, clean, heat, cool, place, look at.",
        heavy={"engine": "alfworld"},
    ),
    EnvFamily(
        name="search",
        id="agentgym/Search-v0",
        entry_point="agentgym.envs.search.env:SearchEnv",
        summary="Answer a question by several searches in a corpus.",
    ),
    EnvFamily(
        name="swe",
        id="agentgym/SWE-v0",
        entry_point="agentgym.envs.swe.env:SWEEnv",
        summary="Repair a repository in a sandbox so that its failing tests pass.",
        packages=("pytest",),
        extra="swe",
        backend="thread",
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
    ),
)


def family(name: str) -> EnvFamily:
    """Return the family of a short name or id.

    ``"webshop"``, ``"WebShop-v0"`` and ``"agentgym/WebShop-v0"`` are one; case is ignored.

    Raises:
        ConfigurationError: No family has this name; lists those that exist.
    """
    wanted = name.lower().removeprefix("agentgym/")
    for entry in FAMILIES:
        short = entry.id.lower().removeprefix("agentgym/")
        if wanted in (entry.name, short, short.rsplit("-v", 1)[0]):
            return entry
    known = ", ".join(entry.name for entry in FAMILIES)
    raise ConfigurationError(f"expected the name of an environment ({known}), got {name!r}")


def register_all() -> None:
    """Register every family's id with Gymnasium; entry points stay strings, so this is cheap."""
    for entry in FAMILIES:
        if entry.id not in gymnasium.registry:
            gymnasium.register(
                entry.id,
                entry_point=entry.entry_point,
                vector_entry_point=f"agentgym.vector.entry:{entry.name}",
                kwargs=dict(entry.kwargs),
            )

"""The table of methods: those of this package, then those of other packages.

A method is known by its name here, and imported when a preset or a flag names it. The order is that
in which their presets, flags and checks come: the names of `BUILT_IN`, then entry points by their
names. A folder that is not there is passed over, so that deleting it removes the method.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import MappingProxyType
from typing import Any

from agentgym.errors import ConfigurationError
from trainers.methods.method import Method

__all__ = ["BUILT_IN", "GROUP", "get_method", "in_flight", "lag_of", "method_names", "methods"]

BUILT_IN = (
    "async_rollouts", "cross_policy", "critic", "turn_critic", "reward_model", "distill", "forks",
    "refill", "judges", "gateway",
)  # fmt: skip
"""Folders beside this file; ``method.py`` of each holds its ``METHOD``."""
GROUP = "agentgym.methods"
"""Group of the entry points of other packages, each the name of a `Method`."""


@cache
def _entries() -> Mapping[str, EntryPoint]:
    """Return where each method is, by name.

    Raises:
        ConfigurationError: A name of an entry point is taken.
    """
    package, folder = __name__.rpartition(".")[0], Path(__file__).parent
    folders = [name for name in BUILT_IN if (folder / name / "method.py").exists()]
    builtin = [EntryPoint(name, f"{package}.{name}.method:METHOD", GROUP) for name in folders]
    entries = {point.name: point for point in builtin}
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        if point.name in entries:
            raise ConfigurationError(
                f"expected a name of its own for the entry point {point.name} = {point.value} of "
                f"the group {GROUP}, got {point.name!r}, which is taken"
            )
        entries[point.name] = point
    return MappingProxyType(entries)


def method_names() -> tuple[str, ...]:
    """Return the name of every method; none is imported."""
    return (*_entries(),)


@cache
def get_method(name: str) -> Method | None:
    """Import a method by its name; None: there is none.

    Raises:
        ConfigurationError: An entry point names something else.
    """
    point = _entries().get(name)
    method = None if point is None else point.load()
    if point is None or (isinstance(method, Method) and method.name == name):
        return method
    raise ConfigurationError(
        f"expected the entry point {name} = {point.value} of the group {GROUP} to name a "
        f"trainers.methods.method.Method of the same name, got {method!r:.80}"
    )


@cache
def methods() -> tuple[Method, ...]:
    """Import every method."""
    return tuple(method for name in method_names() if (method := get_method(name)) is not None)


def lag_of(config: Any) -> int:
    """Return how many steps generation runs ahead of training with some settings."""
    return max((method.lag(config) for method in methods()), default=0)


def in_flight(config: Any) -> int:
    """Return how many episodes of training play at a time with some settings, if memory allows."""
    return max((method.in_flight(config) for method in methods()), default=0) or config.rl.episodes

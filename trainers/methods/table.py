"""The table of methods: those of this package, then those of other packages.

The order is that in which their presets, flags and checks come: the names of `BUILT_IN`, then
entry points by their names. A folder that is not there is passed over, so that deleting it removes
the method.
"""

from __future__ import annotations

import importlib
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from agentgym.errors import ConfigurationError
from trainers.methods.method import Method

__all__ = ["BUILT_IN", "GROUP", "lag_of", "methods"]

BUILT_IN = (
    "async_rollouts", "cross_policy", "critic", "turn_critic", "reward_model", "distillation",
    "forks", "refill", "judges", "gateway",
)  # fmt: skip
"""Folders beside this file; ``method.py`` of each holds its ``METHOD``."""
GROUP = "agentgym.methods"
"""Group of the entry points of other packages, each the name of a `Method`."""


@cache
def methods() -> tuple[Method, ...]:
    """Return every method.

    Raises:
        ConfigurationError: An entry point names something else, or a name is taken.
    """
    package = __name__.rpartition(".")[0]
    here = Path(__file__).parent
    folders = [name for name in BUILT_IN if (here / name / "method.py").exists()]
    modules = [importlib.import_module(f"{package}.{name}.method") for name in folders]
    table: dict[str, Method] = {module.METHOD.name: module.METHOD for module in modules}
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        method = point.load()
        if not isinstance(method, Method):
            raise ConfigurationError(
                f"expected the entry point {point.name} = {point.value} of the group {GROUP} to "
                f"name a trainers.methods.method.Method, got {method!r:.80}"
            )
        if method.name in table:
            raise ConfigurationError(
                f"expected a method with a name of its own from the entry point {point.name} = "
                f"{point.value}, got {method.name!r}, which is taken"
            )
        table[method.name] = method
    return tuple(table.values())


def lag_of(config: Any) -> int:
    """Return how many steps generation runs ahead of training with some settings."""
    return max((method.lag(config) for method in methods()), default=0)

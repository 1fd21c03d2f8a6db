"""Type checks of the arguments of `agentgym.evaluation.evaluate`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agentgym.errors import ConfigurationError
from agentgym.evaluation.prices import Limits, Prices
from agentgym.evaluation.reports.scale import Scale

KINDS: Mapping[str, tuple[type, ...]] = {
    "protocol": (str, os.PathLike),
    "prompt": (str, os.PathLike),
    "tasks": (Sequence,),
    "env_kwargs": (Mapping,),
    "out": (str, os.PathLike),
    "record": (str, os.PathLike),
    "on_episode": (Callable,),  # type: ignore[dict-item]
    "on_output": (Callable,),  # type: ignore[dict-item]
    "limits": (Limits,),
    "total_limits": (Limits,),
    "prices": (Prices,),
    "scale": (bool, Scale),
}
"""Name of an argument -> its possible classes; None is always allowed."""


def check_kinds(**arguments: Any) -> None:
    """Check the types of arguments, before anything is made or played.

    Args:
        arguments: Values of arguments that `KINDS` names.

    Raises:
        ConfigurationError: An argument has another type.
    """
    for name, value in arguments.items():
        kinds = KINDS[name]
        if value is not None and not isinstance(value, kinds):
            kind_names = " or ".join(kind.__name__ for kind in kinds)
            raise ConfigurationError(f"expected {name} to be a {kind_names}, got {value!r:.80}")

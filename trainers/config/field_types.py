"""Types of settings: ranges of numbers, and the notations that files may use."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, Optional, TypeVar

from annotated_types import Ge, Gt, Le, Lt
from pydantic import AfterValidator, AllowInfNan, BeforeValidator, ConfigDict, with_config
from pydantic_core import PydanticCustomError

T = TypeVar("T")
if TYPE_CHECKING:
    Open = Annotated[T, None]
else:
    Open = Optional
"""A setting that is None until `trainers.config.resolve` chooses its value. Nearly all code reads
it afterwards, so type checkers see the type without None."""
OPEN: Any = None
"""The default of such a setting."""
Count = Annotated[int, Ge(1)]
"""A whole number of at least 1."""
Whole = Annotated[int, Ge(0)]
"""A whole number of at least 0."""
Positive = Annotated[float, Gt(0), AllowInfNan(False)]
"""A number above 0."""
NotNegative = Annotated[float, Ge(0), AllowInfNan(False)]
"""A number of at least 0."""
Share = Annotated[float, Ge(0), Lt(1)]
"""A number in [0, 1)."""
Probability = Annotated[float, Gt(0), Le(1)]
"""A number in (0, 1]."""
Fraction = Annotated[float, Ge(0), Le(1)]
"""A number in [0, 1]."""


def _as_pairs(value: object) -> object:
    """Convert a mapping, which files may hold, to ``name=value`` pairs."""
    if not isinstance(value, Mapping):
        return value
    return [f"{k}={v if isinstance(v, str) else json.dumps(v)}" for k, v in value.items()]


def as_horizon(value: object) -> object:
    """Convert a number or a list of numbers, which files may hold, to text."""
    if isinstance(value, list | tuple):
        return ",".join(map(str, value))
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def as_names(value: object) -> object:
    """Convert a single name, which files may hold, to a list; ``none`` is dropped from lists."""
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list | tuple):
        return names
    return [name for name in dict.fromkeys(names) if name != "none"]


def _check_own(value: str) -> str:
    """Check that a name has the form ``MODULE:NAME``."""
    module, colon, name = value.partition(":")
    if not (module and colon and name):
        raise PydanticCustomError("own", "MODULE:NAME of your own")
    return value


Own = Annotated[str, AfterValidator(_check_own)]
"""A user's own part, as ``MODULE:NAME``."""
Dashboard = Literal["none", "tensorboard", "wandb", "trackio"]
"""Dashboards for metrics."""
HorizonText = Annotated[str, BeforeValidator(as_horizon)]
"""Maximum turns, such as ``9``, ``5,8,10`` or ``5-15``, or a schedule's name."""
Pairs = Annotated[tuple[str, ...], BeforeValidator(_as_pairs)]
"""``name=value`` pairs."""

if TYPE_CHECKING:
    StepsOrAuto = int
else:
    StepsOrAuto = Whole | Literal["auto"]
"""Steps, or ``auto`` until `trainers.config.resolve` chooses a number."""

strict = with_config(ConfigDict(extra="forbid"))
"""Make a misspelt name in a file an error; otherwise its setting would keep the default."""

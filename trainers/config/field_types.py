"""Kinds of settings: the ranges that numbers have, and other ways to write them in a file."""

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
"""A setting that is None until `trainers.config.resolve` decides on it. Nearly all code reads it
after that, so type checkers take it for decided."""
OPEN: Any = None
"""The default of such a setting."""
Count = Annotated[int, Ge(1)]
"""A whole number from 1."""
Whole = Annotated[int, Ge(0)]
"""A whole number from 0."""
Positive = Annotated[float, Gt(0), AllowInfNan(False)]
"""A number above 0."""
NotNegative = Annotated[float, Ge(0), AllowInfNan(False)]
"""A number from 0."""
Share = Annotated[float, Ge(0), Lt(1)]
"""A number from 0 to below 1."""
Probability = Annotated[float, Gt(0), Le(1)]
"""A number above 0 and at most 1."""
Fraction = Annotated[float, Ge(0), Le(1)]
"""A number from 0 to 1."""


def _as_pairs(value: object) -> object:
    """Write a mapping, as a file may hold it, as ``name=value`` pairs."""
    if not isinstance(value, Mapping):
        return value
    return [f"{k}={v if isinstance(v, str) else json.dumps(v)}" for k, v in value.items()]


def as_horizon(value: object) -> object:
    """Write a number or a list of numbers, as a file may hold them, as text."""
    if isinstance(value, list | tuple):
        return ",".join(map(str, value))
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def as_names(value: object) -> object:
    """Read one name, as a file may hold it, as a list of one; ``none`` adds nothing to a list."""
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list | tuple):
        return names
    return [name for name in dict.fromkeys(names) if name != "none"]


def _check_own(value: str) -> str:
    """Check the form of the name of something of one's own."""
    module, colon, name = value.partition(":")
    if not (module and colon and name):
        raise PydanticCustomError("own", "MODULE:NAME of your own")
    return value


Own = Annotated[str, AfterValidator(_check_own)]
"""Something of one's own, as ``MODULE:NAME``."""
Dashboard = Literal["none", "tensorboard", "wandb", "trackio"]
"""Where figures are shown."""
HorizonText = Annotated[str, BeforeValidator(as_horizon)]
"""Turns that an agent may take, such as ``9``, ``5,8,10`` or ``5-15``, or a schedule's name."""
Pairs = Annotated[tuple[str, ...], BeforeValidator(_as_pairs)]
"""``name=value`` pairs."""

if TYPE_CHECKING:
    StepsOrAuto = int
else:
    StepsOrAuto = Whole | Literal["auto"]
"""Steps, or ``auto`` until `trainers.config.resolve` decides on them."""

strict = with_config(ConfigDict(extra="forbid"))
"""Let a misspelt name in a file be an error, not a setting that is left at its default."""

"""Formats of Gymnasium's vector interface: modes, masks, and infos as arrays."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode

from agentgym.core.info import Info
from agentgym.errors import ConfigurationError

Infos = Sequence[Mapping[str, Any] | None]
"""The info dict of each environment, None where there is none."""


def batch(infos: Infos) -> dict[str, Any]:
    """Turn a list of info dicts, None where there is none, into Gymnasium's dict of arrays.

    Every key has a boolean mask under ``_key``, true for environments that have it; nested dicts
    are batched in the same way. Unlike Gymnasium's function it does not fail if the value is a
    number in one environment and None or text in another: such a column becomes an object array.
    Arrays are made lazily, as a loop reads few of them.
    """
    later: dict[str, Callable[[Infos], Any]] = {}
    for key in dict.fromkeys(key for info in infos if info is not None for key in _names(info)):
        later[key] = partial(_batched, key)
        later[f"_{key}"] = partial(_mask, key)
    return Info.of({}, later, infos)


def _names(info: Mapping[str, Any]) -> Collection[str]:
    """Return the keys of an info dict without computing its lazy values."""
    return info.names() if isinstance(info, Info) else info


def _mask(key: str, infos: Infos) -> npt.NDArray[np.bool_]:
    """Return which infos have a key, [num_envs]."""
    return np.array([info is not None and key in _names(info) for info in infos], dtype=np.bool_)


def _batched(key: str, infos: Infos) -> dict[str, Any] | npt.NDArray[Any]:
    """Return the values of a key as an array [num_envs], or as a dict of arrays."""
    mask = _mask(key, infos)
    present = [info[key] for info, has in zip(infos, mask, strict=True) if has and info is not None]
    # Like Gymnasium, keep final observations as objects of any type.
    if all(isinstance(value, Mapping) for value in present) and key != "final_obs":
        values = iter(present)
        return batch([next(values) if has else None for has in mask])
    return _column(present, mask)


def _column(present: list[Any], mask: npt.NDArray[np.bool_]) -> npt.NDArray[Any]:
    """Return an array [num_envs] with ``present``, in order, where ``mask`` is true."""
    kinds = {type(value) for value in present}
    kind: type = float if kinds == {int, float} else object
    if len(kinds) == 1:
        kind = kinds.pop()
    if kind not in (bool, int, float):
        column = np.full(len(mask), None, dtype=object)
    else:
        column = np.zeros(len(mask), dtype=kind)
    places = np.flatnonzero(mask)
    try:
        for index, value in zip(places, present, strict=True):
            column[index] = value
    except OverflowError:  # an integer beyond 64 bits needs an object array
        column = column.astype(object)
        for index, value in zip(places, present, strict=True):
            column[index] = value
    return column


def read_autoreset_mode(mode: AutoresetMode | str) -> AutoresetMode:
    """Return the autoreset mode of that name."""
    names = {name: member for member in AutoresetMode for name in (member.value, member.name)}
    if isinstance(mode, AutoresetMode):
        return mode
    if mode not in names:
        raise ConfigurationError(
            f"expected autoreset_mode to be one of {', '.join(names)}; got {mode!r}"
        )
    return names[mode]


def masked_slots(mask: object, num_envs: int) -> list[int]:
    """Return the slots that a reset mask selects."""
    if mask is None:
        return list(range(num_envs))
    array = np.asarray(mask)
    if array.shape != (num_envs,) or array.dtype != np.bool_ or not array.any():
        raise ConfigurationError(
            f"expected options['reset_mask'] to be a boolean array of length {num_envs} with at "
            f"least one True, got {mask!r}"
        )
    return [int(slot) for slot in np.flatnonzero(array)]

"""What Gymnasium's vector interface takes and gives: modes, masks, and infos as arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode

from agentgym.errors import ConfigurationError


def batch(infos: Sequence[Mapping[str, Any] | None]) -> dict[str, Any]:
    """Turn a list of info dicts, None where there is none, into Gymnasium's dict of arrays.

    Every key has a boolean mask under ``_key`` that says which environments have it; nested dicts
    are batched in the same way. Unlike Gymnasium's own function it does not fail when a key holds
    a number in one environment and None or text in another: such a column becomes an object array.
    """
    batched: dict[str, Any] = {}
    for key in dict.fromkeys(key for info in infos if info for key in info):
        mask = np.array([info is not None and key in info for info in infos], dtype=np.bool_)
        present = [info[key] for info in infos if info is not None and key in info]
        # Gymnasium keeps final observations as objects, whatever they are.
        if all(isinstance(value, Mapping) for value in present) and key != "final_obs":
            batched[key] = batch([info.get(key) if info else None for info in infos])
        else:
            batched[key] = _column(present, mask)
        batched[f"_{key}"] = mask
    return batched


def _column(present: list[Any], mask: npt.NDArray[np.bool_]) -> npt.NDArray[Any]:
    """Return an array [num_envs] that holds ``present`` [true ones] where ``mask`` is true."""
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
    except OverflowError:  # An integer beyond 64 bits stays what it is.
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
    """Return the slots that a reset mask chooses."""
    if mask is None:
        return list(range(num_envs))
    array = np.asarray(mask)
    if array.shape != (num_envs,) or array.dtype != np.bool_ or not array.any():
        raise ConfigurationError(
            f"expected options['reset_mask'] to be a boolean array of length {num_envs} with at "
            f"least one True, got {mask!r}"
        )
    return [int(slot) for slot in np.flatnonzero(array)]

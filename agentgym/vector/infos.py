"""Info dicts of several environments: as arrays for Gymnasium, and for episodes that failed."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt

Infos = Sequence[Mapping[str, Any] | None]

RESET_ONLY = ("goal", "tools")


def batch(infos: Infos) -> dict[str, Any]:
    """Turn a list of info dicts into Gymnasium's dict of arrays.

    Every key has a boolean mask under ``_key`` that says which environments have it; nested dicts
    are batched in the same way. Unlike Gymnasium's own function it does not fail when a key holds
    a number in one environment and None or text in another: such a column becomes an object array.

    Args:
        infos: One dict for each environment, None where there is none.

    Returns:
        The dict of arrays, each of length ``len(infos)``.
    """
    batched: dict[str, Any] = {}
    for key in dict.fromkeys(key for info in infos if info for key in info):
        mask = np.array([info is not None and key in info for info in infos], dtype=np.bool_)
        present = [info[key] for info in infos if info is not None and key in info]
        if all(isinstance(value, Mapping) for value in present) and key != "final_obs":
            batched[key] = batch([info.get(key) if info else None for info in infos])
        else:
            batched[key] = _column(present, mask)
        batched[f"_{key}"] = mask
    return batched


def _column(present: list[Any], mask: npt.NDArray[np.bool_]) -> npt.NDArray[Any]:
    """Return an array that holds ``present`` where ``mask`` is true."""
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


def observation(error: str) -> str:
    """Return what stands in the place of an observation when an environment failed."""
    return f"error: {error}"


def failed_reset(error: str, options: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the info of an episode that could not begin, with the keys of the contract."""
    options = options or {}
    horizon = options.get("horizon")
    return {
        "task_id": str(options.get("task_id") or ""),
        "split": str(options.get("split") or ""),
        "turn": 0,
        "horizon": int(horizon) if isinstance(horizon, int | np.integer) else 0,
        **_ended(error),
        "score": 0.0,
        "state_key": "",
        "goal": "",
        "tools": [],
    }


def failed_step(error: str, last: Mapping[str, Any]) -> dict[str, Any]:
    """Return the info of the turn in which an environment failed.

    Args:
        error: What happened.
        last: Info of the turn before.

    Returns:
        The info of the turn before with the turn counted and the end marked.
    """
    info: dict[str, Any] = {}
    for key in [key for key in last if key not in RESET_ONLY]:
        with suppress(Exception):  # What a member's own class raises when it is copied.
            info[key] = copy.deepcopy(last[key])
    turn = last.get("turn")
    info.update(_ended(error), turn=turn + 1 if isinstance(turn, int) else 1)
    if "oracle_action" in info:
        info["oracle_action"] = None
    return info


def _ended(error: str) -> dict[str, Any]:
    """Return what every failed turn says."""
    return {
        "action_valid": False,
        "admissible_actions": [],
        "success": False,
        "reward_terms": {"task": 0.0},
        "stop_reason": "error",
        "oracle_turns": None,
        "details": {},
        "trailing_text": "",
        "error": error,
    }

"""Turns plain nested lists into checked flat columns; the plumbing under `Batch`."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from trainers.algorithms.segments import IntArray

Column = npt.NDArray[Any]


def column(name: str, values: npt.ArrayLike, kind: str) -> Column:
    """Converts one column to a read-only flat array.

    Args:
        name: Name used in messages.
        values: Anything numpy can read as one dimension.
        kind: `"i"` for int64, `"f"` for float64.

    Returns:
        A read-only array; the caller's own array stays writable.

    Raises:
        ValueError: More than one dimension, values of another kind, or values that are not finite.
    """
    array: Column = np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"expected {name} to have one dimension, got shape {array.shape}")
    if array.size and array.dtype.kind not in ("iub" if kind == "i" else "iubf"):
        wanted = "integers" if kind == "i" else "numbers"
        raise ValueError(f"expected {name} to hold {wanted}, got {array.dtype}; convert it first")
    array = array.astype(np.int64 if kind == "i" else np.float64, copy=False).view()
    if kind == "f" and not np.isfinite(array).all():
        where = int(np.flatnonzero(~np.isfinite(array))[0])
        raise ValueError(
            f"expected {name} to be finite, got {array[where]} at {where}; "
            "mask failed episodes before packing them"
        )
    array.flags.writeable = False
    return array


def check_lengths(
    columns: Mapping[str, tuple[Column | None, str]], sizes: Mapping[str, int]
) -> None:
    """Checks that each column has as many entries as its level.

    Args:
        columns: Name -> (array or None, level).
        sizes: Level -> number of entries.

    Raises:
        ValueError: There is no token at all, or a column has another length.
    """
    if not sizes["token"]:
        raise ValueError(
            "expected at least one action token, got none; skip a step whose episodes are all empty"
        )
    for name, (array, level) in columns.items():
        if array is not None and len(array) != sizes[level]:
            raise ValueError(
                f"expected {name} to have {sizes[level]} entries, one for each {level}, "
                f"got {len(array)}; check what it is indexed by"
            )


def check_aux(aux: Mapping[str, Column], sizes: Mapping[str, int]) -> None:
    """Checks that each extra signal has one entry for each turn or each token.

    Raises:
        ValueError: One has neither.
    """
    for name, array in aux.items():
        if len(array) not in (sizes["token"], sizes["turn"]):
            raise ValueError(
                f"expected aux[{name!r}] to have {sizes['token']} entries (tokens) or "
                f"{sizes['turn']} (turns), got {len(array)}; repeat trajectory values on turns"
            )


def check_order(name: str, index: IntArray) -> None:
    """Checks that an index array never decreases.

    Raises:
        ValueError: It does.
    """
    drops = np.flatnonzero(np.diff(index) < 0)
    if drops.size:
        k = int(drops[0])
        raise ValueError(
            f"expected {name} to be sorted, got {index[k]} followed by {index[k + 1]} at {k}; "
            "pack the turns of a trajectory, and the tokens of a turn, next to each other"
        )


def check_nesting(
    turn: IntArray, traj: IntArray, sequence: IntArray | None, n_trajectories: int
) -> None:
    """Checks that tokens nest in turns, turns in rows and rows in trajectories.

    Args:
        turn: (K,) turn of each token.
        traj: (M,) trajectory of each turn.
        sequence: (M,) row of each turn, or None.
        n_trajectories: N.

    Raises:
        ValueError: An index is out of order or range, a turn has no token, or a row lies in two
            trajectories.
    """
    check_order("turn", turn)
    check_range("turn", turn, len(traj))
    empty = np.flatnonzero(np.bincount(turn, minlength=len(traj)) == 0)
    if empty.size:
        raise ValueError(
            f"expected every turn to have an action token, got none for turn {empty[0]}; "
            "leave out turns the policy did not generate"
        )
    check_order("traj", traj)
    check_range("traj", traj, n_trajectories)
    if sequence is None:
        return
    check_order("sequence", sequence)
    if (np.diff(sequence)[np.diff(traj) > 0] == 0).any():
        raise ValueError(
            "expected each sequence to stay in one trajectory, got one shared by two; "
            "number generation rows over the whole batch"
        )


def check_range(name: str, index: IntArray, size: int) -> None:
    """Checks that every entry lies in [0, size).

    Raises:
        ValueError: One does not.
    """
    if index.size and (index.min() < 0 or index.max() >= size):
        raise ValueError(
            f"expected {name} in [0, {size}), got values from {index.min()} to {index.max()}; "
            "number the entries from 0"
        )


def ids(values: Sequence[Hashable]) -> IntArray:
    """Keeps integer ids; numbers any others in order of first appearance.

    Args:
        values: (n,) ids.

    Returns:
        (n,) integer ids.
    """
    if all(isinstance(value, (int, np.integer)) for value in values):
        return np.fromiter(values, np.int64, len(values))
    numbers: dict[Hashable, int] = {}
    return np.fromiter((numbers.setdefault(v, len(numbers)) for v in values), np.int64, len(values))


def flat(name: str, nested: Sequence[Sequence[Any]], lengths: IntArray) -> list[Any]:
    """Joins one list per trajectory into one list.

    Args:
        name: Name used in messages.
        nested: (N,) lists.
        lengths: (N,) length each list must have.

    Returns:
        (sum of lengths,) entries.

    Raises:
        ValueError: The number of lists, or the length of one, is not the expected one.
    """
    if len(nested) != len(lengths):
        raise ValueError(
            f"expected {name} to have one list for each of {len(lengths)} trajectories, "
            f"got {len(nested)}; give an empty list to a trajectory without turns"
        )
    for i, (row, length) in enumerate(zip(nested, lengths, strict=True)):
        if len(row) != length:
            raise ValueError(
                f"expected {name}[{i}] to have {length} entries, got {len(row)}; "
                "give one entry for each turn (or action token) of the trajectory"
            )
    return list(chain.from_iterable(nested))


def flat_any(
    name: str, nested: Sequence[Sequence[Any]], turns: IntArray, tokens: IntArray
) -> list[Any]:
    """Joins lists with one entry for each turn or for each action token, whichever they have.

    Args:
        name: Name used in messages.
        nested: (N,) lists.
        turns: (N,) turns of each trajectory.
        tokens: (N,) action tokens of each trajectory.

    Returns:
        (M,) or (K,) entries.

    Raises:
        ValueError: The lists fit neither.
    """
    per_turn = [len(row) for row in nested] == list(turns)
    return flat(name, nested, turns if per_turn else tokens)

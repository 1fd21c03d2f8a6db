"""Segment arithmetic on flat arrays: sums, means and reversed scans over index arrays.

Every algorithm of this package is a few of these primitives. A *key* is an integer array that maps
each element to its segment, whatever a segment represents.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]


class Segments(NamedTuple):
    """Elements grouped by a key, with the weight each has in its segment's statistics."""

    key: IntArray
    """(n,) segment of each element, in [0, S)."""
    weight: FloatArray
    """(n,) 1 for elements that enter the statistics, 0 for those that only receive them."""
    zeros: FloatArray
    """(S,) how many absent elements of value 0 each segment also holds (zero padding)."""


def segments(key: IntArray, weight: FloatArray | None = None) -> Segments:
    """Group elements without zero padding; ``weight`` None gives every element weight 1."""
    weights = np.ones(len(key)) if weight is None else weight
    return Segments(key, weights, np.zeros(int(key.max(initial=-1)) + 1))


def dense(*keys: IntArray) -> IntArray:
    """Number the distinct combinations of several keys (n,): ids (n,) from 0, in sorted order."""
    code = np.zeros(len(keys[0]), dtype=np.int64)
    for key in keys:
        inverse = np.unique(key, return_inverse=True)[1].reshape(-1)
        code = code * (int(inverse.max(initial=-1)) + 1) + inverse
        # Numbered anew after each key, so that no product of sizes overflows.
        code = np.unique(code, return_inverse=True)[1].reshape(-1).astype(np.int64)
    return code


def sums(key: IntArray, x: FloatArray | IntArray | BoolArray, size: int) -> FloatArray:
    """Sum values (n,) by segment: (size,) sums, 0 for a segment without values."""
    return np.bincount(key, x, size).astype(np.float64, copy=False)


def centred(x: FloatArray, seg: Segments, *, leave_one_out: bool = False) -> FloatArray:
    """Subtract from each element the mean of its segment, or of the segment's other members.

    ``y_i = x_i - sum_j w_j x_j / sum_j w_j``, where j runs over the whole segment, or over j != i
    with ``leave_one_out`` (RLOO, arXiv 2402.14740); 0 for an element without another member to
    compare with. Values are shifted by one member of their segment before they are summed, so a
    segment of equal values gives exact zeros.
    """
    shifted, pivot = _shift(x, seg)
    total = _total(shifted, pivot, seg)[seg.key]
    others_weight = _count(seg)[seg.key] - seg.weight
    if leave_one_out:
        mean = (total - seg.weight * shifted) / np.maximum(others_weight, 1.0)
    else:
        mean = total / np.maximum(others_weight + seg.weight, 1.0)
    return np.where(others_weight > 0, shifted - mean, 0.0)


def spread(x: FloatArray, seg: Segments, *, ddof: int = 1) -> FloatArray:
    """Return the standard deviation (n,) of each element's segment.

    It is exactly 0 where all values are equal. ``ddof`` is 1 for the sample deviation, 0 for the
    population's.
    """
    shifted, pivot = _shift(x, seg)
    count = _count(seg)
    mean = _total(shifted, pivot, seg) / np.maximum(count, 1.0)
    squares = sums(seg.key, seg.weight * (shifted - mean[seg.key]) ** 2, len(seg.zeros))
    squares += seg.zeros * (pivot + mean) ** 2
    deviation: FloatArray = np.sqrt(squares / np.maximum(count - ddof, 1.0))
    return deviation[seg.key]


def reverse_scan(x: FloatArray, carry: FloatArray) -> FloatArray:
    """Solve the backward recurrence ``y_k = x_k + carry_k * y_{k+1}`` for all k at once.

    Put carry 0 on the last element of each segment. Doubling: after pass j each element holds its
    own window of 2^j terms, so the longest segment L takes ceil(log2 L) vectorised passes.
    """
    y, factor = x.astype(np.float64), carry.astype(np.float64)
    shift = 1
    while shift < len(y) and factor.any():
        y[:-shift] += factor[:-shift] * y[shift:]
        factor[:-shift] *= factor[shift:]
        shift *= 2
    return y


def _shift(x: FloatArray, seg: Segments) -> tuple[FloatArray, FloatArray]:
    """Values minus one member of their segment (n,), and that member for each segment (S,)."""
    pivot = np.zeros(len(seg.zeros))
    pivot[seg.key] = x  # Of a segment's members the last assignment stays; any would do.
    return x - pivot[seg.key], pivot


def _total(shifted: FloatArray, pivot: FloatArray, seg: Segments) -> FloatArray:
    """(S,) weighted sums of shifted values; each padded zero is ``-pivot`` after the shift."""
    return sums(seg.key, seg.weight * shifted, len(seg.zeros)) - seg.zeros * pivot


def _count(seg: Segments) -> FloatArray:
    """(S,) statistical size of each segment, padding included."""
    return sums(seg.key, seg.weight, len(seg.zeros)) + seg.zeros

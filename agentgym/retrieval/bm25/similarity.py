"""The arithmetic of BM25 as Lucene 8 does it, in float32.

Score of a document for one query term that occurs ``n`` times in the query::

    score      = w - w / saturation        w    = n * idf
    saturation = 1 + tf / norm             norm = k1 * (1 - b + b * length' / average_length)
    idf        = ln(1 + (N - df + 0.5) / (df + 0.5))

``N`` counts the documents with text. ``length'`` is the document length as Lucene stores it in one
byte: exact below 24, else cut to four significant bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.integer[Any]]
"""Integers of any width, which depends on the quantity counted."""

EXACT_LENGTHS = 24
"""Lengths below this are stored exactly; 255 minus the 231 codes that Lucene's byte needs above."""


def idf(document_frequencies: Ints, documents: int) -> Floats:
    """Return the inverse document frequency of terms [terms], each in so many documents [terms]."""
    ratio = (documents - document_frequencies + 0.5) / (document_frequencies + 0.5)
    return np.log(1 + ratio).astype(np.float32)


def inverse_norms(lengths: Ints, k1: float, b: float) -> Floats:
    """Return 1 / norm for the lengths of documents [documents]; infinity for one without text."""
    average = np.float32(lengths.sum() / max(np.count_nonzero(lengths), 1))
    unit, k1_, b_ = np.float32(1), np.float32(k1), np.float32(b)
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = b_ * _stored(lengths).astype(np.float32) / average
        inverse = unit / (k1_ * ((unit - b_) + relative))
    inverse[lengths == 0] = np.inf
    return inverse.astype(np.float32)


def saturations(frequencies: Ints, inverse_norms: Floats) -> Floats:
    """Return ``1 + tf / norm`` [pairs] for documents that hold a term so often [pairs]."""
    return np.float32(1) + frequencies.astype(np.float32) * inverse_norms


def scores(weights: Floats, saturations: Floats) -> Floats:
    """Return ``w - w / saturation`` [terms, codes], for weights [terms, 1] and saturations [codes].

    It rises with the saturation.
    """
    return weights - weights / saturations


def _stored(lengths: Ints) -> Ints:
    """Round document lengths down to those that Lucene's one-byte norm stores."""
    above = np.maximum(lengths - EXACT_LENGTHS, 0)
    shift = np.maximum(np.frexp(above.astype(np.float64))[1] - 4, 0)
    return np.where(lengths < EXACT_LENGTHS, lengths, EXACT_LENGTHS + ((above >> shift) << shift))

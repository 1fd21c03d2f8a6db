"""Slugs, case conversion and text similarity."""

from slugcase.cases import STYLES, convert, detect
from slugcase.distance import common_prefix, hamming, jaro, jaro_winkler, levenshtein, ratio
from slugcase.search import best_matches, closest, dice
from slugcase.slug import fold, slugify
from slugcase.titles import headline, shorten, unique_name
from slugcase.words import split_words

__all__ = [
    "STYLES",
    "best_matches",
    "closest",
    "common_prefix",
    "convert",
    "detect",
    "dice",
    "fold",
    "hamming",
    "headline",
    "jaro",
    "jaro_winkler",
    "levenshtein",
    "ratio",
    "shorten",
    "slugify",
    "split_words",
    "unique_name",
]

"""The Porter stemmer, as Lucene's ``PorterStemFilter`` computes it.

M. F. Porter, "An algorithm for suffix stripping", Program 14(3), 1980, with the three departures
that Porter's own later code and Lucene share: words of one or two letters are left alone,
``-bli`` becomes ``-ble`` and ``-logi`` becomes ``-log``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

_Rules = Mapping[str, Sequence[tuple[str, str]]]

# Steps 2 and 3 replace a suffix if the stem before it has a positive measure. The rules are grouped
# by the letter that the original switches on: the last but one, and the last.
_STEP_2: _Rules = {
    "a": (("ational", "ate"), ("tional", "tion")),
    "c": (("enci", "ence"), ("anci", "ance")),
    "e": (("izer", "ize"),),
    "l": (("bli", "ble"), ("alli", "al"), ("entli", "ent"), ("eli", "e"), ("ousli", "ous")),
    "o": (("ization", "ize"), ("ation", "ate"), ("ator", "ate")),
    "s": (("alism", "al"), ("iveness", "ive"), ("fulness", "ful"), ("ousness", "ous")),
    "t": (("aliti", "al"), ("iviti", "ive"), ("biliti", "ble")),
    "g": (("logi", "log"),),
}
_STEP_3: _Rules = {
    "e": (("icate", "ic"), ("ative", ""), ("alize", "al")),
    "i": (("iciti", "ic"),),
    "l": (("ical", "ic"), ("ful", "")),
    "s": (("ness", ""),),
}
# Step 4 drops a suffix if the stem before it has a measure above one.
_STEP_4: Mapping[str, Sequence[str]] = {
    "a": ("al",),
    "c": ("ance", "ence"),
    "e": ("er",),
    "i": ("ic",),
    "l": ("able", "ible"),
    "n": ("ant", "ement", "ment", "ent"),
    "o": ("ion", "ou"),
    "s": ("ism",),
    "t": ("ate", "iti"),
    "u": ("ous",),
    "v": ("ive",),
    "z": ("ize",),
}


def stem(word: str) -> str:
    """Reduce a lower-case word to its stem; below three letters it is its own.

    Characters other than ``a, e, i, o, u, y`` count as consonants.
    """
    if len(word) < 3:
        return word
    word = _plural_and_participle(word)
    if word.endswith("y") and _has_vowel(word[:-1]):
        word = word[:-1] + "i"
    if len(word) > 1:
        word = _replace(word, _STEP_2.get(word[-2], ()))
    word = _replace(word, _STEP_3.get(word[-1], ()))
    if len(word) > 1:
        word = _drop(word, _STEP_4.get(word[-2], ()))
    return _final_e_and_l(word)


def _consonants(word: str) -> list[bool]:
    """Tell for each letter whether it is a consonant; ``y`` is one unless it follows one."""
    flags: list[bool] = []
    for letter in word:
        if letter == "y":
            flags.append(not flags or not flags[-1])
        else:
            flags.append(letter not in "aeiou")
    return flags


def _measure(word: str) -> int:
    """Count the vowel-to-consonant transitions: m in ``[C](VC)^m[V]``."""
    flags = _consonants(word)
    return sum(second and not first for first, second in pairwise(flags))


def _has_vowel(word: str) -> bool:
    return not all(_consonants(word))


def _double_consonant(word: str) -> bool:
    return len(word) > 1 and word[-1] == word[-2] and _consonants(word)[-1]


def _short_syllable(word: str) -> bool:
    """Tell whether the end is consonant, vowel, consonant other than w, x, y."""
    return len(word) > 2 and word[-1] not in "wxy" and _consonants(word)[-3:] == [True, False, True]


def _plural_and_participle(word: str) -> str:
    """Step 1a and 1b: ``-s``, ``-ed`` and ``-ing``."""
    if word.endswith(("sses", "ies")):
        word = word[:-2]
    elif word.endswith("s") and word[-2] != "s":
        word = word[:-1]
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for suffix in ("ed", "ing"):
        if word.endswith(suffix) and _has_vowel(word[: -len(suffix)]):
            return _restore_ending(word[: -len(suffix)])
    return word


def _restore_ending(word: str) -> str:
    """Repair a stem without ``-ed`` or ``-ing``: ``hopp`` to ``hop``, ``fil`` to ``file``."""
    if word.endswith(("at", "bl", "iz")):
        return word + "e"
    if _double_consonant(word):
        return word if word[-1] in "lsz" else word[:-1]
    if _measure(word) == 1 and _short_syllable(word):
        return word + "e"
    return word


def _replace(word: str, rules: Sequence[tuple[str, str]]) -> str:
    """Apply the first rule whose suffix matches, if the measure before it is positive."""
    for suffix, replacement in rules:
        if word.endswith(suffix):
            stem = word[: -len(suffix)]
            return stem + replacement if _measure(stem) > 0 else word
    return word


def _drop(word: str, suffixes: Sequence[str]) -> str:
    """Drop the first suffix that matches, if the measure before it is above one."""
    for suffix in suffixes:
        if word.endswith(suffix):
            stem = word[: -len(suffix)]
            if suffix == "ion" and not stem.endswith(("s", "t")):
                continue
            return stem if _measure(stem) > 1 else word
    return word


def _final_e_and_l(word: str) -> str:
    """Step 5: drop a final ``-e``, and one l of a final ``-ll``."""
    if word.endswith("e"):
        stem = word[:-1]
        measure = _measure(stem)
        if measure > 1 or (measure == 1 and not _short_syllable(stem)):
            word = stem
    # The measure is that of the word before this step's -e was dropped; both agree, since an e
    # adds no vowel-to-consonant transition.
    if word.endswith("ll") and _measure(word) > 1:
        word = word[:-1]
    return word

"""What an answer earns: exact match, sub-match and F1 under the normalisation of SQuAD.

F1 comes twice, since two scripts differ: ``f1`` is SQuAD's, ``f1_hotpot`` that of HotpotQA (Yang et
al., 2018, arXiv:1809.09600), where "yes", "no" and "noanswer" share words with nothing else.

The order of the steps (lower case, punctuation, articles, white space) is that of SQuAD (Rajpurkar
et al., 2016, arXiv:1606.05250), which Search-R1 (Jin et al., 2025, arXiv:2503.09516) took over to
the letter: "U.S.A." is ``usa``, "the-cat" is ``thecat``, and "A" is nothing at all.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

MEASURES = ("em", "subem", "f1", "f1_hotpot")
"""Names of the measures, which are those of the fields of :class:`AnswerScores`."""

CLOSED = frozenset({"yes", "no", "noanswer"})
"""Answers that HotpotQA's F1 counts whole or not at all."""

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


class AnswerScores(NamedTuple):
    """What an answer is worth by each measure, the best over all gold answers."""

    em: float
    """1 if it equals a gold answer."""
    subem: float
    """1 if it contains a gold answer."""
    f1: float
    """Overlap of words with a gold answer, as SQuAD 2.0 counts it."""
    f1_hotpot: float
    """The same as HotpotQA counts it."""


NO_ANSWER = AnswerScores(0.0, 0.0, 0.0, 0.0)
"""What an episode without an answer is worth."""


def normalise(text: str) -> str:
    """Reduce a text to what is compared: lower case, no ASCII punctuation, articles or gaps."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def score(answer: str, gold: Sequence[str]) -> AnswerScores:
    """Compare an answer with the gold answers.

    Args:
        answer: The answer as it was given.
        gold: What is right, in any of its spellings.

    Returns:
        The measures. A gold answer that normalises to nothing, such as "A", is contained in every
        text; so that it earns nobody a sub-match, it counts only where the answer equals it.
    """
    normalised = normalise(answer)
    em = subem = f1 = f1_hotpot = 0.0
    for candidate in map(normalise, gold):
        equal = normalised == candidate
        em = max(em, float(equal))
        subem = max(subem, float(equal or (bool(candidate) and candidate in normalised)))
        overlap = _f1(normalised.split(), candidate.split())
        f1 = max(f1, overlap)
        if normalised and (equal or not {normalised, candidate} & CLOSED):
            f1_hotpot = max(f1_hotpot, overlap)
    return AnswerScores(em, subem, f1, f1_hotpot)


def mentions(text: str, gold: Sequence[str]) -> bool:
    """Return whether a text holds a gold answer as whole words, both normalised."""
    answers = [answer for answer in map(normalise, gold) if answer]
    # Most texts lack some word of each answer, which shows before the dear part of normalising.
    text_words = text.lower().translate(_PUNCTUATION)
    if not any(all(word in text_words for word in answer.split()) for answer in answers):
        return False
    haystack = f" {normalise(text)} "
    return any(f" {answer} " in haystack for answer in answers)


def _f1(prediction: Sequence[str], gold: Sequence[str]) -> float:
    """Return the F1 of two bags of words; two empty ones are equal, as in SQuAD 2.0."""
    if not prediction or not gold:
        return float(prediction == gold)
    shared = sum((Counter(prediction) & Counter(gold)).values())
    return 2.0 * shared / (len(prediction) + len(gold))

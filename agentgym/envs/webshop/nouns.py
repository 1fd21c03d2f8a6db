"""Nouns of product names, which decide the type part of the reward.

The original takes the tokens that spaCy tags as nouns. The built-in extractor needs no model and
never changes: words of letters, without function words, colours, sizes and shop adjectives.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from agentgym.envs.webshop.colours import COLOURS
from agentgym.errors import ConfigurationError, DependencyNotInstalled, require

Extractor = Callable[[str], tuple[str, ...]]
NounSource = str | Mapping[str, Any]

BUILTIN = "builtin"
_SPACY = "spacy:"
_NOUN_TAGS = ("PNOUN", "NOUN", "PROPN")
_WORD = re.compile(r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*")
_FUNCTION_WORDS_AND_ADJECTIVES = """
a about above across after again against all along also am among an and any are around as at be
because been before behind below between both but by can could did do does doing down during
each easy easily either every few for from further get had has have he her here him his how i if
in inside into is it its just less like many may me more most much must my near need new no nor
not now of off on once one only onto or other our out over own per please same several she
should since so some such than that the their them then there these they this those three
through to too two under until up upon us use used using very via was we were what when where
which while who whose why will with within without would you your adjustable available best
better big classic comfortable compatible cool cute deep durable elegant extra fashionable fine
free fresh full good great handmade hard heavy high hot ideal large lightweight long low medium
mini modern multi natural nice old original perfect portable premium professional pure quick
real safe sexy short slim small smooth soft solid special stylish super suitable sweet thick
thin tight universal unique vintage warm waterproof wide x xl xs xxl
"""
_OTHERS = frozenset(_FUNCTION_WORDS_AND_ADJECTIVES.split()) | frozenset(COLOURS)


def builtin(name: str) -> tuple[str, ...]:
    """Extract the nouns of a product name by word lists alone.

    Args:
        name: The product's title.

    Returns:
        Lower-case words of at least two letters, in order, repetitions included.
    """
    found = _WORD.findall(name.lower())
    return tuple(word for word in found if len(word) > 1 and word not in _OTHERS)


def extractor(source: str) -> Extractor:
    """Return the extractor that a name stands for.

    Args:
        source: ``"builtin"``, or ``"spacy:<model>"`` such as ``"spacy:en_core_web_sm"``.

    Returns:
        A function from a product name to its nouns.

    Raises:
        ConfigurationError: The name is unknown.
        DependencyNotInstalled: spaCy or its model is absent.
    """
    if source == BUILTIN:
        return builtin
    if source.startswith(_SPACY):
        return _spacy(source.removeprefix(_SPACY))
    raise ConfigurationError(
        f"expected nouns to be {BUILTIN!r}, 'spacy:<model>' or a mapping from asin to nouns, got "
        f"{source!r}"
    )


def _spacy(model: str) -> Extractor:
    """Load a spaCy tagger, as the original does."""
    spacy = require("spacy", "spacy")
    try:
        tagger = spacy.load(model)
    except OSError as error:
        raise DependencyNotInstalled(
            f"expected the spaCy model {model!r} to be installed, but it is not; run: "
            f"python -m spacy download {model}"
        ) from error

    def nouns(name: str) -> tuple[str, ...]:
        return tuple(token.text.lower() for token in tagger(name) if token.pos_ in _NOUN_TAGS)

    return nouns

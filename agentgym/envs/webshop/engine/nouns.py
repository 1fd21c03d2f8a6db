"""Nouns of product names, which decide the type part of the reward.

The original takes the tokens that spaCy tags as nouns. The built-in extractor needs no model and
never changes: words of letters, without function words, colours, sizes and shop adjectives.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from agentgym.envs.webshop.engine.reward import COLOURS
from agentgym.envs.webshop.official.files import load_json
from agentgym.errors import ConfigurationError, DependencyNotInstalled, require

NounsOf = Callable[[Mapping[str, Any]], tuple[str, ...]]
"""Returns the nouns of an official item."""

BUILTIN = "builtin"
_SPACY = "spacy:"
_FILES = (".json", ".json.gz")
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


@dataclass(frozen=True)
class NounTable:
    """Precomputed noun lists; equality and hash are by content."""

    digest: str
    """SHA-256 of the content."""
    table: Mapping[str, tuple[str, ...]] = field(compare=False, repr=False)
    """Nouns by asin."""

    @classmethod
    def of(cls, data: object, origin: str = "a mapping") -> NounTable:
        """Make a table from a mapping of asins to nouns, optionally under the key ``nouns``.

        Raises:
            ConfigurationError: The data has another form; the message names its origin.
        """
        if isinstance(data, Mapping) and isinstance(data.get("nouns"), Mapping):
            data = data["nouns"]
        if not isinstance(data, Mapping) or not data:
            raise _bad_table(origin, repr(data))
        for asin, words in data.items():
            listed = isinstance(words, list | tuple) and all(isinstance(w, str) for w in words)
            if not (isinstance(asin, str) and listed):
                raise _bad_table(origin, f"{asin!r}: {words!r}")
        table = {asin: tuple(words) for asin, words in sorted(data.items())}
        return cls(hashlib.sha256(json.dumps(table).encode()).hexdigest(), table)

    def __call__(self, item: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the nouns of an item; unlisted items use the built-in extractor."""
        nouns = self.table.get(item["asin"])
        return builtin(item["name"]) if nouns is None else nouns


NounSource = str | os.PathLike[str] | Mapping[str, Any] | NounTable
"""``builtin``, ``spacy:<model>``, the path of a JSON file, or a mapping from asin to nouns."""


def freeze(source: NounSource | None) -> str | NounTable | None:
    """Turn the user's argument into the name of an extractor or a hashable table.

    Raises:
        ConfigurationError: It is neither a :data:`NounSource` nor None.
        DataError: The file cannot be read.
    """
    if source is None or isinstance(source, NounTable):
        return source
    if isinstance(source, Mapping):
        return NounTable.of(source)
    if isinstance(source, os.PathLike) or (isinstance(source, str) and source.endswith(_FILES)):
        return read_table(Path(source))
    if isinstance(source, str) and (source == BUILTIN or source.startswith(_SPACY)):
        return source
    raise _unknown(source)


def read_table(path: Path) -> NounTable:
    """Read a table from a JSON file, plain or ``.gz``; an unchanged file is read once."""
    path = Path(os.path.abspath(os.path.expanduser(path)))
    try:
        stat = path.stat()
    except (OSError, ValueError):
        return _read_table(path, None)  # which says what is wrong
    return _read_table(path, (stat.st_mtime_ns, stat.st_size))


@lru_cache(maxsize=4)
def _read_table(path: Path, _version: object) -> NounTable:
    return NounTable.of(load_json(path), str(path))


def cache_key(source: str | NounTable | None) -> str | None:
    """Return the JSON value that identifies a source in the key of a stored shop."""
    return f"table:{source.digest}" if isinstance(source, NounTable) else source


def nouns_of(source: str | NounTable) -> NounsOf:
    """Return the function from an official item to its nouns.

    Raises:
        ConfigurationError: The extractor's name is unknown.
        DependencyNotInstalled: spaCy or its model is absent.
    """
    if isinstance(source, NounTable):
        return source
    if source == BUILTIN:
        return lambda item: builtin(item["name"])
    if source.startswith(_SPACY):
        return _spacy(source.removeprefix(_SPACY))
    raise _unknown(source)


def builtin(name: str) -> tuple[str, ...]:
    """Return the lower-case words of a title that no word list excludes, in order."""
    words = _WORD.findall(name.lower())
    return tuple(word for word in words if len(word) > 1 and word not in _OTHERS)


def _unknown(source: object) -> ConfigurationError:
    return ConfigurationError(
        f"expected nouns to be {BUILTIN!r}, 'spacy:<model>', a mapping from asin to a list of "
        f"nouns, or the path of a JSON file with such a mapping; got {source!r:.80}"
    )


def _bad_table(origin: str, actual: str) -> ConfigurationError:
    return ConfigurationError(
        'expected nouns as {asin: [noun, ...]} or {"nouns": {asin: [noun, ...]}}, not empty; got '
        f"{actual:.80} in {origin}; leave nouns out for the built-in extractor"
    )


def _spacy(model: str) -> NounsOf:
    """Load a spaCy tagger, as the original does."""
    spacy = require("spacy", "spacy")
    try:
        tagger = spacy.load(model)
    except OSError as error:
        raise DependencyNotInstalled(
            f"expected the spaCy model {model!r} to be installed, but it is not; run: "
            f"python -m spacy download {model}"
        ) from error

    def nouns(item: Mapping[str, Any]) -> tuple[str, ...]:
        words = tagger(item["name"])
        return tuple(token.text.lower() for token in words if token.pos_ in _NOUN_TAGS)

    return nouns

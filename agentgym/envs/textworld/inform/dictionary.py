"""Commands as words, the way Inform's parser on the Z-machine takes them in.

The Z-machine's dictionary keeps nine "Z-characters" of a word: a lower-case letter is one of them,
a digit or sign two, anything else four. Two words with the same nine are the same word to a game,
so ``refrigerators`` is understood as ``refrigerator``.
"""

from __future__ import annotations

import re
from functools import lru_cache

LIMIT = 15
"""Maximum number of words that Inform reads of a line; it ignores further ones."""

_WORD = re.compile(r'[.,"]|[^\s.,"]+')
_SIGNS = "0123456789.,!?_#'\"/\\-:()"
_LENGTH = 9

AND = frozenset(("and", ","))
BUT = frozenset(("but", "except"))
THEN = frozenset(("then", "."))
CONNECTIVES = AND | BUT
ALL = frozenset(("all", "each", "every", "everythin", "both"))
ME = frozenset(("me", "myself", "self"))
OTHER = frozenset(("another", "other"))
PRONOUNS = frozenset(("it", "him", "her", "them"))
DEFINITE = frozenset(("the",))
INDEFINITE = frozenset(("a", "an", "some"))
MINE = frozenset(("my", "this", "these"))
THEIRS = frozenset(("that", "those"))
OWNED = {"his": "him", "her": "her", "their": "them", "its": "it"}
LIT = frozenset(("lit", "lighted", "unlit"))
ARTICLE_LIKE = DEFINITE | INDEFINITE | MINE | THEIRS | LIT | frozenset(OWNED)
ALL_COUNT = 100
"""How many things ``all`` wants."""
_SPELT = ("one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
          "fifteen sixteen seventeen eighteen nineteen twenty twenty-one twenty-two twenty-three "
          "twenty-four twenty-five twenty-six twenty-seven twenty-eight twenty-nine "
          "thirty")  # fmt: skip


@lru_cache(maxsize=4096)
def key(word: str) -> str:
    """Return the part of a lower-case word that the dictionary stores."""
    letters, letters_left = [], _LENGTH
    for letter in word:
        cost = 1 if "a" <= letter <= "z" else 2 if letter in _SIGNS else 4
        if letters_left <= 0:
            break
        # A letter that fits in part is kept in part: words that differ only behind it are one.
        letters.append(letter if cost <= letters_left else f"<{letters_left}>")
        letters_left -= cost
    return "".join(letters)


_NUMBERS = {key(word): number + 1 for number, word in enumerate(_SPELT.split())}


class CommandWords(list[str]):
    """The words of a command as the dictionary keeps them.

    Attributes:
        typed: The same words in full.
    """

    def __init__(self, typed: list[str]) -> None:
        super().__init__(key(word) for word in typed)
        self.typed = typed


def split(line: str) -> CommandWords:
    """Return the words of a line, lower case; full stops, commas and quotation marks are words."""
    return CommandWords(_WORD.findall(line.lower())[:LIMIT])


def number(word: str) -> int:
    """Return the number that a word stands for, or 0."""
    if word.isascii() and word.isdigit():
        return int(word[:5])
    return _NUMBERS.get(word, 0)

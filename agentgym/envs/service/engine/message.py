"""What a message of the agent says, as far as a customer understands it.

A model's words are free, and this is a list of words, not a judge: the customer takes a message
with a question mark for a question, else one with "cannot" for a refusal, else one with "done" or a
participle such as "cancelled" for the claim that the request is done.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

MOST_CHARS = 1000
"""Maximum number of characters of a message that the customer hears."""
MOST_NUMBERS = 3
"""Maximum number of numbers in an answer: a list of all numbers answers nothing."""
_WORD = re.compile(r"#?[a-z0-9]+")
_NUMBER = re.compile(r"(?<![\w#.])[0-9]{1,6}(?!\w)")
_RULE = re.compile(r"\brules?\s*(?:no\.?|number)?\s*#?\s*([0-9]{1,2})\b")
_REFUSAL = re.compile(
    r"\b(?:can ?not|can't|won't|unable|impossible|refuse|decline|forbid|forbids|forbidden|"
    r"not (?:allowed|possible|permitted))\b"
)
_CLAIM = re.compile(
    r"\b(?:done|cancelled|canceled|changed|returned|refunded|exchanged|updated|rebooked|moved|"
    r"added|completed|credited|suspended|paid|processed|switched)\b"
)


@dataclass(frozen=True)
class Message:
    """A message of the agent.

    Args:
        text: Its text.
    """

    text: str

    @cached_property
    def lower(self) -> str:
        """What the customer hears, in lower case."""
        return self.text[:MOST_CHARS].lower().replace("\u2019", "'")

    @cached_property
    def words(self) -> str:
        """The words, with a blank around each."""
        return f" {' '.join(_WORD.findall(self.lower))} "

    @property
    def asks(self) -> bool:
        """Whether it is a question."""
        return "?" in self.lower

    @property
    def refuses(self) -> bool:
        """Whether it refuses something."""
        return not self.asks and _REFUSAL.search(self.lower) is not None

    @property
    def claims(self) -> bool:
        """Whether it says that something is done."""
        quiet = self.asks or self.refuses
        return not quiet and _CLAIM.search(self.lower) is not None

    @property
    def rule(self) -> int:
        """The number of the rule that it cites; 0 if it cites none, or several.

        Of a list such as "rules 1, 2" it is the first.
        """
        cited = list(dict.fromkeys(_RULE.findall(self.lower)))
        return int(cited[0]) if len(cited) == 1 else 0

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers that may be an answer: no ids, no rules, and not too many."""
        numbers = _NUMBER.findall(_RULE.sub(" ", self.lower))
        distinct = tuple(dict.fromkeys(map(int, numbers)))
        return distinct if len(distinct) <= MOST_NUMBERS and not self.asks else ()

    def mentions(self, text: str) -> bool:
        """Return whether it contains the words of a text in a row."""
        words = " ".join(_WORD.findall(text.lower()))
        return bool(words) and f" {words} " in self.words

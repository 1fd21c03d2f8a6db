"""What a message of the agent says, as far as a customer understands it.

A model's words are free, and these are lists of words, not a judge. Courtesies such as "Anything
else?" say nothing. A message with another question is a question, unless it refuses and cites a
rule; else one with "cannot" is a refusal; else one with "done", or with a participle as in "is
cancelled" or "I have cancelled", claims that the request is done.
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
_SENTENCE = re.compile(r"[^.!?\n]+[.!?\n]*")
_COURTESY = re.compile(
    r"\b(?:(?:any|some)thing (?:else|more)|(?:else|more) (?:that )?i can|"
    r"(?:help|assist) you (?:with|further|today))\b"
)
_REFUSAL = re.compile(
    r"\b(?:(?:can ?not|can't)(?! be (?:undone|reversed))|won't|unable|impossible|refuse|decline|"
    r"den(?:y|ied)|prohibit(?:s|ed)?|forbid(?:s|den)?|"
    r"(?:not|isn't|aren't) (?:able|allowed|possible|permitted)|"
    r"(?:(?:do|does) not|don't|doesn't) (?:allow|permit|let))\b"
)
_CLAIM = re.compile(
    r"(?:^(?:(?:ok|okay|yes|sure|great),? )?|, (?=done)|#\w+ |'s |\b(?:i|we)(?:'ve)? |"
    r"\b(?<!you )(?:have|has|had|is|are|was|were) )"
    r"(?:(?:now|just|already|all|also|successfully|been|being|(?:gone|went) ahead and) )*"
    r"(?:done|cancelled|canceled|changed|returned|refunded|exchanged|updated|rebooked|moved|added|"
    r"completed|credited|suspended|paid|processed|switched|set|applied|upgraded|modified|issued|"
    r"booked|taken care of)\b(?! by\b| only\b)|\byou(?:'re| are) all set\b"
)
_NO_CLAIM = re.compile(r"\b(?:if|once|when|unless|until|before|whether|nothing|none|never)\b")
"""Words before a participle that keep it from being a claim."""


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

    @cached_property
    def sentences(self) -> list[str]:
        """The sentences."""
        return [sentence.strip() for sentence in _SENTENCE.findall(self.lower)]

    @cached_property
    def statements(self) -> list[str]:
        """The sentences that ask nothing: courtesies such as "Anything else?" are among them."""
        return [
            sentence
            for sentence in self.sentences
            if not sentence.endswith("?") or _COURTESY.search(sentence)
        ]

    @property
    def asks(self) -> bool:
        """Whether it is a question."""
        return not self.refuses and len(self.statements) < len(self.sentences)

    @property
    def refuses(self) -> bool:
        """Whether it refuses something."""
        has_questions = len(self.statements) < len(self.sentences)
        if has_questions and not self.rule:
            return False
        return any(map(_REFUSAL.search, self.statements))

    @property
    def claims(self) -> bool:
        """Whether it says that something is done."""
        quiet = self.asks or self.refuses
        return not quiet and any(map(_claims, self.statements))

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


def _claims(sentence: str) -> bool:
    """Return whether a sentence says that something is done."""
    claim = _CLAIM.search(sentence)
    return claim is not None and not _NO_CLAIM.search(sentence, 0, claim.start())

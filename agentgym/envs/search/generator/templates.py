"""Sentence templates that work both ways: values become a sentence, a sentence becomes values.

A template is plain text with slots in braces:

- ``{subject}``: the entity that the passage is about;
- ``{They}``, ``{they}``, ``{them}``, ``{Their}``, ``{their}``: its pronouns;
- ``{relation}``, such as ``{mayor}``: the value of a relation; ``{a relation}``: the same with
  ``a`` or ``an``;
- ``{former relation}``: a value that the relation had once, and has no longer;
- ``{some thing}``, such as ``{some person}`` or ``{some year}``: anything of that sort, which
  means nothing; ``{a some thing}``: the same with ``a`` or ``an``.

Reading a sentence gives the values of its relations; what the last two slots hold is no fact.
"""

from __future__ import annotations

import re
from functools import cached_property

SUBJECT = "subject"
"""The slot, and the key of what was read there."""
PRONOUNS = {
    "They": ("He", "She", "It"),
    "they": ("he", "she", "it"),
    "them": ("him", "her", "it"),
    "Their": ("His", "Her", "Its"),
    "their": ("his", "her", "its"),
}
"""Forms of each pronoun slot: of a man, of a woman, of a thing."""
_SLOT = re.compile(r"\{([^{}]+)\}")
_NAME = "[A-Z0-9][^,.()]*?"
_WORDS = "[^,.()]+?"


class QuestionTemplate:
    """One sentence with slots.

    Args:
        text: The sentence; see the module for its slots.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.slots: tuple[str, ...] = tuple(_SLOT.findall(text))
        """What stands in braces, in order."""
        self.layout = _SLOT.sub("%s", text)
        """The sentence with ``%s`` in place of each slot; ``layout % values`` fills it."""
        self.relations: tuple[str, ...] = tuple(
            slot.removeprefix("a ") for slot in self.slots if _states(slot)
        )
        """The relations whose values the sentence states."""

    def __repr__(self) -> str:
        """Show the sentence."""
        return f"Template({self.text!r})"

    def read(self, sentence: str) -> dict[str, str] | None:
        """Return what a sentence states, by relation (and ``subject``, where it is named).

        Articles stay with the subject's name, if there is one. None: the sentence is another one.
        """
        match = self._pattern.fullmatch(sentence)
        return None if match is None else match.groupdict()

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        """The sentence as a regular expression, compiled when it is first read."""
        parts: list[str] = []
        for number, part in enumerate(_SLOT.split(self.text)):
            parts.append(_slot_pattern(part) if number % 2 else re.escape(part))
        return re.compile("".join(parts))


def article(word: str) -> str:
    """Return a word with ``a`` or ``an`` before it."""
    return f"{'an' if word[0].lower() in 'aeiou' else 'a'} {word}"


def _states(slot: str) -> bool:
    """Return whether a slot holds the value of a relation."""
    stated = slot.removeprefix("a ").partition(" ")[0] not in ("some", "former")
    return stated and slot != SUBJECT and slot not in PRONOUNS


def _slot_pattern(slot: str) -> str:
    """Return the regular expression of what a slot may hold."""
    if slot in PRONOUNS:
        return f"(?:{'|'.join(PRONOUNS[slot])})"
    if slot == SUBJECT:
        return f"(?P<{SUBJECT}>(?:the )?{_NAME})"
    article = "an? " if slot.startswith("a ") else ""
    if not _states(slot):
        return article + _WORDS
    return f"{article}(?P<{slot.removeprefix('a ')}>{_WORDS})"

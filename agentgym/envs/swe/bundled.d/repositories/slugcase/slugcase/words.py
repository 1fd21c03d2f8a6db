"""Splitting identifiers and texts into words."""

from __future__ import annotations


def split_words(text: str, digits: bool = True) -> list[str]:
    """Split a text into words, in the spelling that they have.

    A word ends at anything that is neither letter nor digit, where a small letter is followed by
    a capital one, before the last of several capitals if a small letter follows it
    (``HTTPServer`` is ``HTTP`` and ``Server``), and between letters and digits. An apostrophe
    between letters belongs to the word and is dropped.

    Args:
        text: The text.
        digits: Whether digits form words of their own.
    """
    words: list[str] = []
    word = ""
    for place, char in enumerate(text):
        if char in "'\u2019" and word and text[place + 1 : place + 2].isalpha():
            continue
        if not char.isalnum():
            if word:
                words.append(word)
            word = ""
            continue
        if word and _boundary(word[-1], char, text[place + 1 : place + 2], digits):
            words.append(word)
            word = ""
        word += char
    return [*words, word] if word else words


def _boundary(before: str, char: str, after: str, digits: bool) -> bool:
    """Tell whether a new word begins with a character."""
    if digits and before.isdigit() != char.isdigit():
        return True
    if before.isupper() and char.isupper():
        return after.islower()
    return char.isupper()

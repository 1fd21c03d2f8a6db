"""Splitting a text without spaces into words."""

from __future__ import annotations

from triewords.trie import WordTrie


def segment(text: str, words: WordTrie) -> list[str] | None:
    """Split a text into as few words as possible.

    Of several ways with equally few words the one with the larger sum of weights is taken, then
    the one whose last words are shorter.

    Args:
        text: Words without anything between them.
        words: The words that may occur.

    Returns:
        The words in order, or None if the text cannot be split.
    """
    # For every position: how many words lead there, minus their weight, and where the last begins.
    best: list[tuple[int, int, int] | None] = [None] * (len(text) + 1)
    best[0] = (0, 0, 0)
    for start in range(len(text)):
        here = best[start]
        if here is None:
            continue
        for word in words.prefixes_of(text[start:]):
            end = start + len(word)
            way = (here[0] + 1, here[1] - words.weight(word), start)
            known = best[end]
            if known is None or way[:2] <= known[:2]:
                best[end] = way
    if best[-1] is None:
        return None
    parts: list[str] = []
    end = len(text)
    while end > 0:
        step = best[end]
        assert step is not None
        parts.append(text[step[2] : end])
        end = step[2]
    return parts[::-1]

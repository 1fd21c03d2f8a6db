"""Search by pattern and by distance."""

from __future__ import annotations

from triewords.node import Node


def matching(root: Node, pattern: str) -> list[str]:
    """Return the words that fit a pattern, in alphabetical order.

    Args:
        root: The trie.
        pattern: Letters, ``?`` for one letter and ``*`` for any number of them.
    """
    found: set[str] = set()
    seen: set[tuple[str, int]] = set()
    waiting: list[tuple[str, int, Node]] = [("", 0, root)]
    while waiting:
        word, position, node = waiting.pop()
        # Several stars may lead to one state along many ways.
        if (word, position) in seen:
            continue
        seen.add((word, position))
        if position == len(pattern):
            if node.weight is not None:
                found.add(word)
            continue
        sign = pattern[position]
        if sign == "*":
            waiting.append((word, position + 1, node))
        for letter, child in node.children.items():
            if sign == "*":
                waiting.append((word + letter, position, child))
            elif sign in ("?", letter):
                waiting.append((word + letter, position + 1, child))
    return sorted(found)


def similar(root: Node, word: str, distance: int) -> list[tuple[str, int]]:
    """Return the words at most ``distance`` edits away, with their distance.

    Each place of the trie has the row of the table of Wagner and Fischer (1974) for its letters;
    a place whose row has no small number has no near words below it.
    """
    found: list[tuple[str, int]] = []
    first = list(range(len(word) + 1))
    waiting: list[tuple[str, Node, list[int]]] = [("", root, first)]
    while waiting:
        letters, node, row = waiting.pop()
        if node.weight is not None and row[-1] <= distance:
            found.append((letters, row[-1]))
        for letter, child in node.children.items():
            following = _next_row(row, word, letter)
            if min(following) <= distance:
                waiting.append((letters + letter, child, following))
    return sorted(found, key=lambda item: (item[1], item[0]))


def _next_row(row: list[int], word: str, letter: str) -> list[int]:
    """Return the row of the table for one letter more."""
    following = [row[0] + 1]
    for index, other in enumerate(word):
        replaced = row[index] + (0 if other == letter else 1)
        following.append(min(replaced, row[index + 1] + 1, following[index] + 1))
    return following

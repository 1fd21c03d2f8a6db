"""The nodes of a trie."""

from __future__ import annotations

from collections.abc import Iterator


class Node:
    """A place in a trie: the letters that lead to it are a prefix of some word.

    Attributes:
        children: The places one letter further.
        weight: The weight of the word that ends here; None if none does.
    """

    __slots__ = ("children", "weight")

    def __init__(self) -> None:
        self.children: dict[str, Node] = {}
        self.weight: int | None = None

    def down(self, letters: str) -> Node | None:
        """Return the place that some letters lead to, or None."""
        node = self
        for letter in letters:
            if letter not in node.children:
                return None
            node = node.children[letter]
        return node

    def words(self, prefix: str) -> Iterator[tuple[str, int]]:
        """Yield the words below with their weights in alphabetical order.

        Args:
            prefix: The letters that lead to this place.
        """
        # A stack instead of recursion: words may be longer than Python's stack is deep.
        waiting: list[tuple[str, Node]] = [(prefix, self)]
        while waiting:
            word, node = waiting.pop()
            if node.weight is not None:
                yield word, node.weight
            for letter in sorted(node.children, reverse=True):
                waiting.append((word + letter, node.children[letter]))

"""The set of words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from triewords.node import Node
from triewords.search import matching, similar


class WordTrie:
    """A set of words with weights.

    Args:
        words: The words, or a mapping from words to weights.
    """

    def __init__(self, words: Iterable[str] | Mapping[str, int] = ()) -> None:
        self._root = Node()
        self._size = 0
        if isinstance(words, Mapping):
            for word, weight in words.items():
                self.add(word, weight)
        else:
            for word in words:
                self.add(word)

    @classmethod
    def from_lines(cls, text: str) -> WordTrie:
        """Read lines of a word and, if it is not 1, its weight; empty lines are skipped.

        Raises:
            ValueError: A line has more than two parts, or its weight is not a positive number.
        """
        trie = cls()
        for number, line in enumerate(text.splitlines(), start=1):
            parts = line.split()
            if not parts:
                continue
            if len(parts) > 2 or (len(parts) == 2 and not parts[1].isdecimal()):
                raise ValueError(f"line {number}: expected a word and a weight, got {line!r}")
            trie.add(parts[0], int(parts[1]) if len(parts) == 2 else 1)
        return trie

    def to_lines(self) -> str:
        """Write what ``from_lines`` reads."""
        lines = [word if weight == 1 else f"{word} {weight}" for word, weight in self.items()]
        return "".join(line + "\n" for line in lines)

    def add(self, word: str, weight: int = 1) -> bool:
        """Add a word, or change its weight; say whether it is new.

        Raises:
            ValueError: The word is empty or the weight is less than 1.
        """
        if not word:
            raise ValueError("a word needs at least one letter")
        if weight < 1:
            raise ValueError(f"weight must be at least 1, got {weight}")
        node = self._root
        for letter in word:
            if letter not in node.children:
                node.children[letter] = Node()
            node = node.children[letter]
        is_new = node.weight is None
        node.weight = weight
        if is_new:
            self._size += 1
        return is_new

    def remove(self, word: str) -> bool:
        """Take a word out and say whether it was there."""
        path = [self._root]
        for letter in word:
            if letter not in path[-1].children:
                return False
            path.append(path[-1].children[letter])
        if path[-1].weight is None:
            return False
        path[-1].weight = None
        self._size -= 1
        for index in range(len(word) - 1, -1, -1):
            child = path[index + 1]
            if child.children or child.weight is not None:
                break
            del path[index].children[word[index]]
        return True

    def weight(self, word: str) -> int:
        """Return the weight of a word; 0 if it is not there."""
        node = self._root.down(word)
        return 0 if node is None or node.weight is None else node.weight

    def __contains__(self, word: object) -> bool:
        """Say whether a word is there."""
        return isinstance(word, str) and self.weight(word) > 0

    def __len__(self) -> int:
        """Return the number of words."""
        return self._size

    def __iter__(self) -> Iterator[str]:
        """Yield the words in alphabetical order."""
        for word, _ in self.items():
            yield word

    def items(self) -> Iterator[tuple[str, int]]:
        """Yield the words with their weights in alphabetical order."""
        return self._root.words("")

    def with_prefix(self, prefix: str) -> list[str]:
        """Return the words that begin with some letters, in alphabetical order."""
        node = self._root.down(prefix)
        return [] if node is None else [word for word, _ in node.words(prefix)]

    def complete(self, prefix: str, most: int = 5) -> list[str]:
        """Return the heaviest words that begin with some letters; equal ones by alphabet."""
        node = self._root.down(prefix)
        if node is None or most < 1:
            return []
        ranked = sorted(node.words(prefix), key=lambda item: (-item[1], item[0]))
        return [word for word, _ in ranked[:most]]

    def prefixes_of(self, text: str) -> list[str]:
        """Return the words with which a text begins, the shortest first."""
        found = []
        node = self._root
        for index, letter in enumerate(text):
            if letter not in node.children:
                break
            node = node.children[letter]
            if node.weight is not None:
                found.append(text[: index + 1])
        return found

    def longest_prefix(self, text: str) -> str:
        """Return the longest word with which a text begins; empty if there is none."""
        found = self.prefixes_of(text)
        return found[-1] if found else ""

    def common_prefix(self) -> str:
        """Return the letters with which all words begin."""
        letters = []
        node = self._root
        while len(node.children) == 1 and node.weight is None:
            letter, node = next(iter(node.children.items()))
            letters.append(letter)
        return "".join(letters)

    def matching(self, pattern: str) -> list[str]:
        """Return the words that fit a pattern: ``?`` is one letter, ``*`` any number of them."""
        return matching(self._root, pattern)

    def similar(self, word: str, distance: int) -> list[tuple[str, int]]:
        """Return the words that are so many edits away at most, with their distance.

        Args:
            word: The word to compare with.
            distance: How many letters may be put in, left out or replaced.

        Returns:
            The words, the nearest first, equally near ones in alphabetical order.
        """
        return similar(self._root, word, distance)

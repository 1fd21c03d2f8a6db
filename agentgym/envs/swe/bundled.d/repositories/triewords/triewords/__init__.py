"""Sets of words with search by prefix, pattern and distance."""

from triewords.segment import segment
from triewords.trie import WordTrie

__all__ = ["WordTrie", "segment"]

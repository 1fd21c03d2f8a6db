"""Adding, removing and listing words."""

import pytest
from triewords import WordTrie


def test_contains():
    """Words are contained, their beginnings are not."""
    words = WordTrie(["card"])
    assert ("card" in words, "car" in words, "cards" in words) == (True, False, False)


def test_contains_other_things():
    """What is no text is not contained."""
    assert 5 not in WordTrie(["5"])


def test_length():
    """A word that is added twice counts once."""
    assert len(WordTrie(["a", "ab", "a"])) == 2


def test_order():
    """Words are listed in alphabetical order, shorter ones first."""
    assert list(WordTrie(["dog", "card", "car", "do"])) == ["car", "card", "do", "dog"]


def test_add_says_if_new():
    """Add says whether the word is new."""
    words = WordTrie()
    assert (words.add("a"), words.add("a")) == (True, False)


def test_beginning_of_a_word_is_new():
    """The beginning of a word can be added as a word."""
    words = WordTrie(["card"])
    assert (words.add("car"), len(words)) == (True, 2)


def test_weights():
    """A word has the weight that it was given last, 1 by default and 0 if it is not there."""
    words = WordTrie({"a": 3, "b": 4})
    words.add("b", 9), words.add("c")
    assert [words.weight(word) for word in "abcd"] == [3, 9, 1, 0]


def test_weight_of_beginning():
    """The beginning of a word has no weight."""
    assert WordTrie(["card"]).weight("car") == 0


def test_empty_word():
    """A word without letters is refused."""
    with pytest.raises(ValueError, match="at least one letter"):
        WordTrie([""])


def test_bad_weight():
    """A weight of zero is refused."""
    with pytest.raises(ValueError, match="at least 1, got 0"):
        WordTrie({"a": 0})


def test_remove():
    """A word that was removed is gone."""
    words = WordTrie(["car", "dog"])
    assert (words.remove("car"), list(words), len(words)) == (True, ["dog"], 1)


@pytest.mark.parametrize("word", ["ca", "cars", "x", ""])
def test_remove_unknown(word):
    """Removing what is not a word changes nothing."""
    words = WordTrie(["car"])
    assert (words.remove(word), list(words), len(words)) == (False, ["car"], 1)


def test_remove_beginning():
    """Removing a word keeps the longer words that begin with it."""
    words = WordTrie(["car", "card"])
    words.remove("car")
    assert list(words) == ["card"]


def test_remove_continuation():
    """Removing a word keeps the shorter words with which it begins."""
    words = WordTrie(["car", "cards"])
    words.remove("cards")
    assert list(words) == ["car"]


def test_remove_leaves_no_traces():
    """After a word is removed, the common prefix is that of the words that are left."""
    words = WordTrie(["car", "cards", "dog"])
    words.remove("dog")
    assert words.common_prefix() == "car"


def test_remove_branch():
    """Removing a word keeps words that share a beginning with it."""
    words = WordTrie(["cat", "car"])
    words.remove("cat")
    assert list(words) == ["car"]


def test_from_lines():
    """Words are read with their weights, 1 if there is none."""
    assert list(WordTrie.from_lines("b 3\n\na\n").items()) == [("a", 1), ("b", 3)]


@pytest.mark.parametrize("line", ["a 1 2", "a x", "a -1"])
def test_bad_line(line):
    """A line that is no word with a weight is refused with its number."""
    with pytest.raises(ValueError, match="line 2"):
        WordTrie.from_lines("x\n" + line)


def test_to_lines():
    """Words are written with their weights unless these are 1."""
    assert WordTrie({"b": 1, "a": 2}).to_lines() == "a 2\nb\n"

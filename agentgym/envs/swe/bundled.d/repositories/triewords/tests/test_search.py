"""Searching words."""

import pytest
from triewords import WordTrie, segment

WORDS = WordTrie({"car": 5, "card": 2, "care": 9, "cat": 2, "dog": 4})


@pytest.mark.parametrize(
    ("prefix", "found"),
    [("car", ["car", "card", "care"]), ("dog", ["dog"]), ("x", []), ("dogs", [])],
)
def test_with_prefix(prefix, found):
    """The words that begin with some letters include these letters themselves."""
    assert WORDS.with_prefix(prefix) == found


def test_empty_prefix():
    """All words begin with nothing."""
    assert WORDS.with_prefix("") == ["car", "card", "care", "cat", "dog"]


def test_complete():
    """Completions are sorted by weight, equal ones by alphabet."""
    assert WORDS.complete("ca") == ["care", "car", "card", "cat"]


@pytest.mark.parametrize(("most", "found"), [(0, []), (1, ["care"]), (2, ["care", "car"])])
def test_complete_some(most, found):
    """Only as many completions are given as were asked for."""
    assert WORDS.complete("ca", most) == found


def test_complete_default():
    """Five completions are given if nothing else is said."""
    assert WordTrie("abcdefg").complete("") == ["a", "b", "c", "d", "e"]


def test_complete_unknown():
    """Letters with which no word begins have no completions."""
    assert WORDS.complete("x") == []


def test_prefixes_of():
    """The words with which a text begins are listed from short to long."""
    assert WordTrie(["a", "abc", "b", "abcd"]).prefixes_of("abcx") == ["a", "abc"]


def test_longest_prefix():
    """The longest word with which a text begins is found."""
    assert (WORDS.longest_prefix("cards"), WORDS.longest_prefix("x")) == ("card", "")


def test_text_that_is_a_word():
    """A text that is a word is its own longest prefix."""
    assert WORDS.longest_prefix("care") == "care"


@pytest.mark.parametrize(
    ("words", "prefix"),
    [
        (["card", "care"], "car"),
        (["car", "card"], "car"),
        (["a", "b"], ""),
        ([], ""),
        (["ab"], "ab"),
    ],
)
def test_common_prefix(words, prefix):
    """The common prefix ends where words part or where one of them ends."""
    assert WordTrie(words).common_prefix() == prefix


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("car", ["car"]),
        ("ca?", ["car", "cat"]),
        ("?a*", ["car", "card", "care", "cat"]),
        ("*", ["car", "card", "care", "cat", "dog"]),
        ("*r*", ["car", "card", "care"]),
        ("*d", ["card"]),
        ("c**t", ["cat"]),
        ("????", ["card", "care"]),
        ("ca", []),
        ("", []),
    ],
)
def test_matching(pattern, found):
    """In a pattern ? is one letter and * is any number of letters, also none."""
    assert WORDS.matching(pattern) == found


@pytest.mark.parametrize(
    ("word", "distance", "found"),
    [
        ("car", 0, [("car", 0)]),
        ("cart", 1, [("car", 1), ("card", 1), ("care", 1), ("cat", 1)]),
        ("car", 1, [("car", 0), ("card", 1), ("care", 1), ("cat", 1)]),
        ("og", 1, [("dog", 1)]),
        ("cxrx", 2, [("car", 2), ("card", 2), ("care", 2)]),
        ("xyz", 2, []),
    ],
)
def test_similar(word, distance, found):
    """Letters may be put in, left out or replaced; nearer words come first."""
    assert WORDS.similar(word, distance) == found


def test_similar_to_nothing():
    """The distance of a word to the empty text is its length."""
    assert WordTrie(["ab", "abc"]).similar("", 2) == [("ab", 2)]


def test_segment():
    """A text is split into words."""
    assert segment("cardogcare", WORDS) == ["car", "dog", "care"]


def test_segment_with_fewest_words():
    """Of several ways to split the one with fewest words is taken."""
    assert segment("abcd", WordTrie(["a", "b", "ab", "cd", "c", "d"])) == ["ab", "cd"]


def test_segment_by_weight():
    """Of ways with equally many words the one with the heavier words is taken."""
    words = {"ab": 1, "c": 1, "a": 1, "bc": 2}
    assert segment("abc", WordTrie(words)) == ["a", "bc"]
    assert segment("abc", WordTrie({**words, "ab": 3})) == ["ab", "c"]


def test_segment_tie():
    """Of ways that are equally good the one with the shorter last word is taken."""
    assert segment("abc", WordTrie(["ab", "c", "a", "bc"])) == ["ab", "c"]


def test_segment_impossible():
    """A text that cannot be split gives None."""
    assert segment("carx", WORDS) is None


def test_segment_needs_no_greed():
    """The longest first word is not taken if the rest could not be split."""
    assert segment("card", WordTrie(["car", "ca", "rd"])) == ["ca", "rd"]


def test_segment_empty_text():
    """An empty text has no words."""
    assert segment("", WORDS) == []

"""Distances."""

import pytest
from slugcase import common_prefix, hamming, jaro, jaro_winkler, levenshtein, ratio


def test_hamming():
    """The places at which two texts differ are counted."""
    assert hamming("karolin", "kathrin") == 3


def test_hamming_of_different_lengths():
    """Texts of different lengths have no Hamming distance."""
    with pytest.raises(ValueError, match=r"lengths differ: 2 and 3"):
        hamming("ab", "abc")


@pytest.mark.parametrize(
    ("a", "b", "distance"),
    [
        ("kitten", "sitting", 3),
        ("", "abc", 3),
        ("abc", "", 3),
        ("abc", "abc", 0),
        ("abc", "acb", 2),
        ("flaw", "lawn", 2),
    ],
)
def test_levenshtein(a, b, distance):
    """Insertions, deletions and replacements are counted."""
    assert levenshtein(a, b) == distance


@pytest.mark.parametrize(
    ("a", "b", "distance"), [("abc", "acb", 1), ("ca", "abc", 3), ("ab", "ba", 1)]
)
def test_transposition(a, b, distance):
    """Swapping two neighbours counts as one change on request."""
    assert levenshtein(a, b, transpose=True) == distance


@pytest.mark.parametrize(("limit", "distance"), [(1, 2), (2, 3), (3, 3), (9, 3)])
def test_limit(limit, distance):
    """Beyond the limit the distance is given as one more than the limit."""
    assert levenshtein("kitten", "sitting", limit=limit) == distance


def test_ratio():
    """The ratio is one less the distance divided by the greater length."""
    assert ratio("abcd", "abxx") == 0.5


def test_ratio_of_nothing():
    """Two empty texts are equal, an empty and another one have nothing in common."""
    assert (ratio("", ""), ratio("", "a")) == (1.0, 0.0)


@pytest.mark.parametrize(
    ("a", "b", "similarity"),
    [
        ("martha", "marhta", 0.9444),
        ("dixon", "dicksonx", 0.7667),
        ("jellyfish", "smellyfish", 0.8963),
        ("ab", "ba", 0.0),
        ("a", "", 0.0),
    ],
)
def test_jaro(a, b, similarity):
    """The similarity of Jaro has the values of the literature."""
    assert jaro(a, b) == pytest.approx(similarity, abs=0.0001)


def test_jaro_of_equal_texts():
    """Equal texts, also empty ones, have a Jaro similarity of one."""
    assert (jaro("abc", "abc"), jaro("", "")) == (1.0, 1.0)


@pytest.mark.parametrize(
    ("a", "b", "similarity"), [("martha", "marhta", 0.9611), ("dixon", "dicksonx", 0.8133)]
)
def test_jaro_winkler(a, b, similarity):
    """A common beginning raises the similarity of Jaro and Winkler."""
    assert jaro_winkler(a, b) == pytest.approx(similarity, abs=0.0001)


def test_jaro_winkler_counts_four_characters():
    """At most four common characters at the beginning count for Jaro and Winkler."""
    base = jaro("abcdefx", "abcdefy")
    assert jaro_winkler("abcdefx", "abcdefy") == pytest.approx(base + 0.4 * (1 - base))


@pytest.mark.parametrize("weight", [-0.1, 0.3])
def test_weight(weight):
    """A weight beyond 0 to 0.25 is refused."""
    with pytest.raises(ValueError, match=r"weight is between 0 and 0.25"):
        jaro_winkler("a", "b", weight)


@pytest.mark.parametrize(
    ("texts", "prefix"),
    [
        (["flower", "flow", "flight"], "fl"),
        (["abc"], "abc"),
        (["a", "b"], ""),
        ([], ""),
        (["ab", "abc"], "ab"),
    ],
)
def test_common_prefix(texts, prefix):
    """The longest beginning that all texts share is found."""
    assert common_prefix(*texts) == prefix

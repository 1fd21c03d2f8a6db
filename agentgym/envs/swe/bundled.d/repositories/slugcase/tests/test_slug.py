"""Slugs."""

import pytest
from slugcase import fold, slugify


@pytest.mark.parametrize(
    ("text", "plain"),
    [("Crème", "Creme"), ("straße", "strasse"), ("ÆØå", "AeOa"), ("ﬁne", "fine"), ("Łódź", "Lodz")],
)
def test_fold(text, plain):
    """Accents are dropped, and letters such as sharp s are spelled out."""
    assert fold(text) == plain


@pytest.mark.parametrize(
    ("text", "slug"),
    [
        ("Hello, World!", "hello-world"),
        ("Crème brûlée", "creme-brulee"),
        ("don't", "dont"),
        ("a_b--c", "a-b-c"),
        ("100% + 5", "100-percent-plus-5"),
        ("Tom & Jerry", "tom-and-jerry"),
        ("東京", ""),
    ],
)
def test_slugify(text, slug):
    """A slug has small plain letters and digits with single dashes between words."""
    assert slugify(text) == slug


def test_separator():
    """Another separator may stand between the words of a slug."""
    assert slugify("a b c", separator="__") == "a__b__c"


@pytest.mark.parametrize(
    ("limit", "slug"), [(6, "one"), (7, "one-two"), (12, "one-two"), (13, "one-two-three")]
)
def test_max_length(limit, slug):
    """Words that do not fit into the length are dropped at the end."""
    assert slugify("one two three", max_length=limit) == slug


def test_first_word_is_cut():
    """A first word that is longer than the length is cut."""
    assert slugify("incredible story", max_length=4) == "incr"


def test_max_length_counts_separators():
    """The separators count for the length of a slug."""
    assert slugify("aa bb", separator="--", max_length=5) == "aa"


def test_negative_max_length():
    """A negative length is refused."""
    with pytest.raises(ValueError, match=r"max_length cannot be negative"):
        slugify("a", max_length=-1)


def test_stopwords():
    """Stop words are left out of a slug."""
    assert slugify("The art of war", stopwords={"the", "of"}) == "art-war"


def test_only_stopwords():
    """Stop words stay if nothing else would be left."""
    assert slugify("To be", stopwords={"to", "be"}) == "to-be"


def test_symbols():
    """The spelling of symbols can be chosen."""
    assert slugify("a & b $ c", symbols={"$": "dollar"}) == "a-b-dollar-c"

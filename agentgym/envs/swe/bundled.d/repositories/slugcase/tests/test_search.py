"""Finding similar texts."""

import pytest
from slugcase import best_matches, closest, dice


def test_dice():
    """Pairs of characters that both texts have count twice."""
    assert dice("night", "nacht") == 0.25


def test_dice_counts_repeated_pairs():
    """A pair that one text has more often counts only as often as in the other."""
    assert dice("aaaa", "aa") == 0.5


def test_dice_within_words():
    """Pairs do not reach from one word to the next, and case does not count."""
    assert dice("AB CD", "cd ab") == 1.0


def test_dice_of_single_letters():
    """Texts without any pair are similar only if they are equal."""
    assert (dice("a", "A"), dice("a", "b")) == (1.0, 0.0)


def test_best_matches():
    """The most similar candidates come first, those below the cutoff are left out."""
    assert best_matches("comit", ["merge", "omit", "commit"]) == ["commit", "omit"]


def test_best_matches_without_case_and_accents():
    """Case and accents do not count for the best matches."""
    assert best_matches("CAFE", ["tea", "Café"]) == ["Café"]


def test_best_matches_count():
    """No more candidates than wanted are given."""
    assert best_matches("aaaa", ["aaaab", "aaaa", "aaaac"], count=2) == ["aaaa", "aaaab"]


def test_best_matches_cutoff():
    """A candidate whose similarity is the cutoff itself is given."""
    assert best_matches("abc", ["abc", "abd"], cutoff=1.0) == ["abc"]


def test_best_matches_count_of_zero():
    """Wanting no candidates is refused."""
    with pytest.raises(ValueError, match=r"count is at least 1, got 0"):
        best_matches("a", ["a"], count=0)


def test_closest():
    """The candidate with the fewest typing errors is chosen."""
    assert closest("stauts", ["start", "status", "stats"]) == "status"


def test_closest_first_among_equals():
    """Of candidates with as many errors the first is chosen."""
    assert closest("cat", ["bat", "hat"]) == "bat"


def test_closest_exact():
    """A candidate without errors is chosen even behind one with an error."""
    assert closest("cat", ["bat", "cat", "car"]) == "cat"


@pytest.mark.parametrize(("limit", "result"), [(2, "abxy"), (1, None)])
def test_closest_limit(limit, result):
    """A candidate with more errors than the limit is not chosen."""
    assert closest("abcd", ["abxy"], limit) == result

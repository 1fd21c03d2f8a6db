"""Merging."""

from hunkwise import MergeResult, merge

BASE = "a\nb\nc\n"


def test_nothing_changed():
    """Merging equal texts gives this text."""
    assert merge(BASE, BASE, BASE) == MergeResult(BASE, 0)


def test_only_ours():
    """A change on our side only is taken."""
    assert merge(BASE, "a\nB\nc\n", BASE).text == "a\nB\nc\n"


def test_only_theirs():
    """A change on their side only is taken."""
    assert merge(BASE, BASE, "a\nc\n").text == "a\nc\n"


def test_both_in_different_places():
    """Changes of both sides in different places are both taken."""
    assert merge(BASE, "A\nb\nc\n", "a\nb\nc\nd\n") == MergeResult("A\nb\nc\nd\n", 0)


def test_both_alike():
    """A change that both sides made alike is taken once."""
    assert merge(BASE, "a\nx\nc\n", "a\nx\nc\n") == MergeResult("a\nx\nc\n", 0)


def test_conflict():
    """Different changes of the same line are shown between markers."""
    assert merge(BASE, "a\n1\nc\n", "a\n2\nc\n") == MergeResult(
        "a\n<<<<<<< ours\n1\n=======\n2\n>>>>>>> theirs\nc\n", 1
    )


def test_names_of_the_sides():
    """The markers of a conflict carry the names of the sides."""
    lines = merge("a\n", "b\n", "c\n", "left", "right").text.splitlines()
    assert (lines[0], lines[-1]) == ("<<<<<<< left", ">>>>>>> right")


def test_changed_and_removed():
    """A line that one side changed and the other removed is a conflict."""
    assert merge(BASE, "a\nx\nc\n", "a\nc\n").conflicts == 1


def test_conflict_without_newline():
    """Markers stand on lines of their own even if a text has no newline at its end."""
    assert merge("a", "b", "c").text == "<<<<<<< ours\nb\n=======\nc\n>>>>>>> theirs\n"


def test_two_conflicts():
    """Every place where the sides differ is counted."""
    assert merge(BASE, "1\nb\n1\n", "2\nb\n2\n").conflicts == 2

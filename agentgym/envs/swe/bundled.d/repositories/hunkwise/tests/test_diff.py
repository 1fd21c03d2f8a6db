"""Making diffs."""

import pytest
from hunkwise import make_diff, make_hunks
from hunkwise.diff import common_lines


def body(old, new, context=3):
    """The diff without the names."""
    return "".join(make_diff(old, new, context=context).splitlines(keepends=True)[2:])


def test_equal_texts():
    """Equal texts have an empty diff."""
    assert make_diff("a\nb\n", "a\nb\n") == ""


def test_names_in_the_head():
    """A diff begins with the names of the old and the new file."""
    assert make_diff("a\n", "b\n", "x.txt", "y.txt").startswith("--- x.txt\n+++ y.txt\n@@")


def test_changed_line():
    """A changed line is removed and added, in this order."""
    assert body("a\nb\nc\n", "a\nB\nc\n") == "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"


def test_added_line():
    """A line that is added at the end counts only in the new text."""
    assert body("a\n", "a\nb\n") == "@@ -1 +1,2 @@\n a\n+b\n"


def test_removed_line():
    """A line that is removed counts only in the old text."""
    assert body("a\nb\n", "b\n") == "@@ -1,2 +1 @@\n-a\n b\n"


def test_from_empty_text():
    """A diff from an empty text begins at line 0 of it."""
    assert body("", "a\nb\n") == "@@ -0,0 +1,2 @@\n+a\n+b\n"


def test_to_empty_text():
    """A diff to an empty text begins at line 0 of it."""
    assert body("a\n", "") == "@@ -1 +0,0 @@\n-a\n"


def test_missing_newline_in_the_new_text():
    """A text that loses the newline at its end shows the remark below the new line."""
    assert body("a\n", "a") == "@@ -1 +1 @@\n-a\n+a\n\\ No newline at end of file\n"


def test_missing_newline_in_both_texts():
    """The remark about a missing newline may stand below a line of context."""
    assert body("a\nb", "x\nb") == "@@ -1,2 +1,2 @@\n-a\n+x\n b\n\\ No newline at end of file\n"


def test_carriage_returns_are_characters():
    """A carriage return does not end a line and makes lines differ."""
    assert body("a\r\n", "a\n") == "@@ -1 +1 @@\n-a\r\n+a\n"


def test_three_lines_of_context():
    """Three lines stand before and after a change."""
    old = "".join(f"{n}\n" for n in range(10))
    assert body(old, old.replace("5", "x")) == ("@@ -3,7 +3,7 @@\n 2\n 3\n 4\n-5\n+x\n 6\n 7\n 8\n")


def test_no_context():
    """Without context a hunk has only the lines that change."""
    assert body("a\nb\nc\n", "a\nB\nc\n", context=0) == "@@ -2 +2 @@\n-b\n+B\n"


def test_insertion_without_context():
    """Without context an insertion names the line before it in the old text."""
    assert body("a\nb\n", "a\nx\nb\n", context=0) == "@@ -1,0 +2 @@\n+x\n"


def test_negative_context():
    """A negative number of lines of context is refused."""
    with pytest.raises(ValueError, match=r"context cannot be negative"):
        make_hunks([], [], -1)


def test_close_changes_share_a_hunk():
    """Changes with twice the context between them share a hunk."""
    assert len(make_hunks(list("a12b"), list("x12y"), context=1)) == 1


def test_distant_changes_have_hunks_of_their_own():
    """Changes with more than twice the context between them have hunks of their own."""
    assert [h.old_start for h in make_hunks(list("a123b"), list("x123y"), context=1)] == [1, 4]


def test_new_start_is_moved():
    """The place of a later hunk in the new text is moved by what was added before."""
    hunks = make_hunks(list("a12345b"), list("aa12345c"), context=0)
    assert [(h.old_start, h.new_start) for h in hunks] == [(1, 2), (7, 8)]


@pytest.mark.parametrize(
    ("old", "new", "length"),
    [
        ("abcabba", "cbabac", 4),
        ("abc", "abc", 3),
        ("abc", "xyz", 0),
        ("", "abc", 0),
        ("ab", "ba", 1),
    ],
)
def test_common_lines_are_longest(old, new, length):
    """As many lines as possible are kept between two texts."""
    assert len(common_lines(old, new)) == length


def test_common_lines_are_pairs():
    """The common lines are pairs of places in both texts, in ascending order."""
    assert common_lines("axbc", "abyc") == [(0, 0), (2, 1), (3, 3)]

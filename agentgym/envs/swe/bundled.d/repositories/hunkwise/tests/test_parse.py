"""Reading, writing and reversing diffs."""

import pytest
from hunkwise import Line, PatchSyntaxError, make_diff, parse_patch

DIFF = """\
diff of two files
--- a/one.txt\t2020-01-01
+++ b/one.txt\t2020-01-02
@@ -1,3 +1,2 @@ def one():
 a
-b
 c
@@ -9 +8,2 @@
-x
+y
+z
--- two
+++ /dev/null
@@ -1 +0,0 @@
-gone
"""


def test_names():
    """The names of the files are read without the times behind them."""
    assert [(p.old_name, p.new_name) for p in parse_patch(DIFF)] == [
        ("a/one.txt", "b/one.txt"),
        ("two", "/dev/null"),
    ]


def test_hunks():
    """Each file has its own hunks."""
    assert [len(patch.hunks) for patch in parse_patch(DIFF)] == [2, 1]


def test_places():
    """The places of a hunk are read from its header."""
    hunk = parse_patch(DIFF)[0].hunks[1]
    assert (hunk.old_start, hunk.new_start) == (9, 8)


def test_lines():
    """The lines of a hunk are read with their marks."""
    assert parse_patch(DIFF)[0].hunks[0].lines == (
        Line(" ", "a\n"),
        Line("-", "b\n"),
        Line(" ", "c\n"),
    )


def test_old_and_new_lines():
    """A hunk knows its lines in the old and in the new text."""
    hunk = parse_patch(DIFF)[0].hunks[0]
    assert (hunk.old, hunk.new) == (["a\n", "b\n", "c\n"], ["a\n", "c\n"])


def test_added_and_removed():
    """A patch counts the lines that come and go in all its hunks."""
    patch = parse_patch(DIFF)[0]
    assert (patch.added, patch.removed) == (2, 2)


def test_missing_newline():
    """The remark about a missing newline takes the newline from the line above it."""
    diff = make_diff("a\nb", "a\nc\n")
    assert parse_patch(diff)[0].hunks[0].old == ["a\n", "b"]


def test_removed_dashes_are_no_head():
    """A removed line that begins with two dashes is not taken for the head of a file."""
    diff = make_diff("-- x\n", "++ y\n")
    assert [patch.old_name for patch in parse_patch(diff)] == ["old"]


def test_empty_line_is_context():
    """An empty line within a hunk is an empty line of context."""
    diff = "--- a\n+++ b\n@@ -1,2 +1,2 @@\n\n-a\n+b\n"
    assert parse_patch(diff)[0].hunks[0].lines[0] == Line(" ", "\n")


def test_nothing_to_read():
    """A text without any diff has no patches."""
    assert parse_patch("hello\n--- only one name\n") == []


def test_damaged_header():
    """A header of a hunk that cannot be read is refused with its line."""
    with pytest.raises(PatchSyntaxError, match=r"line 3: cannot read '@@ -x @@'"):
        parse_patch("--- a\n+++ b\n@@ -x @@\n")


def test_hunk_without_file():
    """A hunk before any name of a file is refused."""
    with pytest.raises(PatchSyntaxError, match=r"line 1: a hunk before"):
        parse_patch("@@ -1 +1 @@\n-a\n+b\n")


def test_damaged_line():
    """A line within a hunk that has no mark is refused."""
    with pytest.raises(PatchSyntaxError, match=r"line 5: a hunk has no line 'oops'"):
        parse_patch("--- a\n+++ b\n@@ -1,2 +1,2 @@\n a\noops\n")


def test_truncated_hunk():
    """A hunk with fewer lines than its header says is refused."""
    with pytest.raises(PatchSyntaxError, match=r"has another number of lines"):
        parse_patch("--- a\n+++ b\n@@ -1,2 +1,2 @@\n a\n")


def test_render_gives_the_text_back():
    """A diff that was read is written as it was."""
    diff = make_diff("a\nb\nc", "a\nx\nc\nd")
    assert parse_patch(diff)[0].render() == diff


def test_reversed_names():
    """A reversed patch has its names swapped."""
    patch = parse_patch(DIFF)[0].reversed()
    assert (patch.old_name, patch.new_name) == ("b/one.txt", "a/one.txt")


def test_reversed_hunk():
    """A reversed hunk removes what was added, and removals come before additions."""
    hunk = parse_patch(DIFF)[0].hunks[1].reversed()
    assert hunk.render() == "@@ -8,2 +9 @@\n-y\n-z\n+x\n"


def test_reversed_keeps_context_in_place():
    """Lines of context stay between the changes when a hunk is reversed."""
    diff = "--- a\n+++ b\n@@ -1,3 +1,3 @@\n-a\n+b\n c\n-d\n+e\n"
    hunk = parse_patch(diff)[0].hunks[0].reversed()
    assert hunk.render() == "@@ -1,3 +1,3 @@\n-b\n+a\n c\n-e\n+d\n"

"""Applying diffs."""

import pytest
from hunkwise import PatchConflict, apply, make_diff, parse_patch

OLD = "".join(f"line {n}\n" for n in range(1, 21))


def patch_of(old, new, context=3):
    """The patch between two texts."""
    return parse_patch(make_diff(old, new, context=context))[0]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("a\nb\n", "a\nc\n"),
        ("", "a\n"),
        ("a\n", ""),
        ("a\nb", "a\nb\n"),
        ("a\nb\n", "x\na\nb\ny"),
    ],
)
def test_apply_gives_the_new_text(old, new):
    """Applying the diff of two texts to the old one gives the new one."""
    assert apply(patch_of(old, new), old) == new


@pytest.mark.parametrize(("old", "new"), [("a\nb\n", "a\nc\n"), ("a\n", ""), ("a\nb", "x\nb\n")])
def test_apply_reversed(old, new):
    """Applying the reversed diff to the new text gives the old one."""
    assert apply(patch_of(old, new).reversed(), new) == old


def test_two_hunks():
    """A later hunk is found although an earlier one has added lines."""
    new = OLD.replace("line 3\n", "line 3\nextra\nextra\n").replace("line 17", "LINE 17")
    assert apply(patch_of(OLD, new), OLD) == new


def test_insertions_without_context():
    """Insertions without context are put behind the line that their header names."""
    new = OLD.replace("line 5\n", "line 5\nx\n").replace("line 9\n", "line 9\ny\n")
    assert apply(patch_of(OLD, new, context=0), OLD) == new


def test_moved_text():
    """A hunk is found although lines were added before it."""
    patch = patch_of(OLD, OLD.replace("line 9\n", "nine\n"))
    assert "line 8\nnine\nline 10\n" in apply(patch, "top\n" * 5 + OLD)


def test_nearest_place():
    """Of two places where a hunk fits the one nearest to its header is taken."""
    patch = patch_of("1\n2\n3\na\n", "1\n2\n3\nb\n", context=0)
    assert apply(patch, "a\n2\n3\n4\na\n") == "a\n2\n3\n4\nb\n"


def test_first_of_two_equally_near():
    """Of two places equally near the first is taken."""
    patch = patch_of("1\n2\na\n", "1\n2\nb\n", context=0)
    assert apply(patch, "1\na\n3\na\n") == "1\nb\n3\na\n"


def test_hunks_are_applied_in_order():
    """A hunk is not put before the one that was applied before it."""
    patch = patch_of("a\n1\nb\n2\n", "a\nx\nb\ny\n", context=0)
    with pytest.raises(PatchConflict, match=r"hunk 2"):
        apply(patch, "2\n3\n1\n4\n")


def test_later_hunk_follows_the_shift():
    """A hunk is expected as far away as the one before it was found."""
    patch = patch_of("k\na\na\nm\na\n", "K\na\na\nm\nb\n", context=0)
    assert apply(patch, "0\n0\nk\na\na\nm\na\na\n") == "0\n0\nK\na\na\nm\nb\na\n"


def test_conflict():
    """A hunk that fits nowhere is a conflict with the number of the hunk."""
    with pytest.raises(PatchConflict, match=r"hunk 1 .* does not fit") as info:
        apply(patch_of("a\n", "b\n"), "c\n")
    assert info.value.number == 1


def test_reach():
    """A hunk is found as far away as the reach allows."""
    patch = patch_of("a\n", "b\n")
    assert apply(patch, "0\n0\na\n", reach=2) == "0\n0\nb\n"


def test_out_of_reach():
    """A hunk further away than the reach is a conflict."""
    patch = patch_of("a\n", "b\n")
    with pytest.raises(PatchConflict):
        apply(patch, "0\n0\na\n", reach=1)


def test_without_fuzz_context_must_fit():
    """Without fuzz a hunk whose context differs is a conflict."""
    patch = patch_of("a\nb\nc\n", "a\nB\nc\n")
    with pytest.raises(PatchConflict):
        apply(patch, "x\nb\nc\n")


@pytest.mark.parametrize("text", ["x\nb\nc\n", "a\nb\nx\n", "x\nb\ny\n"])
def test_fuzz(text):
    """With a fuzz of one the outermost lines of context may differ and are left as they are."""
    patch = patch_of("a\nb\nc\n", "a\nB\nc\n")
    assert apply(patch, text, fuzz=1) == text.replace("b", "B")


def test_fuzz_is_limited():
    """With a fuzz of one a difference in the second line of context is a conflict."""
    patch = patch_of("1\n2\n3\n", "1\n2\nx\n")
    with pytest.raises(PatchConflict):
        apply(patch, "1\nq\n3\n", fuzz=1)


def test_fuzz_does_not_drop_changes():
    """Fuzz never ignores a line that the hunk removes."""
    patch = patch_of("a\nb\n", "b\n")
    with pytest.raises(PatchConflict):
        apply(patch, "x\nb\n", fuzz=2)


def test_applied_twice():
    """A patch cannot be applied to a text that already has the change."""
    patch = patch_of("a\nb\nc\n", "a\nB\nc\n")
    with pytest.raises(PatchConflict):
        apply(patch, "a\nB\nc\n")

"""Edits by bytes, and the diffs that are written of files."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym.envs.swe.diffs import apply_diff
from agentgym.envs.swe.edits import apply_edits, edited_files, edits_between, write_diff
from agentgym.envs.swe.instance import Edit
from agentgym.errors import DataError

TEXTS = st.text(st.sampled_from("ab\n é\t+-@"), max_size=40).map(str.encode)
FILES = st.dictionaries(st.sampled_from(["a.py", "b/c.py", "d"]), TEXTS, max_size=3)


def test_offsets_are_bytes_of_the_sound_file():
    content = "é = 1\nb = 2\n".encode()
    edits = [Edit("a.py", 5, "1", "100"), Edit("a.py", 11, "2", "")]
    assert apply_edits(content, edits) == "é = 100\nb = \n".encode()


@pytest.mark.parametrize(
    "edits",
    [
        [Edit("a.py", 0, "x", "y")],
        [Edit("a.py", 90, "a", "y")],
        [Edit("a.py", 0, "ab", ""), Edit("a.py", 1, "b", "")],
    ],
)
def test_edits_of_another_file_are_refused(edits):
    with pytest.raises(DataError, match="another one than the edit was made for"):
        apply_edits(b"abc", edits)


def test_edits_of_several_files():
    files = {"a": b"x", "b": b"y"}
    edits = [Edit("b", 0, "y", "z"), Edit("a", 0, "x", "w")]
    assert edited_files(files.__getitem__, edits) == {"a": b"w", "b": b"z"}


@given(FILES, FILES)
def test_a_diff_turns_old_files_into_new_ones(before, after):
    changed = apply_diff(write_diff(before, after), before.get)
    result = {**before, **changed}
    files = {path: content for path, content in result.items() if content is not None}
    # An empty file that comes or goes has no lines to show, and no hunks.
    empty = {path for path in {*before, *after} if not (before.get(path) or after.get(path))}
    assert {p: c for p, c in files.items() if p not in empty} == {
        p: c for p, c in after.items() if p not in empty
    }


def test_equal_files_have_no_diff():
    assert write_diff({"a": b"x\n"}, {"a": b"x\n"}) == ""


def test_a_diff_is_written_as_git_does():
    assert write_diff({"a/b.py": b"x\ny"}, {"a/b.py": b"x\nz\n"}) == (
        "diff --git a/a/b.py b/a/b.py\n--- a/a/b.py\n+++ b/a/b.py\n@@ -1,2 +1,2 @@\n x\n-y\n"
        "\\ No newline at end of file\n+z\n"
    )


@given(TEXTS, TEXTS)
def test_edits_between_two_contents_lead_from_one_to_the_other(before, after):
    edits = edits_between("a.py", before, after)
    assert apply_edits(before, edits) == after
    assert (before == after) == (not edits)

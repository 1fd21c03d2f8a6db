from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentgym.envs.swe.diffs import apply_diff, read_diff
from agentgym.envs.swe.edits import write_diff
from agentgym.errors import DataError

LINES = st.lists(st.sampled_from(["a", "b", "c", "", "--- x", "+++ y", "@@ z", "é"]), max_size=12)
ENDS = st.sampled_from(["", "\n"])
TEXTS = st.builds(lambda lines, end: ("\n".join(lines) + end).encode(), LINES, ENDS)


@settings(max_examples=300, deadline=None)
@given(TEXTS, TEXTS)
def test_a_diff_that_was_written_leads_there(old: bytes, new: bytes) -> None:
    diff = write_diff({"a/b.py": old}, {"a/b.py": new})
    if old != new:
        assert apply_diff(diff, {"a/b.py": old}.get) == {"a/b.py": new}
        if old.strip():
            assert apply_diff(write_diff({"x": old}, {}), {"x": old}.get) == {"x": None}


def test_files_come_go_and_move() -> None:
    diff = (
        "diff --git a/old.py b/new.py\nsimilarity index 90%\nrename from old.py\nrename to new.py\n"
        "--- a/old.py\n+++ b/new.py\n@@ -1 +1,2 @@\n a\n+b\n"
        "diff --git a/gone.py b/gone.py\ndeleted file mode 100644\n--- a/gone.py\n+++ /dev/null\n"
        "@@ -1 +0,0 @@\n-x\n"
        "diff --git a/made.py b/made.py\nnew file mode 100644\n--- /dev/null\n+++ b/made.py\n"
        "@@ -0,0 +1 @@\n+y\n\\ No newline at end of file\n"
        "diff --git a/empty.py b/empty.py\nnew file mode 100644\nindex 0000000..e69de29\n"
    )
    assert apply_diff(diff, {"old.py": b"a\n", "gone.py": b"x\n"}.get) == {
        "old.py": None, "new.py": b"a\nb\n", "gone.py": None, "made.py": b"y", "empty.py": b"",
    }  # fmt: skip


def test_a_hunk_is_found_where_lines_have_moved() -> None:
    diff = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"
    assert apply_diff(diff, {"x": b"1\n2\n3\na\nb\n"}.get) == {"x": b"1\n2\n3\na\nc\n"}


@pytest.mark.parametrize(
    "diff",
    [
        "hello",
        "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-q\n+c\n",
        "--- a/y\n+++ b/y\n@@ -1 +1 @@\n-a\n+c\n",
        "--- a/x\n+++ b/x\n@@ -1,5 +1 @@\n-a\n+c\n",
        "@@ -1 +1 @@\n-a\n+c\n",
        "diff --git a/x b/x\nBinary files a/x and b/x differ\n",
    ],
)
def test_what_does_not_fit_is_an_error(diff: str) -> None:
    with pytest.raises(DataError, match="expected"):
        apply_diff(diff, {"x": b"a\n"}.get)


def test_nothing_is_a_diff_of_nothing() -> None:
    assert read_diff("") == [] and apply_diff("\n", {}.get) == {}

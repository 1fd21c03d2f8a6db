from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentgym.envs.swe.diffs import apply_diff, read_diff
from agentgym.envs.swe.edits import write_diff
from agentgym.errors import DataError

SEPARATORS = "\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
LINES = st.lists(
    st.sampled_from(["a", "b", "c", "", "--- x", "+++ y", "@@ z", "é", "d\r", "\r", *SEPARATORS]),
    max_size=12,
)
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


@pytest.mark.parametrize("sign", SEPARATORS)
def test_a_line_may_hold_what_ends_lines_elsewhere(sign: str) -> None:
    diff = f"--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n {sign}\n-p{sign}q\n+r{sign}{sign}\n s\n"
    old_text, new_text = f"{sign}\np{sign}q\ns\n".encode(), f"{sign}\nr{sign}{sign}\ns\n".encode()
    assert apply_diff(diff, {"x": old_text}.get) == {"x": new_text}


@pytest.mark.parametrize(
    ("content", "changed"),
    [
        (b"a\r\nb\r\nc\r\n", b"a\r\nB\r\nnew\r\nc\r\n"),
        (b"a\r\nb\nc\r\n", b"a\r\nB\r\nnew\r\nc\r\n"),
        (b"a\nb\nc\n", b"a\nB\nnew\nc\n"),
        (b"a\nb\r\nc", b"a\nB\nnew\nc"),
        (b"0\r\na\r\nb\r\nc\r\n", b"0\r\na\r\nB\r\nnew\r\nc\r\n"),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_hunk_is_applied_in_the_line_ends_of_the_file(
    content: bytes, changed: bytes, end: str
) -> None:
    last = "" if content.endswith(b"\n") else "\n\\ No newline at end of file"
    diff = f"--- a/x\n+++ b/x\n@@ -1,3 +1,4 @@\n a\n-b\n+B\n+new\n c{last}\n"
    assert apply_diff(diff.replace("\n", end), {"x": content}.get) == {"x": changed}


def test_line_ends_that_the_diff_itself_changes_stay_as_it_says() -> None:
    diff = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-a\r\n+a\n b\n"
    assert apply_diff(diff, {"x": b"a\r\nb\n"}.get) == {"x": b"a\nb\n"}


def test_an_empty_line_whose_blank_was_lost() -> None:
    diff = "--- a/x\r\n+++ b/x\r\n@@ -1,3 +1,3 @@\r\n a\r\n\r\n-b\r\n+c\r\n"
    assert apply_diff(diff, {"x": b"a\r\n\r\nb\r\n"}.get) == {"x": b"a\r\n\r\nc\r\n"}

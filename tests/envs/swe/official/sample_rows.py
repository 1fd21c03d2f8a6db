"""Rows of the shape of each published set, about a library that nobody has: invented throughout."""

from __future__ import annotations

import json
from typing import Any

PATCH = """\
diff --git a/ledger/sums.py b/ledger/sums.py
index 1111111..2222222 100644
--- a/ledger/sums.py
+++ b/ledger/sums.py
@@ -1,4 +1,4 @@
 def total(amounts):
     result = 0
     for amount in amounts:
-        result = amount
+        result += amount
"""
TEST_PATCH = """\
diff --git a/tests/data/big.json b/tests/data/big.json
new file mode 100644
index 0000000..3333333
--- /dev/null
+++ b/tests/data/big.json
@@ -0,0 +1 @@
+[1]
diff --git a/tests/test_sums.py b/tests/test_sums.py
index 4444444..5555555 100644
--- a/tests/test_sums.py
+++ b/tests/test_sums.py
@@ -2,3 +2,7 @@
 
 def test_one():
     assert total([4]) == 4
+
+
+def test_two():
+    assert total([4, 5]) == 9
diff --git a/tests/test_gone.py b/tests/test_gone.py
deleted file mode 100644
index 6666666..0000000
--- a/tests/test_gone.py
+++ /dev/null
@@ -1 +0,0 @@
-x = 1
"""
FAILS, PASSES = ["tests/test_sums.py::test_two"], ["tests/test_sums.py::test_one"]
STATEMENT = "total([4, 5]) gives 5\n\nI expected 9."


def swe_gym(**changes: Any) -> dict[str, Any]:
    row = {
        "instance_id": "Quiet__ledger-7",
        "repo": "Quiet/ledger",
        "base_commit": "c" * 40,
        "version": "1.2",
        "created_at": "2020-01-01T00:00:00Z",
        "hints_text": "",
        "problem_statement": STATEMENT,
        "patch": PATCH,
        "test_patch": TEST_PATCH,
        "FAIL_TO_PASS": FAILS,
        "PASS_TO_PASS": PASSES,
    }
    return {**row, **changes}


def swe_bench(**changes: Any) -> dict[str, Any]:
    lists = {"FAIL_TO_PASS": json.dumps(FAILS), "PASS_TO_PASS": json.dumps(PASSES)}
    return swe_gym(environment_setup_commit="d" * 40, **{**lists, **changes})


def verified(**changes: Any) -> dict[str, Any]:
    return swe_bench(**{"difficulty": "<15 min fix", **changes})


def swe_smith(**changes: Any) -> dict[str, Any]:
    row = {
        "instance_id": "quiet__ledger.0123abcd.func_basic__x1",
        "repo": "swesmith/quiet__ledger.0123abcd",
        "image_name": "jyangballin/swesmith.x86_64.quiet_1776_ledger.0123abcd",
        "patch": PATCH,
        "problem_statement": STATEMENT,
        "FAIL_TO_PASS": FAILS,
        "PASS_TO_PASS": PASSES,
    }
    return {**row, **changes}


def r2e_gym(**changes: Any) -> dict[str, Any]:
    lines = [
        {"type": "context", "content": "def total(amounts):"},
        {"type": "deleted", "content": "    return amounts[-1]"},
        {"type": "added", "content": "    return sum(amounts)"},
    ]
    hunk = {
        "descriptor": {
            "old_range": {"start": 1, "length": 2},
            "new_range": {"start": 1, "length": 2},
        },
        "line_group": {"all_lines": lines},
    }
    files = [
        {
            "header": {"file": {"path": path}, "misc_line": None},
            "minus_file": {"path": f"a/{path}"},
            "plus_file": {"path": f"b/{path}"},
            "hunks": [hunk],
        }
        for path in ("ledger/sums.py", "tests/test_sums.py", "NEWS.rst")
    ]
    before = (
        "=== short test summary info ===\n"
        "PASSED r2e_tests/test_1.py::TestSums::test_one\n"
        "FAILED r2e_tests/test_1.py::TestSums::test_two - assert 5 == 9\n"
        "FAILED r2e_tests/test_1.py::test_never\n"
    )
    expected = {
        "TestSums.test_one": "PASSED",
        "TestSums.test_two - assert": "PASSED",
        "test_never": "FAILED",
    }
    row = {
        "repo_name": "ledger",
        "commit_hash": "e" * 40,
        "docker_image": f"quiet/ledger_final:{'e' * 40}",
        "problem_statement": f"[ISSUE]\n{STATEMENT}\n[/ISSUE]",
        "prompt": "Write an issue about ...",
        "parsed_commit_content": json.dumps({"file_diffs": files}),
        "expected_output_json": json.dumps(expected),
        "execution_result_content": json.dumps({"old_commit_res_stdout": before}),
    }
    return {**row, **changes}


def rebench(**changes: Any) -> dict[str, Any]:
    config = {"test_cmd": "pytest --no-header -rA --tb=line", "log_parser": "parse_log_pytest"}
    extra = {"install_config": config, "docker_image": None, "environment_setup_commit": "d" * 40}
    return swe_gym(**{**extra, **changes})


def rebench_v2(**changes: Any) -> dict[str, Any]:
    config = {
        "test_cmd": ["make -s build", "pytest -rA tests/test_sums.py"],
        "log_parser": "parse_log_pytest_v2",
    }
    extra = {
        "install_config": json.dumps(config),
        "image_name": "docker.io/swerebenchv2/quiet-ledger:7-abc",
        "language": "python",
    }
    return swe_gym(**{**extra, **changes})


ROWS = {
    "swe-gym": swe_gym,
    "swe-bench": swe_bench,
    "swe-bench-verified": verified,
    "swe-smith": swe_smith,
    "r2e-gym": r2e_gym,
    "swe-rebench": rebench,
    "swe-rebench-v2": rebench_v2,
}
"""A row of each set that is known by its fields."""

"""Rows of each published set become instances; broken ones are named by their field."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentgym.envs.swe.instance import ImageSource, Instance
from agentgym.envs.swe.official.logs import LOG_FORMATS, statuses_of
from agentgym.envs.swe.official.rows import read_row
from agentgym.envs.swe.official.sets import DATA_SETS, data_set, recognise
from agentgym.errors import ConfigurationError, DataError
from tests.envs.swe.official.sample_rows import (
    FAILS,
    PASSES,
    PATCH,
    ROWS,
    STATEMENT,
    TEST_PATCH,
    r2e_gym,
    rebench,
    swe_gym,
    swe_smith,
    verified,
)


def read(row: dict[str, Any], name: str | None = None) -> Instance:
    return read_row(row, DATA_SETS[name] if name else recognise(row))


@pytest.mark.parametrize("name", ROWS)
def test_every_set_is_known_by_the_fields_of_its_rows(name: str) -> None:
    fields = [field for field, value in ROWS[name]().items() if value is not None]
    assert recognise(fields).name == name


def test_fields_of_no_set() -> None:
    with pytest.raises(DataError, match=r"swe-gym.*fields 'question, answer'.*say which set"):
        recognise(["question", "answer"])


def test_sets_by_name_and_by_id_on_the_hub() -> None:
    assert data_set("swe-bench-lite").split == "test"
    assert data_set("princeton-nlp/swe-bench_verified").name == "swe-bench-verified"
    with pytest.raises(ConfigurationError, match=r"among r2e-gym, .*got 'swe-jim'"):
        data_set("swe-jim")


def test_a_row_of_swe_gym() -> None:
    instance = read(swe_gym())
    assert (instance.id, instance.repo) == ("Quiet__ledger-7", "Quiet/ledger")
    assert instance.statement == STATEMENT
    assert instance.source == ImageSource(
        "xingyaoww/sweb.eval.x86_64.quiet_s_ledger-7:latest",
        path=("/opt/miniconda3/envs/testbed/bin", "/opt/miniconda3/bin"),
    )
    assert (instance.patch, instance.test_patch) == (PATCH, TEST_PATCH)
    assert (list(instance.fail_to_pass), list(instance.pass_to_pass)) == (FAILS, PASSES)
    assert instance.test_command == "pytest -rA tests/test_sums.py"  # no data, nothing deleted
    assert instance.log_format == "pytest"
    assert instance.protected == (
        "tests/data/big.json", "tests/test_sums.py", "tests/test_gone.py",
    )  # fmt: skip
    assert instance.details["base_commit"] == "c" * 40


def test_lists_of_tests_as_json_texts() -> None:
    assert read(verified()).fail_to_pass == tuple(FAILS)


def test_the_patch_of_swe_smith_is_the_fault() -> None:
    instance = read(swe_smith())
    assert isinstance(instance.source, ImageSource)
    assert instance.source.fault == PATCH
    assert "-        result += amount\n+        result = amount\n" in instance.patch
    assert instance.test_patch == ""
    assert instance.test_command.endswith("--verbose tests/test_sums.py")


def test_a_row_of_r2e_gym() -> None:
    instance = read(r2e_gym())
    assert instance.id == f"ledger__{'e' * 40}"
    assert instance.statement == STATEMENT
    assert (instance.fail_to_pass, instance.pass_to_pass) == (
        ("TestSums.test_two",), ("TestSums.test_one",),
    )  # fmt: skip
    assert instance.patch == (
        "diff --git a/ledger/sums.py b/ledger/sums.py\n"
        "--- a/ledger/sums.py\n+++ b/ledger/sums.py\n@@ -1,2 +1,2 @@\n"
        " def total(amounts):\n-    return amounts[-1]\n+    return sum(amounts)\n"
    )
    assert isinstance(instance.source, ImageSource)
    assert "/r2e_tests" in instance.source.hidden
    assert "run_tests.sh" in instance.protected
    assert instance.log_format == "r2e"


def test_without_a_log_every_test_of_r2e_gym_counts_as_failing() -> None:
    instance = read(r2e_gym(execution_result_content=None), "r2e-gym")
    assert instance.fail_to_pass == ("TestSums.test_one", "TestSums.test_two")
    assert instance.pass_to_pass == ()


def test_repositories_of_swe_rebench_v2_lie_in_a_folder_of_their_name() -> None:
    source = read(ROWS["swe-rebench-v2"]()).source
    assert isinstance(source, ImageSource)
    assert source.workdir == "/ledger"


def test_a_script_that_brings_its_tests() -> None:
    row = verified(
        image="swebench/sweb.eval.x86_64.quiet_1776_ledger-7:latest",
        eval_script="git apply -v - <<'EOF'\n...\nEOF\npytest -rA tests/test_sums.py\n",
        log_parser="parse_log_pytest_options",
        eval_type="pass_and_fail",
    )
    instance = read(row)
    assert instance.test_command == row["eval_script"]
    assert instance.test_patch == ""
    assert "tests/test_sums.py" in instance.protected
    assert instance.log_format == "pytest-options"


def test_names_that_git_quotes_are_those_of_the_files() -> None:
    patch = TEST_PATCH.replace("a/tests/test_sums.py", '"a/tests/test_\\303\\274b\\tx.py"')
    patch = patch.replace("b/tests/test_sums.py", '"b/tests/test_\\303\\274b\\tx.py"')
    instance = read(swe_gym(test_patch=patch))
    assert "tests/test_üb\tx.py" in instance.protected
    assert instance.test_command.endswith("pytest -rA 'tests/test_üb\tx.py'")


def test_suites_of_swe_smith_that_unittest_runs() -> None:
    test = "test_get (tornado.test.web_test.GetTest.test_get)"
    instance = read(swe_smith(repo="swesmith/tornadoweb__tornado.0123abcd", FAIL_TO_PASS=[test]))
    assert (instance.test_command, instance.log_format) == (
        "python -m tornado.test --verbose", "unittest",
    )  # fmt: skip
    assert statuses_of([test], LOG_FORMATS["unittest"](f"{test} ... ok")) == {test: "PASSED"}


@pytest.mark.parametrize("sign", ["\x0c", "\x1c", "\x85", "\u2028"])
def test_lines_of_patches_end_at_line_feeds_alone(sign: str) -> None:
    patch = PATCH.replace("result = 0", f"result = 0  # {sign}x")
    source = read(swe_smith(patch=patch))
    assert f"# {sign}x\n" in source.patch and "-        result += amount" in source.patch


def test_patterns_of_protected_files_are_literal() -> None:
    patch = "diff --git a/tests/a[1].txt b/tests/a[1].txt\nnew file mode 100644\n"
    assert read(swe_gym(test_patch=patch)).protected == ("tests/a[[]1].txt",)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"instance_id": None}, "expected text in instance_id, got None"),
        ({"repo": 7}, "expected text in repo, got 7"),
        ({"problem_statement": " "}, "expected text in problem_statement, got ' '"),
        ({"patch": ""}, "expected text in patch, got ''"),
        ({"FAIL_TO_PASS": "[tests"}, "expected JSON in FAIL_TO_PASS, got '.tests'"),
        ({"FAIL_TO_PASS": []}, "at least one test in FAIL_TO_PASS, got none"),
        ({"PASS_TO_PASS": {"a": 1}}, "expected a list of tests.* in PASS_TO_PASS, got {'a': 1}"),
        ({"PASS_TO_PASS": None}, "in PASS_TO_PASS, got None"),
        ({"test_patch": "@@ -1 +1 @@\n-a\n+b\n"}, "expected the name of a file before '@@"),
        ({"image_name": "Not An Image"}, "name of an image such as .* got 'Not An Image'"),
        ({"image_name": ["a"]}, "name of an image in image_name, got"),
        ({"eval_script": 7}, "expected text in eval_script, got 7"),
        ({"test_cmd": {}, "log_parser": "parse_log_cargo"}, "log_parser among .*parse_log_cargo"),
        ({"test_cmd": [3]}, "expected text in test_cmd, got 3"),
    ],
)
def test_broken_rows_are_named_by_their_field(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(swe_gym(**changes), "swe-gym")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"install_config": "{"}, "expected JSON in install_config"),
        ({"install_config": [1]}, "expected an object in install_config"),
    ],
)
def test_broken_configurations(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(rebench(**changes), "swe-rebench")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"expected_output_json": "[]"}, "expected an object.* in expected_output_json"),
        ({"parsed_commit_content": json.dumps({})}, "file_diffs .* in parsed_commit_content"),
        ({"parsed_commit_content": "{"}, "expected JSON in parsed_commit_content"),
        ({"docker_image": ""}, "expected the image of the instance .* r2e-gym has no rule"),
        ({"expected_output_json": "{}"}, "at least one test in FAIL_TO_PASS"),
    ],
)
def test_broken_rows_of_r2e_gym(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(r2e_gym(**changes), "r2e-gym")


def test_a_row_that_is_no_object() -> None:
    with pytest.raises(DataError, match=r"expected an object, got \[1\]"):
        read_row([1], DATA_SETS["swe-gym"])

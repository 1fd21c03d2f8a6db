from __future__ import annotations

import pytest

from agentgym.envs.swe.grading.protection import LARGEST_EDIT, is_protected, source_edits
from agentgym.envs.swe.grading.suspicion import suspicious_edits

PRISTINE = {"pkg/__init__.py", "pkg/core.py", "tests/core/test_env.py", "setup.py", "docs/index.md"}


@pytest.mark.parametrize(
    "path",
    [
        "tests/core/test_env.py", "tests/data/x.json", "pkg/tests/helper.py", "pkg/test_core.py",
        "conftest.py", "pkg/conftest.py", "Conftest.py", "pytest.ini",
        "setup.cfg", "pyproject.toml", "tox.ini", "x.pth", "pkg/x.pth", "sitecustomize.py",
        "pytest/__init__.py", "_pytest/x.py",
        "pkg/core.so", "pkg/__pycache__/core.cpython-311.pyc", ".git/config",
    ],
)  # fmt: skip
def test_what_decides_how_tests_run_is_protected(path: str) -> None:
    assert is_protected(path)
    assert source_edits({path: b"x"}, PRISTINE).ignored == (path,)


@pytest.mark.parametrize(
    "path", ["pkg/core.py", "pkg/latest.py", "pkg/sub/new.py", "pkg/data.json"]
)
def test_source_counts(path: str) -> None:
    assert source_edits({path: b"x"}, PRISTINE).counted == {path: b"x"}


@pytest.mark.parametrize(
    "path", ["new.py", "json.py", "other/__init__.py", "docs/conf.py", "/etc/x", "pkg/../x", "a\0b"]
)
def test_new_files_count_only_in_a_package_that_is_there(path: str) -> None:
    assert source_edits({path: b"x"}, PRISTINE).ignored == (path,)


@pytest.mark.parametrize("path", ["src/json.py", "src/encodings/__init__.py", "src/other/core.py"])
def test_neither_do_they_in_a_folder_of_packages(path: str) -> None:
    pristine = {"src/pkg/__init__.py", "src/single.py", "tests/core/test_env.py"}
    assert source_edits({path: b"x"}, pristine).ignored == (path,)
    assert source_edits({"src/pkg/json.py": b"x"}, pristine).counted


@pytest.mark.parametrize("path", ["./pytest.ini", "pkg//core.py", "pkg/./core.py", "", "pkg/"])
def test_a_path_has_one_way_to_be_written(path: str) -> None:
    assert source_edits({path: b"x"}, ()).ignored == (path,)


def test_what_the_solution_changes_always_counts() -> None:
    allowed = {"new.py", "setup.cfg"}
    edits = source_edits({"new.py": b"x", "setup.cfg": None, "old.py": b""}, PRISTINE, allowed)
    assert set(edits.counted) == allowed and edits.ignored == ("old.py",)


def test_further_patterns_and_sizes() -> None:
    assert is_protected("pkg/core.py", ("pkg/c*",))
    large = {"pkg/core.py": b"#" * (LARGEST_EDIT + 1), "pkg/other.py": b"x"}
    assert source_edits(large, PRISTINE).ignored == ("pkg/core.py",)
    edits = {f"pkg/m{number}.py": b"x" for number in range(600)}
    assert len(source_edits(edits, PRISTINE).counted) == 500


def test_suspicious_names_are_those_of_new_lines() -> None:
    tests_before = {"a.py": b"import pytest\n"}
    assert suspicious_edits({"a.py": b"import pytest\nx = 1\n"}, tests_before) == ()
    assert suspicious_edits(
        {"a.py": b"import os\nos._exit(0)\n", "b.txt": b"pytest"}, tests_before
    ) == ("a.py: os._exit",)

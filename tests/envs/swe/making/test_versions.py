"""Pairs of releases."""

from __future__ import annotations

import pytest

from agentgym.envs.swe.grading import FULL, NO, Grader
from agentgym.envs.swe.instance_boxes import Boxes
from agentgym.envs.swe.making.versions import build_versions, compare
from agentgym.envs.swe.stored_instances import StoredInstances
from agentgym.errors import ConfigurationError
from tests.envs.swe.boxed import needs_box
from tests.envs.swe.making.library import SOURCE, TESTS, make_library

NEWER = SOURCE.replace("    if discount > result:\n        return 0\n", "").replace(
    "return result - discount", "return max(0, result - max(0, discount))"
)
NEWER_TESTS = (
    TESTS
    + '''

def test_negative_discount():
    """A negative discount does not count."""
    assert total([2, 3], discount=-1) == 5
'''
)
CHANGES = "Changes\n=======\n1.1\n---\n- A negative discount is no longer added.\n"


@pytest.fixture
def releases(tmp_path):
    old = make_library(tmp_path / "prices-1.0")
    new = make_library(tmp_path / "prices-1.1", NEWER_TESTS, NEWER)
    (new / "CHANGES.rst").write_text(CHANGES)
    return old, new


def test_source_and_tests_are_told_apart(releases):
    pair = compare(*releases)
    assert set(pair.source) == {"prices/__init__.py"}
    assert set(pair.tests) == {"tests/test_prices.py"}
    assert pair.lines == 4 and "+++ b/prices/__init__.py" in pair.patch
    assert "def test_negative_discount" in pair.test_patch


@needs_box
def test_a_pair_is_a_task_that_the_later_release_solves(releases, tmp_path):
    progress = build_versions(releases, tmp_path / "out")
    assert dict(progress.outcomes) == {"usable": 1}
    stored = StoredInstances(tmp_path / "out")
    stored.check()
    [instance] = [stored.instance("test", index) for index in range(stored.len("test"))]
    assert instance.fail_to_pass == ("tests/test_prices.py::test_negative_discount",)
    assert len(instance.pass_to_pass) == 6 and instance.repo == "prices"
    assert "A negative discount is no longer added." in instance.statement
    assert "total([2, 3], discount=-1)" in instance.statement and "1.0" in instance.statement
    assert "test_" not in instance.statement
    grader = Grader(Boxes())
    sound = (releases[1] / "prices/__init__.py").read_bytes()
    assert grader.grade(instance, {"prices/__init__.py": sound}).verdict == FULL
    assert grader.grade(instance, {}).verdict == NO
    assert build_versions(releases, tmp_path / "out").trials == 1  # and nothing is done twice


@needs_box
def test_pairs_that_make_no_task(tmp_path):
    first = make_library(tmp_path / "prices-1.0")
    same_library = make_library(tmp_path / "prices-1.1")
    silent = make_library(tmp_path / "prices-1.2", TESTS, NEWER)
    large = make_library(tmp_path / "prices-1.3", TESTS, NEWER + "#\n" * 300)
    progress = build_versions([first, same_library, silent, large], tmp_path / "out")
    assert dict(progress.outcomes) == {"same source": 1, "survived": 1, "too much changed": 1}


def test_one_release_makes_no_pair(tmp_path):
    with pytest.raises(ConfigurationError, match="two or more releases"):
        build_versions([tmp_path], tmp_path / "out")

"""The bundled tasks that are more than one token, as they are frozen."""

from __future__ import annotations

import ast
import re
from collections import Counter

import pytest

from agentgym.envs.swe.bundled import bundled_instances, library
from agentgym.envs.swe.diffs import apply_diff, read_diff
from agentgym.envs.swe.held_out.bank import load_bank
from agentgym.envs.swe.instance import DIFFICULTIES
from agentgym.envs.swe.making.bundled_sets import LATER, TASKS, TEST, VALID, split_of
from agentgym.envs.swe.making.statements import hidden_words
from agentgym.envs.swe.making.task_builder import library_name
from agentgym.envs.swe.tasks import Source, open_instances
from agentgym.envs.swe.trees import contents


@pytest.fixture(scope="module")
def instances():
    stored = open_instances(Source("bundled"))
    return [
        (split, stored.instance(split, index))
        for split in stored.splits
        for index in range(stored.len(split))
    ]


def test_the_libraries_are_those_that_the_tasks_were_made_for():
    bundled_instances().check()


@pytest.mark.slow
def test_the_splits_share_no_library(instances):
    assert {split for split, _ in instances} == {"train", "valid", "test"}
    assert all(split == split_of(instance.repo) for split, instance in instances)
    libraries = {(split, library_name(instance.repo)) for split, instance in instances}
    assert {name for split, name in libraries if split == "valid"} <= set(VALID)
    assert {name for split, name in libraries if split == "test"} <= set(TEST)


@pytest.mark.slow
def test_every_kind_and_every_difficulty_is_there_and_no_place_comes_twice(instances):
    kinds = Counter(instance.details["kind"] for _, instance in instances)
    assert kinds.keys() == {name.replace("-", " ") for name in TASKS["bundled"]}
    assert max(kinds.values()) < len(instances) / 2
    assert {instance.details["difficulty"] for _, instance in instances} == set(DIFFICULTIES)
    places = [
        (instance.repo, instance.details["kind"], instance.details["place"])
        for _, instance in instances
    ]
    assert len(set(places)) == len(places)
    assert len({instance.id for _, instance in instances}) == len(instances)
    assert len({instance.statement for _, instance in instances}) == len(instances)


@pytest.mark.slow
def test_the_tests_that_decide_are_not_in_the_repository_and_come_at_grading(instances):
    for _, instance in instances:
        sources = contents(instance.source)
        patched = apply_diff(instance.test_patch, sources.get)
        for test in instance.fail_to_pass:
            file, _, name = test.partition("::")
            pattern = rf"def {re.escape(name.partition('[')[0].split('::')[-1])}\(".encode()
            assert not re.search(pattern, sources[file]), test
            assert re.search(pattern, patched[file]), test
        for file, content in patched.items():
            ast.parse(sources[file])
            assert content == (instance.source.folder / file).read_bytes()


@pytest.mark.slow
def test_the_patch_is_python_and_of_the_size_that_is_told(instances):
    for _, instance in instances:
        sources = contents(instance.source)
        patched = apply_diff(instance.patch, sources.get)
        assert all(ast.parse(content) for content in patched.values())
        assert len([*read_diff(instance.patch)]) == int(instance.details["files"])
        assert sum(len(diff.hunks) for diff in read_diff(instance.patch)) <= 10


def test_kinds_are_what_they_say(instances):
    for _, instance in instances:
        files = {edit.path for edit in instance.source.edits if "tests/" not in edit.path}
        kind = instance.details["kind"]
        if kind in ("two faults", "moved function"):
            assert len(files) == 2
        elif kind == "removed feature":
            assert any("raise NotImplementedError" in edit.new for edit in instance.source.edits)
        elif kind == "missing validation":
            removed = [edit for edit in instance.source.edits if edit.path in files]
            assert all("raise" in edit.old and not edit.new for edit in removed)
        elif kind == "regression":
            assert instance.repo in LATER


def test_a_regression_lies_in_what_its_release_changed_and_names_both_releases(instances):
    regressions = [
        instance for _, instance in instances if instance.details["kind"] == "regression"
    ]
    assert len(regressions) >= 12 and {instance.repo for instance in regressions} == set(LATER)
    for instance in regressions:
        earlier = library(library_name(instance.repo))
        for edit in instance.source.edits:
            old = edit.old.splitlines()
            if "tests/" not in edit.path:
                old_text = (earlier / edit.path).read_text("utf-8").splitlines()
                assert not set(old) <= set(old_text), (instance.id, old)
        release = instance.repo.rpartition("-")[2]
        assert LATER[instance.repo] in instance.statement and release in instance.statement


def test_later_releases_keep_the_tests_of_earlier_ones():
    for name in LATER:
        for file in sorted((library(library_name(name)) / "tests").glob("*.py")):
            later = (library(name) / "tests" / file.name).read_text("utf-8")
            functions = [n for n in ast.parse(file.read_text("utf-8")).body if hasattr(n, "body")]
            assert all(ast.unparse(node) in ast.unparse(ast.parse(later)) for node in functions)


def test_no_issue_names_a_file_a_line_or_a_test(instances):
    for _, instance in instances:
        assert not hidden_words(instance.statement), instance.id
        for edit in instance.source.edits:
            assert edit.path.split("/")[-1] not in instance.statement, instance.id
        assert not re.search(r"\.py\", line \d+", instance.statement.replace('"example.py"', ""))
        for test in instance.fail_to_pass:
            assert test.partition("[")[0].split("::")[-1] not in instance.statement, instance.id


def test_issues_are_of_several_styles(instances):
    styles = Counter(instance.details["issue"] for _, instance in instances)
    assert len(styles) >= 5
    some = [instance.statement for _, instance in instances]
    assert any("Traceback (most recent call last)" in text for text in some)
    assert any("```" not in text for text in some)
    assert all(40 <= len(text) <= 4000 for text in some)


def test_most_tasks_have_held_out_questions_that_tell_their_fault(instances):
    questions_by_task = [
        load_bank(instance.held_out).tasks.get(instance.id)
        for _, instance in instances
        if instance.held_out is not None
    ]
    telling = [
        questions for questions in questions_by_task if questions is not None and questions.enough
    ]
    assert len(telling) > 0.75 * len(instances)

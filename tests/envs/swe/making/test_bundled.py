"""The bundled tasks of one token each, as they are frozen."""

from __future__ import annotations

import ast
import hashlib
import re
from collections import Counter

import pytest

from agentgym.envs.swe.bundled import BUNDLED, FILES, bundled_instances, library
from agentgym.envs.swe.diffs import apply_diff
from agentgym.envs.swe.edits import apply_edits
from agentgym.envs.swe.making.bundled_sets import (
    SEED,
    TEST,
    VALID,
    build_bundled,
    frozen_text,
    repositories,
    split_of,
)
from agentgym.envs.swe.making.statements import hidden_words
from agentgym.envs.swe.stored_instances import digest
from tests.envs.swe.boxed import needs_box

TOKENS = "bundled-tokens"
TOKENS_FILE = BUNDLED / FILES[TOKENS]
SHA256 = "869e980f5e806c618a4ef72f365397bc7e7f13d021dfe59b645a810064d2d08c"
"""Of the frozen file: tasks change only on purpose, and then GENERATOR_VERSION is raised."""


@pytest.fixture(scope="module")
def instances():
    stored = bundled_instances(TOKENS)
    return [
        (split, stored.instance(split, index))
        for split in stored.splits
        for index in range(stored.len(split))
    ]


def test_the_file_is_the_one_that_was_frozen():
    assert hashlib.sha256(TOKENS_FILE.read_bytes()).hexdigest() == SHA256


def test_the_libraries_are_those_that_the_faults_were_made_for():
    stored = bundled_instances(TOKENS)
    digests = {name: repository.digest for name, repository in stored.repositories().items()}
    assert len(digests) == 32
    assert all(digests[name] == digest(library(name)) for name in digests)
    stored.check()


def test_the_libraries_are_texts_that_no_tool_takes_for_code():
    suffixes = {path.suffix for path in BUNDLED.rglob("*") if path.is_file()}
    assert suffixes == {".txt", ".patch", ".jsonl", ".gz"}
    assert (library("pocketsql") / "pocketsql" / "__init__.py").is_file()


def test_there_are_enough_tasks_in_splits_that_share_no_library(instances):
    assert len(instances) >= 500
    of_split = {split: {instance.repo for place, instance in instances if place == split}
                for split in ("train", "valid", "test")}  # fmt: skip
    larger = {"cellmill", "citepress", "pocketsql", "podiumkit"}  # of the other set alone
    assert of_split["valid"] == {*VALID} - larger and of_split["test"] == {*TEST} - larger
    assert len(of_split["train"]) >= 16 and not of_split["train"] & {*VALID, *TEST}
    assert all(split == split_of(instance.repo) for split, instance in instances)
    counts = Counter(instance.repo for _, instance in instances)
    assert min(counts.values()) >= 12 and max(counts.values()) <= 20


def test_no_two_tasks_are_equal_and_they_differ_in_kind(instances):
    assert len({instance.id for _, instance in instances}) == len(instances)
    assert len({instance.patch for _, instance in instances}) == len(instances)
    assert len({(instance.repo, instance.statement) for _, instance in instances}) == len(instances)
    kinds = Counter(instance.details["kind"] for _, instance in instances)
    assert len(kinds) >= 20 and max(kinds.values()) < len(instances) / 5
    by_repo: dict[str, set[str]] = {}
    for _, instance in instances:
        by_repo.setdefault(instance.repo, set()).add(instance.source.edits[0].path)
    assert all(len(paths) >= 2 for paths in by_repo.values())


def test_each_has_failing_and_passing_tests(instances):
    for _, instance in instances:
        assert 1 <= len(instance.fail_to_pass) <= 20 and len(instance.pass_to_pass) >= 20
        assert not set(instance.fail_to_pass) & set(instance.pass_to_pass)


@pytest.mark.slow
def test_the_patch_takes_the_fault_back(instances):
    for _, instance in instances:
        [edit] = instance.source.edits
        sound = (instance.source.folder / edit.path).read_bytes()
        fault = apply_edits(sound, [edit])
        assert ast.dump(ast.parse(fault)) != ast.dump(ast.parse(sound))
        assert apply_diff(instance.patch, {edit.path: fault}.get) == {edit.path: sound}


def test_no_issue_names_the_place_or_the_kind_of_the_fault(instances):
    for _, instance in instances:
        [edit] = instance.source.edits
        assert not hidden_words(instance.statement), instance.id
        assert (
            edit.path not in instance.statement
            and edit.path.split("/")[-1] not in instance.statement
        )
        assert not re.search(r"\bline \d+, in\b|Traceback", instance.statement)
        assert instance.details["kind"] not in instance.statement, instance.id
        for test in (*instance.fail_to_pass, *instance.pass_to_pass):
            function = test.split("::")[-1].partition("[")[0]
            assert function not in instance.statement, (instance.id, function)


def test_most_issues_show_the_fault_by_an_example(instances):
    examples = sum("```python\n" in instance.statement for _, instance in instances)
    assert examples >= 0.9 * len(instances)
    for _, instance in instances:
        for script in re.findall(r"```python\n(.*?)\n```", instance.statement, re.S):
            ast.parse(script)
            assert len(script.split("\n")) <= 45
        assert 40 <= len(instance.statement) <= 4000


def test_titles_and_words_vary(instances):
    titles = [instance.statement.partition("\n")[0] for _, instance in instances]
    assert all(0 < len(title) <= 160 for title in titles)
    assert Counter(titles).most_common(1)[0][1] < len(titles) / 10


@pytest.mark.slow
@needs_box
def test_a_library_made_anew_gives_its_frozen_tasks(tmp_path):
    name = repositories()[0]
    build_bundled(tmp_path, TOKENS, only=(name,), limit=2)
    rebuilt = frozen_text(tmp_path).splitlines()
    frozen = [line for line in TOKENS_FILE.read_text().splitlines() if f'"{name}' in line[:40]]
    assert SEED == 0 and rebuilt == frozen[:3]

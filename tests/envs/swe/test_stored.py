"""The file of tasks: written, read back, and refused with the line that is wrong."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym.envs.swe.instance import Edit
from agentgym.envs.swe.stored_instances import (
    INSTANCES,
    REPOSITORIES,
    InstanceRecord,
    Repository,
    StoredInstances,
    digest,
    read_lines,
)
from agentgym.errors import DataError, TaskNotFound
from tests.envs.swe.making.library import SOURCE, make_library

TESTS = ("tests/test_prices.py::test_total", "tests/test_prices.py::test_discount")
EDIT = Edit("prices/__init__.py", SOURCE.index("+="), "+=", "-=")


@pytest.fixture
def folder(tmp_path):
    library = make_library(tmp_path / REPOSITORIES / "prices")
    repository = Repository("prices", digest(library), TESTS)
    record = InstanceRecord(
        "prices-001", "prices", "Wrong.\n", (EDIT,), (1,), details=(("kind", "x"),)
    )
    other_task = InstanceRecord(
        "prices-002", "prices", "Too.\n", (EDIT,), (0, 1), "test", patch="p"
    )
    text = repository.line() + record.line() + other_task.line()
    (tmp_path / INSTANCES).write_text(text)
    return tmp_path


def test_instances_have_their_tests_and_the_diff_that_repairs_them(folder):
    stored = StoredInstances(folder)
    assert stored.splits == ("train", "test") and stored.len("train") == 1
    instance = stored.instance("train", 0)
    assert (instance.id, instance.repo, instance.statement) == ("prices-001", "prices", "Wrong.\n")
    assert instance.fail_to_pass == TESTS[1:] and instance.pass_to_pass == TESTS[:1]
    assert "-        result -= price\n+        result += price\n" in instance.patch
    assert instance.details == {"kind": "x"}
    assert stored.find("prices-002") == ("test", 0)
    assert stored.instance("test", 0).patch == "p"
    stored.check()


def test_a_changed_repository_is_noticed(folder):
    (folder / REPOSITORIES / "prices" / "prices" / "__init__.py").write_text("changed = 1\n")
    stored = StoredInstances(folder)
    with pytest.raises(DataError, match="its files have changed"):
        stored.check()
    with pytest.raises(DataError, match=r"at byte .* of prices/__init__\.py"):
        stored.instance("train", 0)


def test_what_is_not_there(folder):
    stored = StoredInstances(folder)
    for ask in (
        lambda: stored.len("dev"),
        lambda: stored.instance("train", 1),
        lambda: stored.find("prices-009"),
    ):
        with pytest.raises(TaskNotFound, match="expected"):
            ask()
    with pytest.raises(DataError, match="agentgym swe build"):
        StoredInstances(folder / "nothing")


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "line 4"),
        ("[]", "line 4"),
        ('{"id": "a"}', "line 4"),
        ('{"repository": 3, "digest": "", "tests": []}', "line 4"),
        ('{"id": "a", "repo": "prices", "statement": "", "edits": [[1]], "fail_to_pass": [0]}',
         "line 4"),
        ('{"id": "prices-001", "repo": "prices", "statement": "", "edits": [], '
         '"fail_to_pass": [0]}', "once"),
        ('{"id": "a", "repo": "other", "statement": "", "edits": [], "fail_to_pass": [0]}',
         "behind the line of its repository"),
        ('{"id": "a", "repo": "prices", "statement": "", "edits": [], "fail_to_pass": [2]}',
         "from 0 to 1"),
        ('{"id": "a", "repo": "prices", "statement": "", "edits": [], "fail_to_pass": []}',
         "at least one"),
    ],
)  # fmt: skip
def test_damage_is_named_with_its_line(folder, line, problem):
    with (folder / INSTANCES).open("a") as file:
        file.write(line + "\n")
    with pytest.raises(DataError, match=problem):
        StoredInstances(folder)


def test_an_empty_file_says_how_to_make_tasks(folder):
    (folder / INSTANCES).write_text("")
    with pytest.raises(DataError, match="agentgym swe build"):
        StoredInstances(folder)


WORDS = st.text(max_size=10)


@given(
    st.builds(
        InstanceRecord,
        id=WORDS,
        repo=WORDS,
        statement=WORDS,
        edits=st.lists(st.builds(Edit, WORDS, st.integers(0, 99), WORDS, WORDS)).map(tuple),
        fail_to_pass=st.lists(st.integers(0, 9)).map(tuple),
        split=WORDS,
        patch=WORDS,
        pass_to_pass=st.none() | st.lists(st.integers(0, 9)).map(tuple),
        folder=WORDS,
        test_patch=WORDS,
        details=st.sampled_from([(), (("kind", "x"),)]),
    )
)
def test_a_record_is_read_as_it_was_written(tmp_path_factory, record):
    file = tmp_path_factory.mktemp("records") / "one.jsonl"
    file.write_text(record.line())
    assert list(read_lines(file)) == [record]
    assert json.loads(record.line())["statement"] == record.statement


def test_the_digest_is_over_paths_and_contents(tmp_path):
    first, two, three = (make_library(tmp_path / name) for name in "abc")
    (two / "__pycache__").mkdir()
    (two / "__pycache__" / "x.pyc").write_bytes(b"left out")
    (three / "prices" / "more.py").write_text("")
    assert digest(first) == digest(two) != digest(three)
    with pytest.raises(DataError, match="expected a folder"):
        digest(tmp_path / "nothing")


def test_tasks_without_a_split_are_dealt_by_repository_where_there_are_enough(folder):
    record = InstanceRecord("x", "prices", "Wrong.\n", (EDIT,), (1,))
    first = (folder / INSTANCES).read_text().splitlines(keepends=True)[0]

    def sizes(*repositories):
        lines = [
            replace(record, id=f"{repo}-{n}", repo=repo, folder="prices").line()
            for repo in repositories
            for n in range(4)
        ]
        assert not any('"split"' in line for line in lines)
        (folder / INSTANCES).write_text(first + "".join(lines))
        stored = StoredInstances(folder)
        for name in stored.splits:
            instance = stored.instance(name, 0)
            assert stored.find(instance.id) == (name, 0)
        return {name: stored.len(name) for name in stored.splits}, [
            {stored.instance(name, n).repo for n in range(stored.len(name))}
            for name in stored.splits
        ]

    assert sizes("prices")[0] == {"train": 2, "valid": 1, "test": 1}
    assert sizes("a", "b")[0] == {"train": 6, "valid": 1, "test": 1}
    counts, repos = sizes("a", "b", "c", "d")
    assert counts == {"train": 8, "valid": 4, "test": 4}
    assert sum(map(len, repos)) == len(set.union(*repos)) == 4

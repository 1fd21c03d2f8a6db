from __future__ import annotations

import dataclasses
import hashlib
import pickle
from typing import Any

import numpy as np
import pytest

from agentgym.errors import AgentGymError, ConfigurationError, TaskNotFound
from agentgym.tasks import Task, TaskList, canonical_json
from tests.toy import SIZES, ToyTasks


def tiny(**changes: Any) -> TaskList:
    entries = {
        split: [Task(f"{split}-{i}", split, i, f"goal {i}", {"n": i}) for i in range(size)]
        for split, size in (("train", 5), ("test", 3))
    }
    entries.update(changes)
    return TaskList("tiny", entries)


def test_canonical_json_is_one_fixed_text() -> None:
    assert canonical_json({"b": [1, 2.5, None], "a": "é"}) == '{"a":"\\u00e9","b":[1,2.5,null]}'
    assert canonical_json({"a": 1, "b": 2}) == canonical_json({"b": 2, "a": 1})


def test_a_digest_covers_id_goal_and_content() -> None:
    task = Task("t", "train", 0, "do it", {"x": 1, "y": [2]})
    assert task.digest() == hashlib.sha256(b'["t","do it",{"x":1,"y":[2]}]').hexdigest()
    assert dataclasses.replace(task, split="test", index=9).digest() == task.digest()
    for change in ({"id": "u"}, {"goal": "do"}, {"content": {"x": 1, "y": [3]}}):
        assert dataclasses.replace(task, **change).digest() != task.digest()


def test_a_list_of_tasks() -> None:
    tasks = tiny()
    assert tasks.splits == ("train", "test") and tasks.len("train") == 5
    assert tasks.task("test", 2) is tasks.find("test-2")
    assert [task.index for task in tasks.iterate("train")] == [0, 1, 2, 3, 4]
    assert tasks.oracle_turns(tasks.task("test", 0)) is None
    assert pickle.loads(pickle.dumps(tasks)).task("test", 1) == tasks.task("test", 1)


def test_a_split_goes_by_its_aliases() -> None:
    tasks = tiny()
    tasks.aliases = {"test-seen": "test"}
    assert tasks.check("test-seen", 2) == "test" == tasks.check("test")
    assert tasks.len("test-seen") == 3 and tasks.task("test-seen", 2) is tasks.find("test-2")
    assert tasks.panel("test-seen", 2) == tasks.panel("test", 2)
    options = {"split": "test-seen", "index": 1}
    assert tasks.choose(options, np.random.default_rng(0), "train").id == "test-1"
    with pytest.raises(TaskNotFound, match="0 to 2"):
        tasks.check("test-seen", 3)


def test_what_does_not_exist_is_named() -> None:
    tasks = tiny()
    for ask, words in (
        (lambda: tasks.len("valid"), "'valid'"),
        (lambda: tasks.task("test", 3), "0 to 2"),
        (lambda: tasks.task("test", -1), "-1"),
        (lambda: tasks.find("nope"), "'nope'"),
    ):
        with pytest.raises(TaskNotFound, match=words) as caught:
            ask()
        assert isinstance(caught.value, AgentGymError) and isinstance(caught.value, LookupError)


def test_tasks_stand_once_and_where_they_say() -> None:
    with pytest.raises(ConfigurationError, match="id twice"):
        tiny(test=[Task("train-0", "test", 0, "", {})])
    for wrong in (Task("x", "train", 0, "", {}), Task("x", "test", 1, "", {})):
        with pytest.raises(ConfigurationError, match="'x'"):
            tiny(test=[wrong])


def test_draws_follow_the_generator_and_cover_the_split() -> None:
    tasks = tiny()
    draws = [tasks.draw(np.random.default_rng(seed), "train") for seed in range(60)]
    assert {task.index for task in draws} == set(range(5))
    assert tasks.draw(np.random.default_rng(3), "train") == draws[3]


def test_panels_are_prefixes_of_one_permutation() -> None:
    tasks = ToyTasks()
    whole = tasks.panel("test", SIZES["test"], seed=2)
    assert sorted(whole.ids) == sorted(task.id for task in tasks.iterate("test"))
    small = tasks.panel("test", 20, seed=2)
    assert small.ids == whole.ids[:20] and len(small) == 20
    assert (small.split, small.seed) == ("test", 2)
    assert tasks.panel("test", 20, seed=3).ids != small.ids
    assert tasks.panel("test", 20).ids == tasks.panel("test", 20, seed=0).ids


def test_a_panels_hash_is_pinned() -> None:
    panel = tiny().panel("train", 3, seed=1)
    digests = "".join(tiny().find(task_id).digest() for task_id in panel.ids)
    assert panel.sha256 == hashlib.sha256(digests.encode()).hexdigest()
    # Literal values: a new NumPy or Python must not change what a published panel means.
    assert panel.ids == ("train-4", "train-0", "train-1")
    assert panel.sha256.startswith("cd0e7a76a8a9149a")


def test_a_changed_task_changes_the_hash() -> None:
    changed = [Task(f"test-{i}", "test", i, f"goal {i}", {"n": -i}) for i in range(3)]
    assert tiny(test=changed).panel("test", 3).ids == tiny().panel("test", 3).ids
    assert tiny(test=changed).panel("test", 3).sha256 != tiny().panel("test", 3).sha256


def test_a_panel_has_to_fit() -> None:
    for n in (0, 4, -1):
        with pytest.raises(ConfigurationError, match="1 to 3"):
            tiny().panel("test", n)
    with pytest.raises(TaskNotFound):
        tiny().panel("valid", 1)

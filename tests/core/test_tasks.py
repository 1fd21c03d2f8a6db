from __future__ import annotations

import copy
import dataclasses
import hashlib
import pickle
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentgym.core.tasks import (
    ALL,
    NumberedTasks,
    Task,
    TaskList,
    TaskSet,
    canonical_json,
    whole_number,
)
from agentgym.errors import AgentGymError, ConfigurationError, TaskNotFound
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
        (lambda: tasks.draw(np.random.default_rng(0), "valid"), "'valid'"),
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
    for bad_input in (Task("x", "train", 0, "", {}), Task("x", "test", 1, "", {})):
        with pytest.raises(ConfigurationError, match="'x'"):
            tiny(test=[bad_input])


def test_draws_follow_the_generator_and_cover_the_split() -> None:
    tasks = tiny()
    draws = [tasks.draw(np.random.default_rng(seed), "train") for seed in range(60)]
    assert {task.index for task in draws} == set(range(5))
    assert tasks.draw(np.random.default_rng(3), "train") == draws[3]
    # A list draws as any other set does.
    assert TaskSet.draw(tasks, np.random.default_rng(3), "train") == draws[3]


def test_panels_are_prefixes_of_one_permutation() -> None:
    tasks = ToyTasks()
    full = tasks.panel("test", SIZES["test"], seed=2)
    assert sorted(full.ids) == sorted(task.id for task in tasks.iterate("test"))
    small = tasks.panel("test", 20, seed=2)
    assert small.ids == full.ids[:20] and len(small) == 20
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


def test_what_cannot_be_a_place_or_a_seed_is_refused_in_words() -> None:
    tasks = tiny()
    for split in (["train"], None, 3):
        with pytest.raises(TaskNotFound, match="train, test"):
            tasks.len(split)  # type: ignore[arg-type]
    for index in ("0", 1.5, True):
        with pytest.raises(ConfigurationError, match="index of a task to be an integer"):
            tasks.task("train", index)  # type: ignore[arg-type]
    for bad_input in (
        {"seed": -1},
        {"seed": "0"},
        {"seed": 1.0},
        {"num_tasks": 2.0},
        {"num_tasks": "all"},
    ):
        with pytest.raises(ConfigurationError, match=r"an integer|at least 0"):
            tasks.panel("train", **{"num_tasks": 2, **bad_input})  # type: ignore[arg-type]
    assert tasks.task("train", np.int64(2)).index == 2
    assert tasks.panel("train", np.int64(2), seed=np.int64(3)) == tasks.panel("train", 2, seed=3)


class Sums(NumberedTasks[tuple[int, int]]):
    """Sums of two numbers; long ones come last if they are ordered."""

    aliases: Mapping[str, str] = {"dev": "valid"}
    remedy = "ask for sums"

    def __init__(self, *, ordered: bool = False, capacity: int = 256) -> None:
        super().__init__("sums", plan_length=plan_of_sum, cache_size=capacity)
        self.ordered = ordered
        self.problems_made: list[tuple[str, int]] = []

    def len(self, split: str) -> int:
        return {"train": 30, "valid": 5, "test": 7}[self.check(split)]

    def _problem(self, split: str, number: int) -> tuple[int, int]:
        self.problems_made.append((split, number))
        return self.splits.index(split) * 100 + number, number * 7 % 13

    def _describe(
        self, split: str, number: int, problem: tuple[int, int]
    ) -> tuple[str, Mapping[str, Any]]:
        return f"{problem[0]} + {problem[1]}", {"terms": list(problem)}

    def _order(self, split: str) -> list[int] | None:
        if not self.ordered:
            return None
        return sorted(range(self.len(split)), key=lambda n: (n * 7 % 13, n))


class NamedSums(Sums):
    """Sums with ids of their own, and ids of older records."""

    def _id(self, split: str, number: int) -> str:
        return f"{self.name}/{self.splits.index(split) * 100 + number}"

    def _place(self, task_id: str) -> tuple[str, int] | None:
        old = super()._place(task_id)
        number = whole_number(task_id.removeprefix("sums/"))
        if old is not None or number is None or number >= 300:
            return old
        split = self.splits[number // 100]
        return (split, number % 100) if number % 100 < self.len(split) else None


def plan_of_sum(problem: tuple[int, int]) -> int | None:
    return problem[1] or None


@pytest.mark.parametrize("kind", [Sums, NamedSums])
@pytest.mark.parametrize("ordered", [False, True])
def test_numbered_tasks_are_found_where_they_stand(kind: type[Sums], ordered: bool) -> None:
    tasks = kind(ordered=ordered)
    for split in tasks.splits:
        listed = list(tasks.iterate(split))
        assert [task.index for task in listed] == list(range(tasks.len(split)))
        assert len({task.id for task in listed}) == len(listed)
        for task in listed:
            assert tasks.find(task.id) == task == kind(ordered=ordered).find(task.id)
            assert list(tasks.problem(task)) == task.content["terms"]
            assert tasks.oracle_turns(task) == (task.content["terms"][1] or None)
    assert tasks.task("dev", 1) == tasks.task("valid", 1)
    assert {task.id for task in kind().iterate("train")} == {
        task.id for task in kind(ordered=True).iterate("train")
    }


def test_an_order_moves_tasks_and_leaves_their_ids() -> None:
    plain_order, ordered = Sums(), Sums(ordered=True)
    lengths = [task.content["terms"][1] for task in ordered.iterate("train")]
    assert lengths == sorted(lengths)
    for task in plain_order.iterate("train"):
        moved = ordered.find(task.id)
        assert (moved.goal, moved.content) == (task.goal, task.content)
    assert ordered.task("train", 1).id == "sums/train/13"


def test_older_ids_are_found() -> None:
    tasks = NamedSums()
    assert tasks.find("sums/valid/2") is tasks.find("sums/102")
    assert tasks.find("sums/102").id == "sums/102"


@settings(deadline=None)
@given(
    st.text()
    | st.builds(
        "sums/{}/{}".format,
        st.sampled_from(["train", "dev", "x"]),
        st.text("0123456789-+_ \u0661", max_size=4),
    )
)
def test_numbered_tasks_have_one_id(text: str) -> None:
    tasks = Sums()
    try:
        assert tasks.find(text).id == text
    except TaskNotFound as error:
        assert "such as sums/train/0" in str(error) and str(error).endswith("ask for sums")


def test_whole_numbers_are_written_in_one_way() -> None:
    assert [whole_number(text) for text in ("0", "7", "1000000000")] == [0, 7, 1_000_000_000]
    for text in ("", "00", "07", "+7", "-7", " 7", "7.", "1_0", "\u0661", "²", "9" * 5000):
        assert whole_number(text) is None


def test_problems_are_made_once_and_the_ones_used_last_are_kept() -> None:
    tasks = Sums(capacity=3)
    drawn = [tasks.task("train", index) for index in range(6)]
    assert tasks.problems_made == [("train", index) for index in range(6)]
    tasks.problem(drawn[3])
    tasks.task("train", 9)
    assert len(tasks.problems_made) == 7
    tasks.problem(drawn[3])
    assert len(tasks.problems_made) == 7, "the problem used last was dropped"
    tasks.problem(drawn[0])
    assert tasks.problems_made[-1] == ("train", 0)
    assert tasks.task("train", 0) is drawn[0]
    with pytest.raises(TaskNotFound):
        tasks.problem(Task("other/train/0", "train", 0, "", {}))


def test_plan_lengths_are_measured_once() -> None:
    problems: list[Any] = []
    tasks = Sums()
    tasks.plan_length = lambda problem: problems.append(problem)
    assert [tasks.oracle_turns(tasks.task("test", 3)) for _ in range(3)] == [None] * 3
    assert len(problems) == 1
    tasks.plan_length = None
    assert tasks.oracle_turns(tasks.task("test", 4)) is None


def test_numbered_tasks_travel_without_what_they_remember() -> None:
    tasks = Sums(ordered=True)
    expected = [tasks.task("train", index) for index in range(30)]
    tasks.problems_made.clear()
    for copied in (copy.deepcopy(tasks), pickle.loads(pickle.dumps(tasks))):
        assert copied.problems_made == []
        assert [copied.task("train", index) for index in range(30)] == expected
        assert len(copied.problems_made) == 30
    assert len(pickle.dumps(tasks)) < 700


def test_threads_share_numbered_tasks() -> None:
    tasks = Sums(capacity=4)
    with ThreadPoolExecutor(8) as pool:
        drawn = list(pool.map(lambda index: tasks.task("train", index % 30), range(3000)))
        turns = list(pool.map(tasks.oracle_turns, drawn))
    assert drawn == [Sums().task("train", index % 30) for index in range(3000)]
    assert turns == [index % 30 * 7 % 13 or None for index in range(3000)]


def test_a_panel_of_all_splits_together() -> None:
    tasks = tiny()
    assert tasks.size(ALL) == 8 and tasks.size("test") == 3
    panel = tasks.panel(ALL, 8, seed=1)
    assert sorted(panel.ids) == sorted(t.id for s in tasks.splits for t in tasks.iterate(s))
    assert panel.split == ALL and panel.ids[:4] == tasks.panel(ALL, 4, seed=1).ids
    with pytest.raises(ConfigurationError, match="1 to 8 tasks of split 'all'"):
        tasks.panel(ALL, 9)
    with pytest.raises(TaskNotFound, match="'every'"):
        tasks.size("every")

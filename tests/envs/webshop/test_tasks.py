"""Task sets: disjoint splits of fixed sizes, stable ids, the same in every process."""

from __future__ import annotations

import copy
import json
import pickle
import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from agentgym.envs.webshop.engine.goals import ShopGoal
from agentgym.envs.webshop.env import WebShopEnv
from agentgym.envs.webshop.generator import DIFFICULTIES, GeneratedShop, generate
from agentgym.envs.webshop.generator.writer import write
from agentgym.envs.webshop.tasks import (
    GeneratedPool,
    ListedPool,
    ShopTasks,
    generated_tasks,
    listed_tasks,
)
from agentgym.errors import ConfigurationError, TaskNotFound

GOLDEN_PANEL = "6d669cd3e777aa037ebfde00eaa39f5ae61f3a87d7b9c4ca3703b818536184b1"

_PANEL = """
from agentgym.envs.webshop.generator import generate
from agentgym.envs.webshop.tasks import generated_tasks
print(generated_tasks(generate(1000, "medium", 0)).panel("test", 100).sha256)
"""


def make_goal(asin: str, k: int) -> ShopGoal:
    return ShopGoal(
        asin, f"thing {asin}", "fashion", "things", "A \u203a B", f"buy {asin} number {k}",
        ("soft",), {"size": str(k)}, 50.0,
    )  # fmt: skip


def official_like(products: int = 700) -> list[ShopGoal]:
    """Goals as the original has them: uneven numbers per product, shuffled."""
    rng = random.Random(0)
    goals = [make_goal(f"A{i:09d}", k) for i in range(products) for k in range(rng.randint(1, 9))]
    rng.shuffle(goals)
    return goals


def contents(tasks: ShopTasks, split: str) -> Sequence[tuple[str, str]]:
    listed = (tasks.task(split, index) for index in range(tasks.len(split)))
    return [(task.id, task.content["asin"]) for task in listed]


@pytest.mark.parametrize("difficulty", list(DIFFICULTIES))
@pytest.mark.parametrize("size", [20, 50, 1000])
@pytest.mark.parametrize("seed", [0, 5])
def test_generated_splits_are_disjoint_in_clusters(difficulty: str, size: int, seed: int) -> None:
    shop = generate(size, difficulty, seed)
    tasks = generated_tasks(shop)
    total, clusters, ids = 4 * size, {}, set()
    assert tasks.len("test") == min(500, total // 8)
    assert tasks.len("valid") == min(1000, total // 4)
    assert tasks.len("train") >= total // 4
    for split in tasks.splits:
        entries = contents(tasks, split)
        ids |= {task_id for task_id, _ in entries}
        clusters[split] = {shop.cluster_of(shop.index(asin)) for _, asin in entries}
    assert len(ids) == sum(map(tasks.len, tasks.splits))
    assert clusters["train"].isdisjoint(clusters["valid"] | clusters["test"])
    assert clusters["valid"].isdisjoint(clusters["test"])


def test_large_splits_cost_nothing_until_used(monkeypatch: pytest.MonkeyPatch) -> None:
    shop = generate(100_000, "medium", 0)

    def forbidden(number: int) -> None:
        raise AssertionError(f"cluster {number} was made")

    monkeypatch.setattr(shop, "_cluster", forbidden)
    tasks = generated_tasks(shop)
    assert [tasks.len(split) for split in ("test", "valid")] == [500, 1000]
    assert tasks.len("train") > 398_000


@pytest.mark.parametrize("split", ["train", "valid", "test"])
def test_every_id_finds_its_task(split: str) -> None:
    tasks, fresh = (
        generated_tasks(generate(200, "hard", 1), 3, key="hard-200-1-3goals") for _ in range(2)
    )
    for index in range(tasks.len(split)):
        task = tasks.task(split, index)
        assert (task.split, task.index) == (split, index)
        assert task.id == f"webshop/hard-200-1-3goals/{split}/{index}"
        assert fresh.find(task.id) == task
        assert task.goal == task.content["instruction_text"]
        json.dumps(dict(task.content))
        assert ShopGoal.from_content(json.loads(json.dumps(dict(task.content)))).to_content() == (
            task.content
        )


def test_neighbours_are_of_different_clusters() -> None:
    shop = generate(1000, "medium", 0)
    tasks = generated_tasks(shop)
    for split in tasks.splits:
        asins = [tasks.task(split, index).content["asin"] for index in range(50)]
        assert len({shop.cluster_of(shop.index(asin)) for asin in asins}) > 20


def test_goals_do_not_depend_on_how_many_there_are() -> None:
    shop = generate(200, "easy", 0)
    small, large = GeneratedPool(shop, 4), GeneratedPool(shop, 24)
    for index in (0, 7, 199):
        asin = shop.asin(index)
        for k in range(4):
            assert small.goal(*small.locate(asin, k)) == large.goal(*large.locate(asin, k))


@pytest.mark.parametrize(
    "task_id",
    [
        "", "webshop", "webshop/easy-50-0/B012345678/0", "webshop/easy-50-1/{asin}/0",
        "webshop/easy-50-0/{asin}/4", "webshop/easy-50-0/{asin}/-1", "webshop/easy-50-0/{asin}/00",
        "webshop/easy-50-0/{asin}/x", "webshop/easy-50-0/{asin}/\u0661", "alfworld/x/y/0",
        "webshop/easy-50-0/test/25", "webshop/easy-50-0/test/-1", "webshop/easy-50-0/test/00",
        "webshop/easy-50-0/dev/0", "webshop/easy-50-1/test/0", 
        "webshop/easy-50-0/test/" + "9" * 9999,
    ],
)  # fmt: skip
def test_unknown_ids_are_refused(task_id: str) -> None:
    shop = generate(50, "easy", 0)
    with pytest.raises(TaskNotFound, match="such as webshop/easy-50-0/train/0"):
        generated_tasks(shop).find(task_id.format(asin=shop.asin(3)))


def test_goals_beyond_a_fixed_size_belong_to_no_split() -> None:
    shop = generate(50, "easy", 0)
    tasks = generated_tasks(shop)
    ids, n_left = set(), 0
    for index in range(50):
        for k in range(4):
            try:
                task = tasks.find(f"{tasks.name}/{shop.asin(index)}/{k}")
            except TaskNotFound:
                n_left += 1
            else:
                ids.add(task.id)
                assert task.content == shop.goal(index, k).to_content()
    assert ids == {task.id for split in tasks.splits for task in tasks.iterate(split)}
    assert n_left == 200 - len(ids)


def test_unknown_splits_and_indices_are_refused() -> None:
    tasks = generated_tasks(generate(50, "easy", 0))
    with pytest.raises(TaskNotFound, match="dev"):
        tasks.len("dev")
    with pytest.raises(TaskNotFound, match="dev"):
        tasks.task("dev", 0)
    with pytest.raises(TaskNotFound, match="index"):
        tasks.task("test", tasks.len("test"))
    with pytest.raises(TaskNotFound, match="index"):
        tasks.task("test", -1)


def test_panels_are_the_golden_ones_in_every_process() -> None:
    panel = generated_tasks(generate(1000, "medium", 0)).panel("test", 100)
    assert panel.sha256 == GOLDEN_PANEL, "a task changed: raise GENERATOR_VERSION in drafts.py"
    out = subprocess.run(
        [sys.executable, "-c", _PANEL],
        capture_output=True, text=True, check=True,
        env={"PYTHONHASHSEED": "77", "PYTHONPATH": ":".join(sys.path)},
    )  # fmt: skip
    assert out.stdout.strip() == GOLDEN_PANEL


def test_global_generators_are_untouched() -> None:
    random.seed(1)
    state = random.getstate()
    tasks = generated_tasks(generate(100, "medium", 0))
    tasks.panel("train", 10)
    assert random.getstate() == state


def test_listed_splits_are_disjoint_in_products() -> None:
    goals = official_like()
    tasks = listed_tasks("official-700", goals)
    products = {split: {asin for _, asin in contents(tasks, split)} for split in tasks.splits}
    assert products["train"].isdisjoint(products["valid"] | products["test"])
    assert products["valid"].isdisjoint(products["test"])
    assert tasks.len("test") == len(goals) // 8
    assert tasks.len("valid") == len(goals) // 4
    for split in tasks.splits:
        for task in tasks.iterate(split):
            assert tasks.find(task.id) == task


def test_listed_splits_do_not_depend_on_the_order_of_products() -> None:
    goals = [make_goal(f"A{i:09d}", k) for i in range(200) for k in range(4)]
    backwards = [make_goal(f"A{i:09d}", k) for i in reversed(range(200)) for k in range(4)]
    forwards, reversed_tasks = listed_tasks("x", goals), listed_tasks("x", backwards)
    assert contents(forwards, "test") == contents(reversed_tasks, "test")


def test_official_index_keeps_order_and_overlaps() -> None:
    goals = official_like()
    tasks = listed_tasks("official-700", goals, "official-index")
    assert [tasks.len(split) for split in ("test", "valid")] == [500, 1000]
    assert tasks.len("train") == len(goals) - 1500
    for split, start in (("test", 0), ("valid", 500), ("train", 1500)):
        for index in (0, 1, tasks.len(split) - 1):
            assert tasks.task(split, index).goal == goals[start + index].instruction_text
    task = tasks.task("valid", 77)
    assert tasks.find(task.id) == task
    test, train = ({asin for _, asin in contents(tasks, split)} for split in ("test", "train"))
    assert len(test & train) > len(test) // 2, "the official split is not product-disjoint"


def test_too_few_goals_and_unknown_modes_are_refused() -> None:
    goals = [make_goal("A000000001", k) for k in range(4)]
    with pytest.raises(ConfigurationError, match="every split"):
        listed_tasks("x", goals)
    with pytest.raises(ConfigurationError, match="every split"):
        listed_tasks("x", official_like(100), "official-index")
    with pytest.raises(ConfigurationError, match="every split"):
        listed_tasks("x", [])
    with pytest.raises(ConfigurationError, match="official-index"):
        listed_tasks("x", official_like(), "random")
    with pytest.raises(ConfigurationError, match="goals_per_product"):
        generated_tasks(generate(50, "easy", 0), goals_per_product=0)


def test_listed_pool_numbers_goals_within_products() -> None:
    goals = [make_goal("A", 0), make_goal("B", 0), make_goal("A", 1)]
    pool = ListedPool(goals)
    assert pool.order() == [(0, 0), (1, 0), (0, 1)]
    assert pool.goal(0, 1) == goals[2]
    assert pool.locate("A", 1) == (0, 1)
    with pytest.raises(KeyError):
        pool.locate("A", 2)


def test_plan_lengths_are_asked_for_once() -> None:
    goals: list[ShopGoal] = []

    def plan_length(goal: ShopGoal) -> int:
        goals.append(goal)
        return 3 + len(goal.goal_options)

    tasks = generated_tasks(generate(50, "easy", 0), plan_length=plan_length)
    task = tasks.task("train", 0)
    expected = 3 + len(task.content["goal_options"])
    assert [tasks.oracle_turns(task) for _ in range(3)] == [expected] * 3
    assert len(goals) == 1
    assert generated_tasks(generate(50, "easy", 0)).oracle_turns(task) is None


def test_copies_are_equal() -> None:
    shop: GeneratedShop = generate(50, "easy", 0)
    tasks = generated_tasks(shop)
    expected = tasks.task("train", 3)
    for copied in (copy.deepcopy(tasks), pickle.loads(pickle.dumps(tasks))):
        assert copied.task("train", 3) == expected
        assert copied.panel("test", 5) == tasks.panel("test", 5)


@pytest.mark.parametrize("human", [False, True])
def test_written_shops_open_as_official_data(
    human: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTGYM_CACHE", str(tmp_path / "cache"))
    write(generate(60, "medium", 2), tmp_path)
    settings = {"goal_mode": "official", "human_goals": True} if human else {}
    env = WebShopEnv(data=str(tmp_path), **settings)  # type: ignore[arg-type]
    for index in range(env.tasks.len("test")):
        _, info = env.reset(options={"split": "test", "index": index})
        while not info["stop_reason"]:
            info = env.step(str(env.demonstrator_action()))[4]
        assert info["success"], info["task_id"]

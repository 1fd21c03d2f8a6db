"""Groups that train nobody give way to others, whoever ends first."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentgym.vector import TextVectorEnv
from tests.toy import ToyEnv
from tests.trainers import tiny_policy
from tests.trainers.rollouts.test_runner import BUDGET
from tests.trainers.scripted_engine import ScriptedEngine
from trainers.algorithms.presets import get_preset
from trainers.methods.refill.refill import Refill
from trainers.methods.refill.replaced_groups import group_trains
from trainers.rollouts.rollout_runner import RolloutRunner
from trainers.rollouts.task_feed import FAMILY
from trainers.rollouts.trajectory import Trajectory

SIZE = 2


def tasks_of(family: str, first: int) -> Iterator[dict[str, Any]]:
    """Tasks without end, numbered."""
    return ({"task_id": f"{family}{k}", FAMILY: family} for k in range(first, 999))


def play(flat: set[str], counts: dict[str, int], limit: int, order: random.Random) -> Refill:
    """Let episodes end in a random order, until nothing is left to be played."""
    trajectories = [
        {"task_id": f"{family}{k}", FAMILY: family}
        for family, count in counts.items()
        for k in range(count)
    ]
    refill = Refill(
        trajectories,
        {family: tasks_of(family, count) for family, count in counts.items()},
        group_size=SIZE,
        limit=limit,
        seed=lambda group: 100 + group,
        trains=lambda group: group[0].options["task_id"] not in flat,
    )
    waiting = [
        Trajectory(
            group=k, seed=100 + k, family=task[FAMILY], number=SIZE * k + member,
            options={"task_id": task["task_id"], "training_step": 3, "horizon": 5},
        )
        for k, task in enumerate(trajectories)
        for member in range(SIZE)
    ]  # fmt: skip
    episodes = []
    while waiting:
        episode = waiting.pop(order.randrange(len(waiting)))
        episodes.append(episode)
        waiting += refill.end(episode)
    refill.first_batch = refill.choose(episodes)  # type: ignore[attr-defined]
    return refill


@settings(deadline=None)
@given(
    flat=st.sets(st.integers(0, 20)),
    counts=st.tuples(st.integers(1, 4), st.integers(1, 3)),
    most=st.integers(1, 4),
    order=st.randoms(use_true_random=False),
)
def test_the_batch_is_the_first_groups_that_train_in_any_order_of_endings(
    flat, counts, most, order
):
    names = {f"{family}{k}" for family in "ab" for k in flat}
    group_counts = dict(zip("ab", counts, strict=True))
    refill = play(names, group_counts, most, order)
    batch = refill.first_batch
    assert len(batch) == SIZE * sum(counts)
    missing = 0
    for family, count in group_counts.items():
        within = [f"{family}{k}" for k in range(most * count)]
        live = [name for name in within if name not in names][:count]
        missing += count - len(live)
        others_within = [name for name in within if name in names][: count - len(live)]
        task_ids = [e.options["task_id"] for e in batch if e.family == family]
        assert sorted(task_ids) == sorted([*live, *others_within] * SIZE)
    assert refill.figures["refill/groups_missing"] == missing
    groups_played = refill.figures["refill/groups_played"]
    assert groups_played * SIZE == len(batch) + len(refill.replaced)
    reordered = play(names, group_counts, most, random.Random(7))
    for expected, other_batch in (
        (batch, reordered.first_batch),
        (refill.replaced, reordered.replaced),
    ):
        assert [(e.group, e.seed, e.options) for e in expected] == [
            (e.group, e.seed, e.options) for e in other_batch
        ]
    assert all(e.options["training_step"] == 3 and e.options["horizon"] == 5 for e in batch)
    assert all(e.seed == 100 + e.group for e in batch)


def test_nothing_is_played_for_nothing():
    """Of 4 groups one is flat: the fifth is played, and no sixth."""
    refill = play({"a1"}, {"a": 4}, 9, random.Random(1))
    assert [e.options["task_id"] for e in refill.first_batch[::SIZE]] == ["a0", "a2", "a3", "a4"]
    assert [e.options["task_id"] for e in refill.replaced] == ["a1", "a1"]
    assert refill.figures == {"refill/groups_played": 5.0, "refill/groups_missing": 0.0}


def refilled(slots: int, backend: str = "sync") -> tuple[list[Trajectory], Refill]:
    """Four groups of two, played by a policy that wins every second episode of some tasks."""
    chat = tiny_policy.chat()
    envs = TextVectorEnv([ToyEnv] * slots, backend=backend, workers=2)
    tasks = [{"split": "train", "index": k} for k in range(40)]
    refill = Refill(
        tasks[:4], {"": iter(tasks[4:])}, group_size=2, limit=8, seed=lambda group: group,
        trains=lambda group: len({len(e.turns) for e in group}) > 1,
    )  # fmt: skip
    model = tiny_policy.model()
    from trainers.rollouts.engines.hf import HFEngine

    runner = RolloutRunner(envs, chat, HFEngine(model, chat.pad_id), BUDGET)
    episodes = runner.run(
        [task for task in tasks[:4] for _ in range(2)], groups=[k // 2 for k in range(8)],
        seeds=[k // 2 for k in range(8)], horizon=6, seed=5, parts=[refill],
    )  # fmt: skip
    envs.close()
    return episodes, refill


def tokens(episodes: list[Trajectory]) -> list[Any]:
    return [(e.group, e.task_id, [turn.ids for turn in e.turns]) for e in episodes]


@pytest.mark.slow
@pytest.mark.parametrize(("slots", "backend"), [(3, "sync"), (8, "thread")])
def test_the_runner_refills_alike_whatever_plays_at_a_time(slots, backend):
    episodes, refill = refilled(8)
    refilled_batch, other_refill = refilled(slots, backend)
    assert len(episodes) == 8 and tokens(episodes) == tokens(refilled_batch)
    assert tokens(refill.replaced) == tokens(other_refill.replaced)


def test_a_flat_group_is_found_by_the_filters_of_the_preset():
    chat, preset = tiny_policy.chat(), get_preset("dapo")
    play_ = RolloutRunner(
        tiny_policy.envs(8), chat, ScriptedEngine(chat, lambda prompt: "press red"), BUDGET
    )
    alike = play_.run(tiny_policy.tasks(1), group_size=4, horizon=3)
    assert not group_trains(preset, alike)
    alike[0].turns[-1].reward += 1.0
    assert group_trains(preset, alike)
    for episode in alike:
        episode.stop_reason = "error"
    assert not group_trains(preset, alike)
    assert not group_trains(preset, [Trajectory(stop_reason="error")])

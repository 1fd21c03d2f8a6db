"""The first half of a training step: tasks, groups, processes, and what a checkpoint keeps."""

from __future__ import annotations

from typing import Any

import pytest

from agentgym.errors import ConfigurationError
from tests.trainers import tiny_policy
from tests.trainers.grpo.helpers import make_trainer
from trainers.algorithms.schedule import Stages


@pytest.fixture
def make(tmp_path: Any) -> Any:
    def build(**changes: Any) -> Any:
        options = {"args": {"groups": 2, "group_size": 3, "seed": 5}, "horizon": Stages((2, 3), 2)}
        return make_trainer(tmp_path, **{**options, "envs": tiny_policy.envs(6), **changes})

    return build


def test_processes_share_a_step_even_inside_a_group(make):
    halves = [make().play_groups(1, 6, rank, 2) for rank in (0, 1)]
    odd = [make().play_groups(1, 2, rank, 3) for rank in (0, 1, 2)]
    assert [t.group for part in halves for t in part] == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]
    assert [t.group for part in odd for t in part] == [0, 0, 0, 1, 1, 1]
    for part in (halves, odd):
        members = {(t.group, t.task_id, t.seed) for p in part for t in p}
        assert len(members) == len({t.group for p in part for t in p})


def test_a_step_is_a_function_of_its_number(make):
    trainer, other_trainer = make(), make()
    trainer.play_groups(1, 6)
    first, second = trainer.play_groups(3, 6), other_trainer.play_groups(3, 6)
    assert [[u.ids for u in t.turns] for t in first] == [[u.ids for u in t.turns] for t in second]
    assert trainer.stage_switches == [(1, 2), (3, 3)]
    assert other_trainer.horizon == 3
    later = other_trainer.play_groups(4, 6)
    assert [t.seed for t in later] != [t.seed for t in second]


def test_wrong_counts_are_named(make):
    with pytest.raises(ConfigurationError, match="expected 2 tasks"):
        make(tasks=lambda step, count, horizon: [{}]).play_groups(1, 6)
    with pytest.raises(ConfigurationError, match="divide"):
        make().play_groups(1, 5)


def test_the_probe_compares_opening_prompts(make):
    trainer = make()
    assert trainer._probe([]) == 0.0
    assert 0.0 < trainer._probe(trainer.play_groups(1, 6)) <= 1e-5

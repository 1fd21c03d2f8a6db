from __future__ import annotations

import pytest

from agentgym.errors import ConfigurationError
from tests.trainers import tiny_policy
from tests.trainers.grpo.helpers import LIMITS, Feed
from trainers.algorithms import Stages
from trainers.rollouts import RolloutRunner
from trainers.rollouts.collector import Collector
from trainers.rollouts.engines.hf import HFEngine


def collector(**changes):
    model, chat = tiny_policy.model(), tiny_policy.chat()
    runner = RolloutRunner(tiny_policy.envs(6), chat, HFEngine(model, chat.pad_id), LIMITS)
    options = {"tasks": Feed(), "schedule": Stages((2, 3), 2), **changes}
    return Collector(runner, model, seed=5, **options)


def test_processes_share_a_step_even_inside_a_group():
    whole = [collector().collect(1, 6, 3, rank, 2) for rank in (0, 1)]
    odd = [collector().collect(1, 2, 3, rank, 3) for rank in (0, 1, 2)]
    assert [t.group for part in whole for t in part] == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]
    assert [t.group for part in odd for t in part] == [0, 0, 0, 1, 1, 1]
    for part in (whole, odd):
        members = {(t.group, t.task_id, t.seed) for p in part for t in p}
        assert len(members) == len({t.group for p in part for t in p})


def test_a_step_is_a_function_of_its_number():
    one, two = collector(), collector()
    one.collect(1, 6, 3)
    first, second = one.collect(3, 6, 3), two.collect(3, 6, 3)
    assert [[u.ids for u in t.turns] for t in first] == [[u.ids for u in t.turns] for t in second]
    assert one.stage_switches == [(1, 2), (3, 3)]
    assert two.horizon == 3
    assert one.runner.engine.version == 2
    again = two.collect(4, 6, 3)
    assert [t.seed for t in again] != [t.seed for t in second]


def test_wrong_counts_are_named():
    with pytest.raises(ConfigurationError, match="expected 2 tasks"):
        collector(tasks=lambda step, count, horizon: [{}]).collect(1, 6, 3)
    with pytest.raises(ConfigurationError, match="divide"):
        collector().collect(1, 5, 3)


def test_probe_compares_opening_prompts():
    made = collector(schedule=2)
    episodes = made.collect(1, 6, 3)
    assert made.probe(episodes, exact=True) <= 1e-5
    assert made.probe([], exact=True) == 0.0
    assert made.state_dict() == {"tasks": {"asked": [(1, 2, 2)]}}


def test_state_is_kept_in_a_folder(tmp_path):
    made, fresh = collector(), collector()
    made.collect(1, 6, 3)
    made.save(tmp_path / "new" / "folder")
    fresh.load(tmp_path)
    assert fresh.state_dict() == {"tasks": {"asked": []}}
    fresh.load(tmp_path / "new" / "folder")
    assert fresh.state_dict() == made.state_dict()

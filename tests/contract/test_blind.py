"""There is no cheat sheet: who reads neither observation nor actions solves next to nothing."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import gymnasium
import pytest

from agentgym.core import TextEnv
from agentgym.registration import FAMILIES, family
from tests.contract.choices import EVERY

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "blind_policies.py"
TASKS = 60
FEW = {"swe": 2}
"""Where every action runs in a sandbox. What is offered there changes nothing of a repository."""
MOST = 0.25
"""Warm starts solve .34 to .52; who avoids what was tried before, at random, up to .14."""


def script() -> ModuleType:
    """Load the benchmark, so that the test and the published figures are of one kind."""
    spec = importlib.util.spec_from_file_location("blind_policies", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault("blind_policies", module)
    spec.loader.exec_module(module)
    return module


blind = script()


@pytest.fixture(scope="module", params=["default", "training"])
def label(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize("name", [entry.name for entry in FAMILIES])
@pytest.mark.parametrize("policy", blind.BLIND)
def test_no_blind_policy_comes_near_one_that_reads(name, policy, label):
    env = gymnasium.make(family(name).id, **blind.settings(name)[label]).unwrapped
    assert isinstance(env, TextEnv)
    count = FEW.get(name, TASKS)
    assert blind.solved(env, blind.BLIND[policy], count) <= MOST * count
    env.close()


def words(text: str) -> set[str]:
    return set(re.findall(r"[a-z0-9]*[a-z][a-z0-9]*", text.lower()))


@EVERY
def test_task_ids_name_nothing(configuration):
    """What differs between the ids of a split is numbers, or else no word of goal or solution."""
    env = configuration.make(max_turns=100)
    ids = [task.id for task, _ in zip(env.tasks.iterate("test"), range(40), strict=False)]
    shared = set.intersection(*map(words, ids))
    for index in range(configuration.tasks):
        _, info = env.reset(seed=0, options={"split": "test", "index": index})
        told = words(info["goal"])
        while not info["stop_reason"]:
            action = str(env.oracle_action())
            told |= words(action)
            info = env.step(action)[4]
        assert not (words(info["task_id"]) - shared) & told
    env.close()


@pytest.mark.parametrize("name", [entry.name for entry in FAMILIES])
def test_the_order_of_actions_depends_on_the_task(name):
    """Of two actions that are on offer in many tasks neither comes always first."""
    env = gymnasium.make(family(name).id).unwrapped
    assert isinstance(env, TextEnv)
    order: dict[tuple[str, str], list[bool]] = {}
    for index in range(0, env.tasks.len("train"), env.tasks.len("train") // 40):
        _, info = env.reset(seed=0, options={"split": "train", "index": index})
        offered = info["admissible_actions"]
        for place, first in enumerate(offered):
            for second in offered[place + 1 :]:
                pair = (min(first, second), max(first, second))
                order.setdefault(pair, []).append(first < second)
    often = [found for found in order.values() if len(found) >= 16]
    assert often or name in ("search", "webshop"), "these offer searches only at first"
    assert all(len(set(found)) == 2 for found in often)
    env.close()

"""The scale of every score: the expert is 1, the random policy is the floor."""

from __future__ import annotations

import random
from typing import Any

import gymnasium
import pytest

from agentgym.core.env import TextEnv
from tests.contract.choices import BOXED
from tests.contract.playing import admissible_action, finish

ORACLE_TASKS = 100
RANDOM_TASKS = 40
ORIGINAL_TASKS = 8
"""Where an engine of other people plays, which is slow; parity with ours is tested elsewhere."""
SANDBOX_TASKS = 3
"""Where every command runs in a sandbox; that each bundled task is solved is tested elsewhere."""
SANDBOXED = tuple(f"{name}/" for name in BOXED)
"""Begins the names of their task sets."""
SCRIPT_TASKS = 20
"""Where the expert starts a process for each task."""
SHOPPER_TASKS = 60
FLOOR_TASKS = 200


class RandomPolicy:
    """Draws from what is on offer."""

    def __init__(self, env: TextEnv) -> None:
        self._env = env
        self._rng = random.Random(0)

    def act(self, observation: str, info: dict[str, Any]) -> str:
        return admissible_action(self._rng, self._env, info)


def success(env: TextEnv, policy: Any, n: int) -> tuple[float, list[dict[str, Any]]]:
    """Return the success rate on a panel of the test split, and the infos of failed episodes."""
    if getattr(env, "engine", "native") != "native":
        n = min(n, ORIGINAL_TASKS)
    if env.tasks.name.startswith(SANDBOXED):
        n = min(n, SANDBOX_TASKS)
    if env.tasks.name.startswith("math/"):
        n = min(n, SCRIPT_TASKS)
    panel = env.tasks.panel("test", min(n, env.tasks.len("test")))
    infos = []
    for task_id in panel.ids:
        observation, info = env.reset(seed=0, options={"task_id": task_id})
        infos.append(finish(env, policy, observation, info))
    failed = [info for info in infos if not info["success"]]
    return 1 - len(failed) / len(panel), failed


def test_the_experts_solve_the_test_split(env: TextEnv) -> None:
    """The solver does, and the demonstrator that nobody chose."""
    for policy in (env.oracle(), env.demonstrator()):
        rate, failed = success(env, policy, ORACLE_TASKS)
        assert rate >= 0.99, failed


def test_the_expert_knows_how_long_it_takes(env: TextEnv) -> None:
    count = 3 if env.tasks.name.startswith(SANDBOXED) else 10
    for index in range(min(count, env.tasks.len("test"))):
        observation, info = env.reset(options={"split": "test", "index": index})
        expected = env.extensions.turns(env.tasks.oracle_turns(env.tasks.task("test", index)))
        remaining = info["oracle_turns"]
        assert expected in (None, remaining)
        if remaining is None:
            continue
        assert remaining <= info["horizon"]
        last = finish(env, env.demonstrator(), observation, info)
        assert last["turn"] == remaining and last["stop_reason"] in ("success", "answer")
        assert last["score"] == 1.0


def test_the_random_policy_is_well_below(env: TextEnv) -> None:
    # A drawn command may run all tests of a repository, in each of dozens of turns.
    count = 1 if env.tasks.name.startswith("swe/") else RANDOM_TASKS
    rate, _ = success(env, RandomPolicy(env), count)
    assert rate <= 0.5


def webshop(**kwargs: Any) -> TextEnv:
    """Make a WebShop environment without wrappers."""
    env = gymnasium.make("agentgym/WebShop-v0", **kwargs).unwrapped
    assert isinstance(env, TextEnv)
    return env


@pytest.mark.parametrize("expert", ["careful", "thinking"])
def test_the_experts_that_can_be_imitated_solve_webshop(expert: str) -> None:
    env = webshop(difficulty="easy", observation_mode="compact", expert=expert, horizon=9)
    rate, failed = success(env, env.demonstrator(), SHOPPER_TASKS)
    assert rate >= 0.99, failed


def test_the_random_floor_of_webshop_is_near_zero() -> None:
    env = webshop(difficulty="medium")
    rate, _ = success(env, RandomPolicy(env), FLOOR_TASKS)
    assert rate <= 0.02

"""Environments for verl-agent: groups of equal tasks, stepped together."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest

from agentgym.errors import ConfigurationError, TaskNotFound
from agentgym.interop.verl_agent import VerlAgentManager
from agentgym.registration import FAMILIES
from tests.toy import TOY_ID

IDS = [*(entry.id for entry in FAMILIES), TOY_ID]


@pytest.mark.parametrize("env_id", IDS)
def test_an_expert_earns_the_same(env_id: str) -> None:
    members = 1 if env_id == "agentgym/SWE-v0" else 2  # each is graded, which takes seconds
    envs = VerlAgentManager(env_id, tasks=2, members=members, split="test", num_tasks=2)
    observations, infos = envs.reset()
    ids = [info["task_id"] for info in infos]
    assert len({*ids}) == 2 and ids == [ids[0]] * members + [ids[-1]] * members
    local: list[Any] = [gymnasium.make(env_id).unwrapped for _ in ids]
    expected = [env.reset(options={"task_id": i})[0] for env, i in zip(local, ids, strict=True)]
    is_over = np.zeros(len(ids), bool)
    total: list[list[Any]] = [[] for _ in ids]
    masks: list[list[Any]] = [[] for _ in ids]
    while not is_over.all():
        assert observations["anchor"] == expected and observations["image"] is None
        for text, observation in zip(observations["text"], expected, strict=True):
            assert observation in text
        actions = [
            "" if over else e.oracle_action() for e, over in zip(local, is_over, strict=True)
        ]
        done_before = is_over
        observations, rewards, is_over, infos = envs.step(actions)
        for k, env in enumerate(local):
            total[k].append(infos[k])
            masks[k].append({"active_masks": not done_before[k]})
            if not done_before[k]:
                expected[k], reward, terminated, truncated, info = env.step(actions[k])
                assert rewards[k] == np.float32(reward) and is_over[k] == (terminated or truncated)
                assert infos[k]["won"] == info["success"] and infos[k]["is_action_valid"]
            else:
                assert rewards[k] == 0 and is_over[k]
    won = envs.success_evaluator(total_infos=total, total_batch_list=masks, batch=None)
    assert won["success_rate"].tolist() == [1.0] * len(ids)
    envs.close()
    for env in local:
        env.close()


def test_tasks_come_in_turn_and_again() -> None:
    envs = VerlAgentManager(TOY_ID, tasks=2, split="test", num_tasks=3, seed=1)
    ids = [info["task_id"] for _ in range(3) for info in envs.reset()[1]]
    assert len(set(ids)) == 3 and ids[:3] == ids[3:]
    twin = VerlAgentManager(TOY_ID, tasks=2, split="test", num_tasks=3, seed=1)
    assert [info["task_id"] for info in twin.reset()[1]] == ids[:2]


def test_rows_may_name_the_tasks() -> None:
    envs = VerlAgentManager(TOY_ID, tasks=1, members=2, split="test")
    ids = [info["task_id"] for info in envs.reset()[1]]
    rows = [{"task_id": ids[0]}] * 2
    assert [info["task_id"] for info in envs.reset(rows)[1]] == ids[:1] * 2
    with pytest.raises(TaskNotFound):
        envs.reset([{"task_id": "nothing"}] * 2)


@pytest.mark.slow
def test_the_prompt_of_the_paper() -> None:
    envs = VerlAgentManager("alfworld", tasks=1, prompt="verl-agent")
    text = envs.reset()[0]["text"][0]
    assert "<action>" in text and "Commands that are possible now" in text
    observations, _, _, infos = envs.step(["look around"])
    assert not infos[0]["is_action_valid"] and "This is step 2" in observations["text"][0]


def test_there_is_an_action_for_each_episode() -> None:
    envs = VerlAgentManager(TOY_ID, tasks=2)
    envs.reset()
    with pytest.raises(ConfigurationError, match="expected 2 actions, got 1"):
        envs.step(["look"])

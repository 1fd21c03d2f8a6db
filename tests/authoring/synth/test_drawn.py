"""Specifications that a grammar draws keep the contract, or are refused with a reason."""

from __future__ import annotations

import inspect
from collections import Counter
from pathlib import Path
from typing import Any

import gymnasium
import pytest
import yaml

from agentgym.core.env import TextEnv
from agentgym.errors import DataError
from agentgym.registration.making import resolve
from tests.authoring.synth.drawn import drawn
from tests.contract import test_api as api
from tests.contract import test_determinism as determinism
from tests.contract import test_task_sets as task_sets
from tests.contract.playing import finish

SPECIFICATIONS = 20
CHECKS = (
    api.test_spaces, api.test_infos_are_fresh, api.test_the_horizon_is_a_reset_option,
    api.test_wrong_reset_options, api.test_a_step_needs_a_running_episode,
    api.test_an_action_must_be_text, api.test_nonsense_is_called_invalid_and_changes_nothing,
    api.test_close_twice, api.test_render, api.test_the_spec_survives_copies,
    api.test_the_expert_is_shown_only_on_request, determinism.test_an_instance_repeats_itself,
    determinism.test_different_seeds_draw_different_tasks, task_sets.test_splits,
    task_sets.test_a_task_is_chosen_by_index_or_id,
)  # fmt: skip
"""Parts of the contract that hold in every world, however small."""


def keeps_the_contract(env_id: str) -> None:
    """Let the tests of the contract judge an environment."""

    def make(**kwargs: Any) -> TextEnv:
        env = gymnasium.make(env_id, **kwargs).unwrapped
        assert isinstance(env, TextEnv)
        return env

    for check in CHECKS:
        arguments: dict[str, Any] = {"env_id": env_id, "make": make}
        parameters = inspect.signature(check).parameters
        check(**{name: arguments[name] if name in arguments else make() for name in parameters})
    env = make()
    contents: dict[str, str] = {}
    for split in env.tasks.splits:
        for index in range(6):
            task = env.tasks.task(split, index)
            assert contents.setdefault(str(task.content), split) == split
            observation, info = env.reset(seed=index, options={"split": split, "index": index})
            snapshot = env.snapshot()
            turns = finish(env, env.oracle(), observation, info)
            assert turns["success"] and turns["score"] == 1.0
            env.restore(snapshot)
            assert finish(env, env.oracle(), observation, info) == turns


@pytest.mark.slow
def test_drawn_specifications_keep_the_contract_or_are_refused(tmp_path: Path) -> None:
    outcomes = Counter[str]()
    for seed in range(SPECIFICATIONS):
        file = tmp_path / f"drawn-{seed}.yaml"
        file.write_text(yaml.safe_dump(drawn(seed), sort_keys=False))
        env_id = resolve(f"synth:{file}")[1]
        try:
            gymnasium.make(env_id).close()
        except DataError as error:
            message = str(error)
            assert message.startswith("expected ") and ", got " in message, message
            outcomes["refused"] += 1
            continue
        keeps_the_contract(env_id)
        outcomes["kept"] += 1
    assert outcomes["kept"] >= 10 and outcomes["refused"] >= 5, outcomes


@pytest.mark.parametrize(
    "name", ["accounts", pytest.param("lab", marks=pytest.mark.slow), "warehouse"]
)
def test_bundled_specifications_keep_the_contract(name: str) -> None:
    keeps_the_contract(resolve(f"synth:{name}")[1])

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from agentgym.core.later import read
from agentgym.envs.swe.engine.commands import SWECommand, only_command
from agentgym.envs.swe.engine.session import SWEState
from agentgym.envs.swe.env import SWEEnv
from agentgym.envs.swe.experts import EXPERTS
from agentgym.envs.swe.experts.oracle import OracleExpert, rewritten
from agentgym.envs.swe.instance import ImageSource
from tests.envs.swe.boxed import needs_box
from tests.envs.swe.small import SmallSet, bash, small_env


@pytest.fixture
def env() -> Iterator[SWEEnv]:
    swe_env = small_env(horizon=30)
    yield swe_env
    swe_env.close()


def finish(env: SWEEnv) -> list[str]:
    """Follow the expert to the end; returns its actions."""
    actions: list[str] = []
    over = False
    while not over:
        turns_left = read(env._oracle_turns())
        actions.append(str(env.demonstrator_action()))
        _, _, terminated, truncated, info = env.step(actions[-1])
        assert (
            turns_left is not None
            and info["oracle_turns"] == turns_left - 1
            and info["action_valid"]
        )
        over = terminated or truncated
    assert info["success"]
    return actions


@needs_box
@pytest.mark.parametrize("expert", EXPERTS)
def test_experts_solve_every_instance(expert: str) -> None:
    """They speak every grammar in the contract, which plays each of them on the bundled tasks."""
    env = small_env(expert=expert)
    for split in env.tasks.splits:
        for index in range(env.tasks.len(split)):
            env.reset(options={"split": split, "index": index})
            assert len(finish(env)) == env.tasks.oracle_turns(env.task)
    env.close()


@needs_box
@pytest.mark.parametrize(
    "command",
    [
        "rm -r sums",
        "echo broken > sums/plain.py",
        "printf 'x = 1' >> sums/__init__.py; rm sums/plain.py",
        "rm sums/plain.py; ln -s /etc/passwd sums/plain.py",
        "mkdir sums/more; echo 'raise SystemExit' > sums/more/__init__.py",
        "rm -r tests; echo 'raise SystemExit' > conftest.py",
        "sed -i 's/a - b/a + b/' sums/plain.py",
    ],
)
def test_what_was_spoiled_is_put_right(env: SWEEnv, command: str) -> None:
    env.reset(options={"split": "train", "index": 0})
    env.step(bash(command))
    finish(env)


@needs_box
def test_the_developer_looks_before_it_edits() -> None:
    env = small_env(expert="developer")
    env.reset(options={"split": "train", "index": 0})
    names = [only_command(action)[0].name for action in finish(env)]
    assert names == ["bash", "view", "edit", "bash", "submit"]
    env.close()


def test_a_repository_in_an_image_is_patched_by_one_command() -> None:
    instance = replace(SmallSet().instance("train", 0), source=ImageSource("some/image"))
    expert = OracleExpert()
    plan = expert.plan(instance, SWEState())
    assert plan is not None and [command.name for command in plan] == ["bash", "submit"]
    assert plan[0].text.startswith("git apply") and instance.patch in plan[0].text
    assert expert.plan(instance, SWEState(commands=(plan[0].write(),))) == [SWECommand("submit")]


def test_no_plan_contains_a_file_too_large_to_write() -> None:
    assert rewritten("a.py", b"#" * 100_000) is None
    assert rewritten("a b.py", None) == SWECommand("bash", "rm -f -- 'a b.py'")

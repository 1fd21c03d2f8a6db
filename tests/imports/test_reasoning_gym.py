from __future__ import annotations

from typing import Any

import pytest

import agentgym
from agentgym.errors import ConfigurationError
from agentgym.imports.imported_env import ImportedEnv
from agentgym.making import make_env, resolve

pytest.importorskip("reasoning_gym", reason="reasoning-gym is in .ci/peers")


def made(name: str, **kwargs: Any) -> ImportedEnv:
    env = make_env(resolve(f"reasoning-gym:{name}")[1], kwargs, "--env-kwargs")
    assert isinstance(env, ImportedEnv)
    return env


@pytest.mark.parametrize("name", ["basic_arithmetic", "leg_counting", "acre", "word_ladder"])
def test_the_expert_solves_and_nothing_does_not(name: str) -> None:
    env = made(name)
    assert agentgym.evaluate("oracle", env, num_tasks=10).success == 1
    assert agentgym.evaluate("random", env, num_tasks=10).success < 1


@pytest.mark.parametrize("name", ["codeio", "list_functions"])
def test_questions_that_draw_from_global_generators_are_fixed(name: str) -> None:
    tasks = [made(name).tasks.task("valid", 3) for _ in range(2)]
    assert tasks[0] == tasks[1]


def test_arguments_of_the_data_set_are_part_of_its_panel() -> None:
    hashes = {
        made("basic_arithmetic", **kwargs).tasks.panel("test", 4).sha256
        for kwargs in ({}, {"min_digits": 3}, {"seed": 1}, {"horizon": 2})
    }
    assert len(hashes) == 3


def test_a_scorer_that_raises_costs_its_episode() -> None:
    report = agentgym.evaluate(
        lambda observation, info: "many" if info["task_id"].endswith("/0") else "2",
        made("prime_factorization", sizes={"test": 3}),
        num_tasks=3,
    )
    assert [row.task_id[-2:] for row in report.rows if row.error] == ["/0"]
    assert "ValueError" in next(row.error for row in report.rows if row.error)


def test_it_says_that_the_hash_seed_counts() -> None:
    assert any("PYTHONHASHSEED" in limit for limit in made("ransom_note").limits)


@pytest.mark.parametrize(
    ("name", "kwargs", "words"),
    [
        ("leg_countin", {}, "did you mean 'leg_counting'"),
        ("leg_counting", {"legs": 3}, "with the arguments {'legs': 3}"),
        ("composite", {}, "can be opened here"),
    ],
)
def test_what_is_wrong_is_told(name: str, kwargs: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        made(name, **kwargs)

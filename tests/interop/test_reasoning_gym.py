from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

import agentgym
from agentgym.errors import ConfigurationError, EnvFailure
from agentgym.interop.imported_env import ImportedEnv
from agentgym.registration.making import make_env, resolve

pytest.importorskip("reasoning_gym", reason="reasoning-gym is in .ci/peers")


def make_imported(name: str, **kwargs: Any) -> ImportedEnv:
    env = make_env(resolve(f"reasoning-gym:{name}")[1], kwargs, "--env-kwargs")
    assert isinstance(env, ImportedEnv)
    return env


@pytest.mark.parametrize("name", ["basic_arithmetic", "leg_counting", "acre", "word_ladder"])
def test_the_expert_solves_and_nothing_does_not(name: str) -> None:
    env = make_imported(name)
    assert agentgym.evaluate("oracle", env, num_tasks=10).success == 1
    assert agentgym.evaluate("random", env, num_tasks=10).success < 1


@pytest.mark.parametrize("name", ["codeio", "list_functions"])
def test_questions_that_draw_from_global_generators_are_fixed(name: str) -> None:
    tasks = [make_imported(name).tasks.task("valid", 3) for _ in range(2)]
    assert tasks[0] == tasks[1]


def test_arguments_of_the_data_set_are_part_of_its_panel() -> None:
    hashes = {
        make_imported("basic_arithmetic", **kwargs).tasks.panel("test", 4).sha256
        for kwargs in ({}, {"min_digits": 3}, {"seed": 1}, {"horizon": 2})
    }
    assert len(hashes) == 3


@pytest.mark.parametrize(
    ("name", "answer"),
    [("prime_factorization", "2 * 5"), ("prime_factorization", "many"), ("game_of_life", "{}")],
)
def test_an_answer_on_which_the_scorer_raises_is_a_wrong_one(name: str, answer: str) -> None:
    """A policy that is right in every second task solves one half, whatever it writes else."""
    env = make_imported(name, sizes={"test": 8})
    env.reset(options={"split": "test", "index": 0})

    def play(observation: str, info: Mapping[str, Any]) -> str:
        if int(info["task_id"].rpartition("/")[2]) % 2:
            return str(env.oracle_action())
        return answer

    report = agentgym.evaluate(play, env, num_tasks=8)
    assert (report.n, report.errors, report.success) == (8, 0, 0.5)
    assert report.stop_reasons == {"action_error": 4, "success": 4}


def test_a_scorer_that_raises_on_its_own_answer_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    env = make_imported("leg_counting", sizes={"test": 2})
    env.reset(options={"split": "test", "index": 0})

    def score(self: Any, answer: str, entry: Any) -> float:
        raise RuntimeError("no scorer today")

    monkeypatch.setattr(type(env.world._data), "score_answer", score)  # type: ignore[attr-defined]
    with pytest.raises(EnvFailure, match="no scorer today"):
        env.step("4")


def test_it_says_that_the_hash_seed_counts() -> None:
    assert any("PYTHONHASHSEED" in limit for limit in make_imported("ransom_note").limits)


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
        make_imported(name, **kwargs)

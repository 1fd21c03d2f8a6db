"""``blind-mutation``: what it types, what it wins, and that it is known by its name."""

from __future__ import annotations

import pytest

from agentgym.actions import GRAMMARS
from agentgym.certification.solving import best_floor, blind_floors
from agentgym.certification.subject import Subject
from agentgym.core.language import Language
from agentgym.envs.swe.baselines import BlindMutation, token_search
from agentgym.envs.swe.engine.commands import BASH, SUBMIT, only_command
from agentgym.envs.swe.env import SWEEnv
from agentgym.evaluation.policy_names import load_policy
from agentgym.policies import is_reference_policy
from tests.envs.swe.boxed import needs_box
from tests.envs.swe.small import small_env

INFO = {"turn": 0, "horizon": 5}


def play(env: SWEEnv, index: int = 0) -> tuple[bool, int]:
    policy = load_policy("blind-mutation", env)(env)
    observation, info = env.reset(options={"split": "train", "index": index})
    over = False
    while not over:
        observation, _, terminated, truncated, info = env.step(policy.act(observation, info))
        over = terminated or truncated
    return info["success"], info["turn"]


@needs_box
@pytest.mark.slow
def test_it_repairs_a_token_without_reading_the_issue() -> None:
    env = small_env(grammar="xml")
    assert play(env, 0) == (True, 2) and play(env, 1) == (True, 2)
    env.close()


@needs_box
@pytest.mark.slow
def test_where_no_test_fails_it_has_nothing_to_search_for() -> None:
    env = SWEEnv()
    assert play(env) == (False, 2)
    env.close()


@pytest.mark.parametrize("grammar", GRAMMARS)
def test_it_types_one_command_a_turn_in_every_grammar(grammar: str) -> None:
    env = SWEEnv(data="bundled-tokens", grammar=grammar)
    policy = BlindMutation(env.language.write)
    read_only = [
        only_command(env.language.read(policy.act(text, {**INFO, "turn": turn})).native)[0]
        for turn, text in enumerate(("the issue", "searched on", "all tests pass"))
    ]
    assert [command.name for command in read_only] == [BASH, BASH, SUBMIT]
    assert read_only[1].text == "python3 /tmp/token_search.py 25" and "SWAPS" in read_only[0].text
    last = policy.act("searched on", {**INFO, "turn": 4})
    assert only_command(env.language.read(last).native)[0].name == SUBMIT


def test_changes_are_tried_where_failing_tests_go_first(tmp_path, monkeypatch) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "a.py").write_text("def f(a, b):\n    return a - b\n")
    (tmp_path / "own" / "b.py").write_text("def g(a):\n    return a < 1\n")
    monkeypatch.chdir(tmp_path)
    calls = {"bad": [["own/b.py", 1]], "good": [["own/a.py", 1]]}
    hot = token_search.ranked({"bad"}, calls)
    assert hot == [["own/b.py", 1, 1.0]]
    order = token_search.candidates(hot)
    assert {path for path, _ in order[:4]} == {"own/b.py"}
    texts = [token_search.changed("def g(a):\n    return a < 1\n", c) for p, c in order if "b" in p]
    assert "def g(a):\n    return a <= 1\n" in texts and "def g(a):\n    return a < 2\n" in texts


def test_it_is_a_yardstick_and_only_this_family_has_it() -> None:
    assert is_reference_policy("blind-mutation") and not is_reference_policy("blind-run/checkpoint")
    assert "blind-mutation" in SWEEnv(data="bundled-tokens").blind_policies


@needs_box
@pytest.mark.slow
def test_certificates_play_it() -> None:
    env = small_env(horizon=4)
    floor = best_floor(blind_floors(Subject("swe", {}, env, {"train": 1})))
    assert floor.policy == "blind-mutation" and floor.share.value == 1.0
    env.close()


def test_the_script_fits_into_an_action() -> None:
    env = SWEEnv(data="bundled-tokens")
    assert isinstance(env.language, Language)
    assert len(BlindMutation(env.language.write).act("", INFO)) < 16_000

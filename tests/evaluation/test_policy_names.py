"""Policies by name: those of the suite, of a user's module, and of packages that add kinds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium
import pytest

from agentgym.agents import play_agent
from agentgym.errors import AgentGymError, ConfigurationError, PolicyStopped
from agentgym.evaluation import evaluate
from agentgym.evaluation.policy_names import (
    load_policy,
    policy_content,
    policy_kinds,
    takes_sampling,
)
from agentgym.policies import BLIND, Policy
from agentgym.policies.play import play
from tests.policies import own
from tests.policies.installed import ROOT, declared, install
from tests.toy import TOY_ID, ToyEnv

HERE = "tests.policies.own"
GOLD_RED = {"task_id": "toy/gold-red"}


@pytest.fixture
def env() -> gymnasium.Env[str, str]:
    return gymnasium.make(TOY_ID)


def solves(policy: Policy, env: gymnasium.Env[str, str]) -> bool:
    return bool([*play(policy, env, options=GOLD_RED)][-1].info["success"])


@pytest.mark.parametrize("name", ["random", "oracle", *BLIND])
def test_a_name_of_the_suite_plays_as_evaluate_lets_it_play(name: str, env: Any) -> None:
    maker = load_policy(name, env, seed=3)
    assert maker.facts == {"kind": name, "seed": 3} and maker.several
    by_name, by_object = (
        evaluate(name, env, num_tasks=12, seed=3),
        evaluate(maker(), env, num_tasks=12, seed=3),
    )
    assert [row.score for row in by_object.rows] == [row.score for row in by_name.rows]


@pytest.mark.parametrize("name", ["random", "blind-verbs"])
def test_a_builtin_name_wins_over_a_folder(name: str, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).mkdir()
    assert evaluate(name, TOY_ID, num_tasks=2, seed=3).n == 2
    assert policy_content(name) == "" and not takes_sampling(name)
    with pytest.raises(ConfigurationError, match="expected the path of a policy"):
        evaluate(f"./{name}", TOY_ID, num_tasks=2)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("follow", {}),
        ("shouted", {"word": "press"}),
        ("follow_later", {}),
        ("Follower", {}),
        ("LaterFollower", {"word": "press"}),
        ("Knowing", {}),
        ("make_follower", {}),
        ("THE_ONE", {}),
    ],
)
def test_what_a_module_holds_becomes_a_policy(name: str, options: Any, env: Any) -> None:
    with load_policy(f"{HERE}:{name}", env, seed=7, **options) as maker:
        policy = maker()
        assert isinstance(policy, Policy) and solves(policy, env)
        assert maker.facts["policy"] == f"{HERE}:{name}" and maker.facts["options"] == options
        assert maker.several == (name != "THE_ONE")
        if name not in ("THE_ONE", "Knowing"):  # of which one plays, or in one environment
            assert maker() is not policy
            report = evaluate(maker, TOY_ID, num_tasks=10, backend="thread", concurrency=4)
            assert report.success == 1.0


def test_async_policies_share_an_event_loop_and_are_told_of_episodes(env: Any) -> None:
    own.LOOPS.clear()
    with load_policy(f"{HERE}:LaterFollower", env) as maker:
        first, second = maker(), maker()
        assert solves(first, env) and solves(second, env)
        assert len(own.LOOPS) == 1
        assert first._policy.begun == 1  # type: ignore[attr-defined]


def test_seed_and_options_reach_a_class_of_ones_own(env: Any) -> None:
    follower: Any = load_policy(f"{HERE}:Follower", env, seed=5, word="push")()
    assert (follower.given_seed, follower.word) == (5, "push")
    maker: Any = load_policy(f"{HERE}:Knowing", env)
    other_env = ToyEnv()
    assert maker().env is env and maker(other_env).env is other_env


def test_an_agent_is_handed_on_as_an_agent() -> None:
    env = gymnasium.make(TOY_ID, grammar="tool_call")
    maker = load_policy(f"{HERE}:agent", env)
    assert maker.agent is not None
    assert play_agent(maker.agent, env, options=GOLD_RED)[-1].info["success"]
    with pytest.raises(ConfigurationError, match=r"got the agent 'tests.policies.own:agent'"):
        maker()


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        (
            "nope",
            {},
            "expected random, oracle, demonstrator, blind-first.*MODULE:ATTRIBUTE.*got 'nope'",
        ),
        ("orcle", {}, r"got 'orcle' \(did you mean 'oracle'\?\)$"),
        ("chat", {}, "got 'chat', which needs a model: pass agentgym.policies.ChatPolicy"),
        ("runs/none", {}, "^expected a run folder at runs/none, but there is none; agentgym train"),
        ("no_such_module:x", {}, "expected MODULE:ATTRIBUTE with a module that can be imported"),
        (f"{HERE}:missing", {}, "has no 'missing'"),
        (f"{HERE}:LOCK", {}, "expected tests.policies.own:LOCK to be a policy with act"),
        (f"{HERE}:three", {}, "with the parameters a, b, c"),
        (f"{HERE}:Follower", {"wort": "x"}, "options of the policy .* among word; got wort"),
        (f"{HERE}:THE_ONE", {"word": "x"}, "among none; got word"),
        ("random", {"loud": True}, "options of the policy 'random' among none; got loud"),
    ],
)
def test_a_name_that_means_nothing_is_refused(
    name: str, options: Any, message: str, env: Any
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        load_policy(name, env, **options)


def test_what_a_maker_makes_must_be_a_policy(env: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"to make a policy .* got 3"):
        load_policy(f"{HERE}:nothing", env)()


# -- kinds that packages add -----------------------------------------------------------------------


def test_a_package_adds_a_kind(env: Any, tmp_path: Path, monkeypatch: Any) -> None:
    install(monkeypatch, tmp_path / "site", {"word": f"{HERE}:Kind"})
    path = tmp_path / "a.word"
    path.touch()
    assert solves(load_policy("word:a.word", env)(), env)
    maker = load_policy(str(path), env, loud=True)
    assert maker.facts == {"kind": "word", "loud": True} and solves(maker(), env)
    with pytest.raises(ConfigurationError, match=r"word:... \(a word to type\)"):
        load_policy("nope", env)
    with pytest.raises(ConfigurationError, match="among loud; got quiet"):
        load_policy("word:a.word", env, quiet=True)
    with pytest.raises(ConfigurationError, match=r"a word to type, got 'word:x': it does not end"):
        load_policy("word:x", env)
    with pytest.raises(ConfigurationError, match=r"not word: it does not end in .word"):
        load_policy(str(tmp_path), env)


def test_a_broken_kind_is_named_and_hinders_no_other(
    env: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    kinds = {"aaa": "no_such_package:Kind", "word": f"{HERE}:Kind"}
    install(monkeypatch, tmp_path / "site", kinds)
    path = tmp_path / "a.word"
    path.touch()
    assert solves(load_policy(str(path), env)(), env)
    with pytest.raises(ConfigurationError, match=r"aaa = no_such_package:Kind .* cannot be loaded"):
        load_policy("aaa:x", env)
    with pytest.raises(ConfigurationError, match=r"aaa:... \(not usable"):
        load_policy("nope", env)


def test_two_kinds_of_one_name_are_refused(env: Any, tmp_path: Path, monkeypatch: Any) -> None:
    install(monkeypatch, tmp_path / "one", {"word": f"{HERE}:Kind"}, "one")
    install(monkeypatch, tmp_path / "two", {"word": f"{HERE}:Kind"}, "two")
    assert "word" in policy_kinds(), "the same one twice does no harm"
    install(monkeypatch, tmp_path / "three", {"word": f"{HERE}:Other"}, "three")
    with pytest.raises(ConfigurationError, match="one kind of policies named 'word'"):
        load_policy("word:x", env)


def test_the_kinds_of_the_trainer_are_declared_and_need_no_package_to_be_described(
    tmp_path: Path, monkeypatch: Any
) -> None:
    """Without the extra ``train`` the message says which one to install."""
    assert set(declared()) == {"run", "hf"}
    install(monkeypatch, tmp_path / "site", declared(), "agentgym-trainers-test")
    code = """
import sys
for name in ("torch", "transformers", "peft", "trl"):
    sys.modules[name] = None  # as if it were not installed
import gymnasium, tests.toy
from pathlib import Path
from agentgym.errors import DependencyNotInstalled
from agentgym.evaluation.policy_names import load_policy
env = gymnasium.make(tests.toy.TOY_ID)
try:
    load_policy("nope", env)
except ValueError as error:
    print(error)
Path(sys.argv[1]).mkdir()
for name in ("config.json", "tokenizer_config.json"):
    (Path(sys.argv[1]) / name).touch()
try:
    load_policy("hf:" + sys.argv[1], env)
except DependencyNotInstalled as error:
    print(error)
"""
    process = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "model")],
        capture_output=True, text=True, cwd=ROOT,
        env={**__import__("os").environ, "PYTHONPATH": f"{tmp_path / 'site'}:{ROOT}"},
    )  # fmt: skip
    assert "run:... (the folder of a run of agentgym train" in process.stdout, process.stderr
    assert "hf:... (a folder, GGUF file or hub id of a causal language model" in process.stdout
    assert 'pip install -e ".[train]"' in process.stdout


def test_a_policy_may_end_its_episode_as_it_stands(env: Any) -> None:
    class Leaving(own.Follower):
        def act(self, observation: str, info: Any) -> str:
            if info["turn"] == 1:
                raise PolicyStopped("token_limit")
            return super().act(observation, info)

    *turns, last = play(Leaving(), env, options=GOLD_RED)
    assert len(turns) == 2 and last.over and last.failure is None and last.action is None
    end = (last.info["stop_reason"], last.info["score"], last.truncated)
    assert end == ("token_limit", 0.5, True)
    report = evaluate(Leaving(), env, num_tasks=5)
    assert {row.stop_reason for row in report.rows} == {"token_limit"} and report.errors == 0
    assert issubclass(PolicyStopped, AgentGymError)

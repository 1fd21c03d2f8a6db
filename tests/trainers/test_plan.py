from __future__ import annotations

from pathlib import Path

import gymnasium
import pytest

from agentgym.core import TextEnv
from agentgym.errors import AgentGymError, ConfigurationError, EnvFailure, TaskNotFound
from tests.toy import TOY_ID, ToyEnv
from tests.trainers import toy_runs
from trainers.cli import parse_config
from trainers.defaults import FAMILY_DEFAULTS
from trainers.plan import GuardedEnv, make_env, make_plan


def plan(*flags: str, **changes):
    return make_plan(toy_runs.config(Path("unused"), *flags, **changes))


def test_a_plan_has_every_default_filled_in():
    made = make_plan(parse_config([f"--env={TOY_ID}", "--eval.tasks=10"]))
    assert (made.family, made.env_id) == ("toy", TOY_ID)
    assert (made.schedule.rounds, made.schedule.every, made.steps) == ((5, 8, 10), 40, 150)
    assert made.fit is True
    assert made.preset.name == "turn-loo"
    assert made.out == Path("runs/toy-tiny-seed0")
    assert made.env_kwargs == {"max_turns": 10}


def test_evaluation_takes_the_whole_test_split_if_it_is_small_and_the_gate_is_the_family_s():
    made = make_plan(parse_config([f"--env={TOY_ID}"]))
    assert (made.eval_tasks, made.gate_success) == (200, 0.45)
    assert make_plan(parse_config([f"--env={TOY_ID}", "--sft.gate-success=0"])).gate_success == 0


def test_the_command_line_goes_before_the_defaults():
    made = plan("--no-fit", horizon="4", steps=7, env_args="max_turns=20", preset="rloo")
    assert (made.schedule.rounds, made.full_horizon, made.steps) == ((4,), 4, 7)
    assert (made.fit, made.preset.name) == (False, "rloo")
    assert made.make_env().max_turns == 20
    assert made.make_env(expose_oracle=True).expose_oracle


def test_evaluation_is_at_the_last_round_unless_told_otherwise():
    assert plan(horizon="3,4,6").full_horizon == 6
    made = plan(horizon="3", eval__horizon=8)
    assert (made.full_horizon, made.make_env().max_turns) == (8, 8)


@pytest.mark.parametrize("name", ["webshop", "WebShop-v0", "agentgym/WebShop-v0"])
def test_a_family_is_known_by_its_names_and_brings_its_defaults(name):
    made = make_plan(parse_config([f"--env={name}", "--env-args", "size=200", "--eval.tasks=10"]))
    defaults = FAMILY_DEFAULTS["webshop"]
    assert (made.family, made.env_id) == ("webshop", "agentgym/WebShop-v0")
    assert made.schedule.rounds == defaults.horizon
    assert made.env_kwargs == {**defaults.env, "size": 200, "max_turns": defaults.horizon[-1]}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"env": "webshopp"}, r"an environment \(alfworld, textworld, webshop.*got 'webshopp'"),
        ({"env": "agentgym/Nope-v0"}, r"name of an environment .*got 'agentgym/Nope-v0'"),
        ({"env": "CartPole-v1"}, "environment of text .*got CartPoleEnv"),
        ({"env": "agentgym-test/Foreign-v0"}, "environment of text .*got ForeignEnv"),
        ({"env_args": "colour=red"}, "--env-args that agentgym-test/Toy-v0 takes.*'colour'"),
        ({"env_args": "max_turns=no"}, "max_turns to be an integer.*got 'no'"),
        ({"env_args": "colour"}, "name=value.*got 'colour'"),
        ({"preset": "grpoo"}, "preset of .*grpo.*got 'grpoo'"),
        ({"preset": "mt-ppo"}, "'mt-ppo' needs critic .*choose another preset"),
        ({"preset": "istar"}, "'istar' needs prm .*choose another preset"),
        ({"horizon": "5,x"}, "turn budgets such as .*got '5,x'; give positive integers"),
        ({"horizon": ""}, "turn budgets such as .*got ''; give positive integers"),
        ({"horizon": "0"}, "turn budgets such as .*got '0'; give positive integers"),
        ({"horizon": "-3"}, "turn budgets such as .*got '-3'; give positive integers"),
        ({"horizon": "1,5"}, "within 1 turns, but found none.*start --horizon higher"),
        ({"eval__tasks": 201}, "--eval.tasks of at most 200.*test split of toy; got 201"),
        ({"rl__group_size": 1}, "--rl.group-size to be at least 2.*got 1"),
    ],
)
def test_a_wrong_setting_is_one_clear_error(changes, message):
    with pytest.raises(ConfigurationError, match=message):
        plan(**changes)


def test_fit_is_off_where_lengths_are_unknown_and_refused_if_asked_for():
    unknown = {"env": "agentgym-test/UnknownLength-v0"}
    assert plan(**unknown).fit is False
    with pytest.raises(ConfigurationError, match=r"expert's plan lengths .* pass --no-fit"):
        plan("--fit", **unknown)


def test_an_unknown_split_is_one_clear_error():
    with pytest.raises(TaskNotFound, match="train, valid, test; got 'exam'"):
        plan(env_args="split=exam")


@pytest.mark.parametrize("preset", ["scalinginter", "grpo", "reinforce++"])
def test_presets_with_a_reference_policy_are_served(preset):
    assert plan(preset=preset).preset.needs == ("reference",)


def test_planning_needs_no_torch():
    """A typing error is answered at once, not after seconds of imports."""
    code = (
        "import sys, tests.toy; from trainers.cli import parse_config;"
        "from trainers.plan import make_plan;"
        f"make_plan(parse_config(['--env={TOY_ID}', '--eval.tasks=5']));"
        "sys.exit('torch' in sys.modules)"
    )
    import subprocess
    import sys

    assert subprocess.run([sys.executable, "-c", code], cwd=toy_runs.ROOT).returncode == 0


# -- environments that fail ------------------------------------------------------------------------


class Fussy(ToyEnv):
    def _act(self, action: str):
        raise {"boom": RuntimeError, "lost": TaskNotFound, "down": EnvFailure}[action]("why")


def test_a_guarded_environment_fails_in_one_way_only():
    env = GuardedEnv(Fussy())
    assert isinstance(env.base, TextEnv)
    for action, error in [("boom", EnvFailure), ("down", EnvFailure), ("lost", TaskNotFound)]:
        env.reset(seed=0)
        with pytest.raises(error, match="why"):
            env.step(action)


def test_a_guarded_environment_is_otherwise_the_same():
    plain, guarded = ToyEnv(), GuardedEnv(ToyEnv())
    assert plain.reset(seed=3) == guarded.reset(seed=3)
    assert plain.step("press red") == guarded.step("press red")


def test_errors_of_agentgym_pass_through_make_env():
    with pytest.raises(AgentGymError, match="grammar"):
        make_env(TOY_ID, {"grammar": "latin"})
    with pytest.raises(gymnasium.error.NameNotFound):
        make_env("agentgym-test/None-v0", {})


@pytest.mark.parametrize(
    ("asked", "rounds", "expert"),
    [
        ([], [5, 7, 9], "thinking"),
        (["size=2000"], [5, 7, 9], "thinking"),
        (["difficulty=medium", "size=1000"], [5, 10, 15], None),
        (["observation_mode=text"], [5, 10, 15], None),
        (["grammar=xml"], [5, 10, 15], None),
    ],
)
def test_defaults_fit_the_tasks_that_were_asked_for(asked, rounds, expert):
    arguments = ["--env", "webshop", *(["--env-args", *asked] if asked else [])]
    plan = make_plan(parse_config(arguments))
    assert plan.resolved()["rounds"] == rounds
    assert plan.env_kwargs.get("expert") == expert


@pytest.mark.parametrize(
    ("name", "asked", "rounds"),
    [
        ("alfworld", ["households_seed=1"], [10, 13, 16]),
        ("alfworld", ["difficulty=medium"], [10, 20, 30]),
        ("textworld", [], [5, 7, 9]),
        ("textworld", ["reward=dense"], [5, 7, 9]),
    ],
)
def test_other_families_have_defaults_of_their_own(name, asked, rounds):
    plan = make_plan(parse_config(["--env", name, *(["--env-args", *asked] if asked else [])]))
    assert plan.resolved()["rounds"] == rounds and plan.full_horizon == rounds[-1]
    assert plan.env_kwargs.get("expert") == ("searching" if name == "alfworld" else None)


def test_an_environment_that_is_not_text_is_called_so():
    with pytest.raises(ConfigurationError, match=r"TextEnv.*CartPoleEnv"):
        make_plan(parse_config(["--env", "CartPole-v1"]))


def test_a_horizon_that_shrinks_is_refused():
    with pytest.raises(ConfigurationError, match="grow from stage to stage"):
        make_plan(parse_config(["--env", "webshop", "--horizon", "10,5"]))


def test_an_environment_of_another_module_is_imported():
    plan = make_plan(parse_config(["--env", "tests.toy:agentgym-test/Toy-v0", "--eval.tasks", "9"]))
    assert plan.env_id == "agentgym-test/Toy-v0"
    with pytest.raises(ConfigurationError, match="can be imported"):
        make_plan(parse_config(["--env", "no.such.module:Toy-v0"]))

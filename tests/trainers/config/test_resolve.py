from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from agentgym.errors import ConfigurationError, TaskNotFound
from agentgym.registration import making
from agentgym.registration.making import list_envs
from tests.toy import TOY_ID
from tests.trainers import toy_runs
from trainers.algorithms.presets import PRESETS, runnable
from trainers.cli import parse_config
from trainers.config.family_defaults import FAMILY_DEFAULTS, FamilyDefaults
from trainers.config.resolve import resolve
from trainers.output.run_folder import RunFolder


def resolved(*flags: str, **changes):
    return resolve(toy_runs.config(Path("unused"), *flags, **changes))


@pytest.mark.parametrize("flags", [["--preset=ppo"], ["--model=some/model"]])
def test_nothing_is_left_open(flags: list[str]) -> None:
    config = resolve(parse_config(["--env=webshop", *flags])).config
    sections = [value for value in vars(config).values() if dataclasses.is_dataclass(value)]
    settings = {
        item.name: getattr(part, item.name)
        for part in (config, *sections)
        for item in dataclasses.fields(part)
        if "Open[" in str(item.type)
    }
    assert {"steps", "groups", "max_steps", "baselines", "updates"} <= set(settings)
    assert [name for name, value in settings.items() if value is None or value == "auto"] == []


def test_the_default_run_is_the_one_that_was_measured():
    """The numbers of README's tables: none may change by the way."""
    run = resolve(parse_config(["--env=webshop"]))
    config, rl = run.config, run.config.rl
    assert (config.horizon, config.steps, config.minutes) == ("9", 24, 0)
    assert (rl.groups, rl.num_generations, rl.minibatches, rl.num_iterations) == (12, 8, 1, 1)
    assert (rl.learning_rate, rl.invalid_penalty) == (1.2e-3, 0.05)
    memory = config.memory
    assert (memory.precision, memory.checkpointing, memory.micro_tokens) == ("fp32", "off", 2048)
    assert (rl.turn_tokens, rl.episode_tokens) == (18, 512)
    sft = config.sft
    assert (sft.learning_rate, sft.max_steps, sft.batch_size) == (6e-3, 1000, 8)
    assert (sft.target_success, sft.eval_every, sft.only_successes) == (0.25, 1000, True)
    assert (sft.demonstrations, sft.demonstrator) == (16_000, "expert")
    assert config.eval.baselines == ("bc", "filtered-bc")
    assert (config.eval.num_tasks, config.eval.horizon, config.fit_horizon) == (300, 9, True)


@pytest.mark.parametrize(
    ("flags", "rates", "steps", "minutes"),
    [
        (["--model=x"], (2e-4, 2e-5), 64, 0),
        (["--model=x", "--lora.r=0"], (1e-5, 1e-6), 64, 0),
        (["--steps=9"], (6e-3, 6e-4), 1600, 0),
    ],
)
def test_other_policies_have_defaults_of_their_own(flags, rates, steps, minutes):
    config = resolve(parse_config([f"--env={TOY_ID}", "--eval.num-tasks=10", *flags])).config
    assert ((config.sft.learning_rate, config.rl.learning_rate), config.sft.max_steps) == (
        rates,
        steps,
    )
    assert config.minutes == minutes


NONE_IS_A_CHOICE = {
    "agent",
    "agent_command",
    "chat_template",
    "distill.privileged",
    "distill.reward_weight",
    "distill.teacher",
    "distill.url",
    "distill.weight",
    "end_of_turn",
    "gateway.calls",
    "eval.baseline_steps",
    "horizon_gate",
    "preset_file",
    "push_to_hub",
    "rl.normalize",
    "rl.gamma",
    "rl.beta",
    "rl.entropy",
    "rl.epsilon",
    "rl.epsilon_high",
    "forks.rule",
    "forks.roots",
    "forks.copies",
    "forks.credit",
    "refill.groups",
    "critic.gae",
    "critic.lam",
    "critic.token_lam",
    "critic.token_gamma",
    "critic.targets",
    "critic.clip",
    "critic.weight",
    "reward_model.weight",
    "reward_model.beta",
    "reward_model.pays",
    "turn_critic.replay",
    "turn_critic.batch",
    "turn_critic.tau",
    "turn_critic.candidates",
    "turn_critic.pairs",
    "rl.aggregation",
    "rl.filters",
    "workers",
    "step_timeout",
    "window",
    "vllm.max_length",  # these are decided by policy and device
    "vllm.max_sequences",
    "async_rollouts.max_concurrent",
    "cross_policy.share",
    "cross_policy.every",
    "sglang.max_length",
    "sglang.max_sequences",
    "sglang.dtype",
    "sglang.folder",
    "sglang.url",
    "vllm.memory",
    "vllm.dtype",
    "vllm.eager",
    "vllm.folder",
    "vllm.url",
}
"""Settings whose None is not filled in: no gate, hub or limit, all turns, a preset's parts, what
suits others."""


def open_settings(part: Any, prefix: str = "") -> set[str]:
    """Settings that are None."""
    names = set()
    for item in dataclasses.fields(part):
        value, name = getattr(part, item.name), f"{prefix}{item.name}"
        if dataclasses.is_dataclass(value):
            names |= open_settings(value, f"{name}.")
        elif value is None:
            names.add(name)
    return names


@pytest.mark.parametrize("model", ["tiny", "some/model"])
def test_a_plan_leaves_no_setting_open_and_keeps_what_it_filled_in(model):
    config = parse_config([f"--env={TOY_ID}", f"--model={model}"])
    run = resolve(config)
    assert open_settings(run.config) == NONE_IS_A_CHOICE
    filled = flat(run.resolved())
    assert open_settings(config) - {"out"} - NONE_IS_A_CHOICE <= set(filled)
    assert filled["rl.learning_rate"] == run.config.rl.learning_rate


def flat(values: Any, prefix: str = "") -> dict[str, Any]:
    """Nested mappings under names such as ``rl.learning_rate``."""
    settings: dict[str, Any] = {}
    for name, value in values.items():
        nested = isinstance(value, dict)
        settings |= flat(value, f"{prefix}{name}.") if nested else {f"{prefix}{name}": value}
    return settings


def test_vllm_generates_where_a_gpu_and_a_pretrained_model_are(monkeypatch):
    import importlib.util

    import torch

    def engine(*flags: str) -> str:
        return resolve(parse_config([f"--env={TOY_ID}", *flags])).config.engine

    pretrained = "--model=some/model"
    assert engine(pretrained) == "hf", "there is no GPU"
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda: True)
    for installed, expected in ((True, "vllm"), (False, "hf")):
        spec = find_spec("torch") if installed else None
        monkeypatch.setattr(
            importlib.util,
            "find_spec",
            lambda name, *args, spec=spec: spec if name == "vllm" else find_spec(name, *args),
        )
        assert engine(pretrained) == expected
    assert engine() == engine(pretrained, "--engine=hf") == "hf"


def test_a_run_is_resumed_by_asking_for_what_was_decided(tmp_path):
    """Another machine may decide otherwise, such as on the engine."""
    config = toy_runs.config(tmp_path)
    assert config.engine is None
    RunFolder.open(tmp_path, config, resolve(config).resolved()).close()
    for engine in ("hf", "hf-copy"):
        resumed = dataclasses.replace(config, resume=True, engine=engine)
        if engine == "hf":
            RunFolder.open(tmp_path, resumed, resolve(resumed).resolved()).close()
        else:
            with pytest.raises(ConfigurationError, match="engine was None and is hf-copy"):
                RunFolder.open(tmp_path, resumed, resolve(resumed).resolved())


def test_a_run_is_not_resumed_with_another_default(tmp_path, monkeypatch):
    config = toy_runs.config(tmp_path, sft__learning_rate=None)
    RunFolder.open(tmp_path, config, resolve(config).resolved()).close()
    resumed = dataclasses.replace(config, resume=True)
    RunFolder.open(tmp_path, resumed, resolve(resumed).resolved()).close()
    family = resolve(config).envs[0].family
    monkeypatch.setitem(FAMILY_DEFAULTS, family, FamilyDefaults(sft_learning_rate=7e-3))
    with pytest.raises(
        ConfigurationError, match=r"resolved.sft.learning_rate was 0.006 and is 0.007"
    ):
        RunFolder.open(tmp_path, resumed, resolve(resumed).resolved())


def test_a_plan_has_every_default_filled_in():
    run = resolve(parse_config([f"--env={TOY_ID}", "--eval.num-tasks=10"]))
    assert (run.envs[0].family, run.envs[0].env_id) == ("toy", TOY_ID)
    assert (run.envs[0].rounds, run.config.horizon_every, run.config.steps) == (
        (5, 8, 10),
        40,
        150,
    )
    assert run.config.fit_horizon is True
    assert run.preset.name == "turn-loo"
    assert run.config.out == Path("runs/toy-tiny-seed0")
    assert run.envs[0].kwargs == {"horizon": 10}


def test_evaluation_takes_the_whole_test_split_if_it_is_small_and_the_gate_is_the_family_s():
    run = resolve(parse_config([f"--env={TOY_ID}"]))
    assert (run.config.eval.num_tasks, run.config.sft.target_success) == (200, 0.45)
    assert (
        resolve(
            parse_config([f"--env={TOY_ID}", "--sft.target-success=0"])
        ).config.sft.target_success
        == 0
    )


def test_the_command_line_goes_before_the_defaults():
    run = resolved("--no-fit-horizon", horizon="4", steps=7, env_kwargs="horizon=20", preset="rloo")
    assert (run.envs[0].rounds, run.config.eval.horizon, run.config.steps) == ((4,), 4, 7)
    assert (run.config.fit_horizon, run.preset.name) == (False, "rloo")
    assert run.envs[0].make_env().default_horizon == 20
    assert run.envs[0].make_env(expose_oracle=True).expose_oracle


def test_evaluation_is_at_the_last_round_unless_told_otherwise():
    assert resolved(horizon="3,4,6").config.eval.horizon == 6
    run = resolved(horizon="3", eval__horizon=8)
    assert (run.config.eval.horizon, run.envs[0].make_env().default_horizon) == (8, 8)


@pytest.mark.parametrize("name", ["webshop", "WebShop-v0", "agentgym/WebShop-v0"])
def test_a_family_is_known_by_its_names_and_brings_its_defaults(name):
    run = resolve(
        parse_config([f"--env={name}", "--env-kwargs", "size=200", "--eval.num-tasks=10"])
    )
    tasks = making.resolve("webshop:easy").kwargs
    assert (run.envs[0].family, run.envs[0].env_id) == ("webshop", "agentgym/WebShop-v0")
    assert run.envs[0].rounds == (tasks["horizon"],)
    assert run.envs[0].kwargs == {**tasks, "expert": "lazy", "size": 200}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"env": "webshopp"},
            rf"an environment \({', '.join(list_envs())}\), got 'webshopp'",
        ),
        ({"env": "agentgym/Nope-v0"}, r"name of an environment .*got 'agentgym/Nope-v0'"),
        ({"env": "CartPole-v1"}, "environment of text .*got CartPoleEnv"),
        ({"env": "agentgym-test/Foreign-v0"}, "environment of text .*got ForeignEnv"),
        ({"env_kwargs": "colour=red"}, "arguments of ToyEnv among .*got 'colour'"),
        ({"env_kwargs": "horizon=no"}, "horizon to be an integer.*got 'no'"),
        ({"env_kwargs": "colour"}, "name=value.*got 'colour'"),
        ({"preset": "grpoo"}, "preset of .*grpo.*got 'grpoo'"),
        ({"preset": "erpo"}, "'erpo' needs judge .*choose another preset"),
        ({"horizon": "5,x"}, "turn budgets such as .*got '5,x'; give positive integers"),
        ({"horizon": ""}, "turn budgets such as .*got ''; give positive integers"),
        ({"horizon": "0"}, "turn budgets such as .*got '0'; give positive integers"),
        ({"horizon": "-3"}, "turn budgets such as .*got '-3'; give positive integers"),
        ({"horizon": "1,5"}, "within 1 turns, but found none.*start --horizon higher"),
        ({"eval__num_tasks": 201}, "--eval.num-tasks of at most 200.*test split of toy; got 201"),
        ({"rl__num_generations": 1}, "--rl.num-generations to be at least 2.*got 1"),
    ],
)
def test_a_wrong_setting_is_one_clear_error(changes, message):
    with pytest.raises(ConfigurationError, match=message):
        resolved(**changes)


def test_fit_is_off_where_lengths_are_unknown_and_refused_if_asked_for():
    unknown = {"env": "agentgym-test/UnknownLength-v0"}
    assert resolved(**unknown).config.fit_horizon is False
    with pytest.raises(ConfigurationError, match=r"expert's plan lengths .* pass --no-fit-horizon"):
        resolved("--fit-horizon", **unknown)


def test_an_unknown_split_is_one_clear_error():
    with pytest.raises(TaskNotFound, match="train, valid, test; got 'exam'"):
        resolved(env_kwargs="split=exam")


@pytest.mark.parametrize("preset", ["scalinginter", "grpo", "reinforce++"])
def test_presets_with_a_reference_policy_are_served(preset):
    assert resolved(preset=preset).preset.needs == ("reference",)


def test_planning_needs_no_torch():
    """A typing error is answered at once, not after seconds of imports."""
    code = (
        "import sys, tests.toy; from trainers.cli import parse_config;"
        "from trainers.config.resolve import resolve;"
        f"resolve(parse_config(['--env={TOY_ID}', '--eval.num-tasks=5']));"
        "sys.exit('torch' in sys.modules)"
    )
    import subprocess
    import sys

    assert subprocess.run([sys.executable, "-c", code], cwd=toy_runs.ROOT).returncode == 0


@pytest.mark.parametrize(
    ("env_kwargs", "rounds", "expert"),
    [
        ([], [9], "lazy"),
        (["size=4000"], [9], "lazy"),
        (["difficulty=medium", "size=1000"], [5, 10, 15], None),
        (["observation_mode=text"], [5, 10, 15], None),
        (["grammar=xml"], [5, 10, 15], None),
    ],
)
def test_defaults_fit_the_tasks_that_were_asked_for(env_kwargs, rounds, expert):
    arguments = ["--env", "webshop", *(["--env-kwargs", *env_kwargs] if env_kwargs else [])]
    run = resolve(parse_config(arguments))
    assert run.resolved()["rounds"] == rounds
    assert run.envs[0].kwargs.get("expert") == expert


@pytest.mark.parametrize(
    ("name", "env_kwargs", "rounds", "expert", "fit"),
    [
        ("alfworld", ["generator_seed=1"], [8], "trusting", False),
        ("alfworld", ["difficulty=medium"], [10, 20, 30], "searching", True),
        ("mathpython", ["generator_seed=1"], [3], "lazy", False),
        ("mathpython", ["difficulty=medium"], [3, 5], None, True),
        ("search", [], [4], "hasty", False),
        ("search", ["difficulty=medium", "size=300"], [3, 4, 6], None, True),
        ("textcraft", ["generator_seed=1"], [4], "guessing", False),
        ("textcraft", ["distractors=2"], [10, 20, 30], None, True),
        ("textworld", [], [5], "guessing", False),
        ("textworld", ["reward=dense"], [5], "guessing", False),
        ("textworld", ["difficulty=w2-o3-q4"], [8, 16, 24], None, True),
    ],
)
def test_other_families_have_defaults_of_their_own(name, env_kwargs, rounds, expert, fit):
    run = resolve(
        parse_config(["--env", name, *(["--env-kwargs", *env_kwargs] if env_kwargs else [])])
    )
    assert run.resolved()["rounds"] == rounds and run.config.eval.horizon == rounds[-1]
    assert run.envs[0].kwargs.get("expert") == expert
    assert run.config.fit_horizon is fit


@pytest.mark.parametrize("flag", ["--fit-horizon", "--no-fit-horizon"])
def test_which_tasks_a_stage_draws_is_for_the_user_to_say(flag):
    for name in ("alfworld", "search"):
        config = resolve(parse_config(["--env", name, "--horizon", "16", flag])).config
        assert config.fit_horizon is (flag == "--fit-horizon")


def test_an_environment_that_is_not_text_is_called_so():
    with pytest.raises(ConfigurationError, match=r"TextEnv.*CartPoleEnv"):
        resolve(parse_config(["--env", "CartPole-v1"]))


def test_a_horizon_that_shrinks_is_refused():
    with pytest.raises(ConfigurationError, match="grow from stage to stage"):
        resolve(parse_config(["--env", "webshop", "--horizon", "10,5"]))


def test_an_environment_of_another_module_is_imported():
    run = resolve(
        parse_config(["--env", "tests.toy:agentgym-test/Toy-v0", "--eval.num-tasks", "9"])
    )
    assert run.envs[0].env_id == "agentgym-test/Toy-v0"
    with pytest.raises(ConfigurationError, match="can be imported"):
        resolve(parse_config(["--env", "no.such.module:Toy-v0"]))


# -- presets: a flag, else the preset, else the family ------------------------------------------


def test_a_preset_goes_before_the_family_and_after_the_flags():
    run = resolved(
        preset="scalinginter",
        horizon=None,
        horizon_every=None,
        steps=None,
        rl__num_generations=None,
    )
    assert (run.envs[0].rounds, run.config.horizon_every) == ((5, 8, 10), 100)
    assert (run.config.steps, run.config.eval.horizon, run.config.rl.num_generations) == (
        300,
        10,
        8,
    )
    run = resolved(
        preset="scalinginter", horizon="3,4", horizon_every=7, steps=5, rl__num_generations=2
    )
    assert (run.envs[0].rounds, run.config.horizon_every, run.config.steps) == ((3, 4), 7, 5)
    assert (run.config.eval.horizon, run.config.rl.num_generations) == (4, 2)
    run = resolved(preset="scalinginter", horizon="3,4", horizon_every=None, steps=None)
    assert (run.envs[0].rounds, run.config.horizon_every) == ((3, 4), 100)


@pytest.mark.parametrize("name", runnable())
def test_a_preset_runs_with_the_paper_s_sizes(name):
    preset = PRESETS[name]
    rl = resolved(preset=name, rl__groups=None, rl__num_generations=None).config.rl
    assert rl.num_generations == (preset.num_generations or 8)
    assert rl.groups == (preset.groups or 16)
    assert (rl.minibatches, rl.num_iterations) == (preset.minibatches, preset.num_iterations)
    assert rl.groups * rl.num_generations % rl.minibatches == 0


def test_flags_decide_on_the_updates():
    rl = resolved(preset="cispo", rl__minibatches=4, rl__num_iterations=3).config.rl
    assert (rl.minibatches, rl.num_iterations) == (4, 3)
    assert resolved(preset="cispo", rl__minibatches=4, rl__num_iterations=3).config.rl.updates == 12
    small = resolved(preset="cispo", rl__groups=3, rl__num_generations=4).config.rl
    assert small.minibatches == 12, "of 12 episodes a preset makes no 16 parts"
    with pytest.raises(ConfigurationError, match=r"--rl.minibatches to divide .* = 16, got 5"):
        resolved(preset="cispo", rl__minibatches=5)


def test_default_rounds_do_not_exceed_the_environments_horizon_and_flags_may():
    run = resolved(preset="scalinginter", horizon=None, env_kwargs="horizon=6")
    assert (run.envs[0].rounds, run.config.eval.horizon) == ((5, 6), 6)
    assert resolved(horizon=None, env_kwargs="horizon=6").envs[0].rounds == (5, 6)
    assert resolved(horizon="3,7", env_kwargs="horizon=6").envs[0].rounds == (3, 7)


def test_groups_of_one_are_for_presets_that_compare_no_episodes_of_a_task():
    assert resolved(preset="reinforce++", rl__num_generations=None).config.rl.num_generations == 1
    with pytest.raises(ConfigurationError, match="preset 'cispo' compares the episodes of a task"):
        resolved(preset="cispo", rl__num_generations=1)
    with pytest.raises(ConfigurationError, match="at least 2 episodes per step"):
        resolved(preset="reinforce++", rl__num_generations=1, rl__groups=1)


@pytest.mark.parametrize(
    ("preset", "flag", "hook", "correction"),
    [
        ("turn-loo", None, [0.05], None),
        ("turn-loo", 0.2, [0.2], None),
        ("turn-loo", 0, [], None),
        ("gigpo", None, [], 0.1),
        ("gigpo", 0.2, [], 0.2),
        ("gigpo", 0, [], 0),
    ],
)
def test_an_invalid_turn_is_charged_once(preset, flag, hook, correction):
    run = resolved(preset=preset, rl__invalid_penalty=flag)
    charges = [h.penalty for h in run.envs[0].make_hooks() if h.name == "invalid_action"]
    assert charges == hook
    assert run.preset.invalid_penalty == correction


# -- environments without an expert --------------------------------------------------------------


def test_an_environment_without_an_expert_is_trained_without_demonstrations():
    assert resolved().envs[0].has_expert
    lonely = {"env": "agentgym-test/NoExpert-v0", "sft__max_steps": None}
    run = resolved(**lonely)
    assert not run.envs[0].has_expert
    assert (run.config.fit_horizon, run.config.sft.max_steps) == (False, 0)
    assert resolved(**lonely | {"sft__max_steps": 0}).config.sft.max_steps == 0
    with pytest.raises(
        ConfigurationError, match=r"--sft.max-steps 0, because noexpert has no expert"
    ):
        resolved(**lonely | {"sft__max_steps": 9})
    with pytest.raises(ConfigurationError, match=r"lengths are known.*pass --no-fit-horizon"):
        resolved("--fit-horizon", **lonely)


@pytest.mark.parametrize("env", [toy_runs.FLAKY_ID, toy_runs.BROKEN_ID])
def test_a_failing_start_does_not_hide_an_expert(env):
    assert resolved(env=env).envs[0].has_expert

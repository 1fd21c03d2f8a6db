"""Defaults of pretrained models: of any tasks, of a family's training set, and with ``--quick``."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentgym.errors import ConfigurationError
from agentgym.registration import family
from tests.toy import TOY_ID
from tests.trainers.config.model_files.tiny_gguf import write_gguf
from trainers.cli import parse_config
from trainers.config import model_choices
from trainers.config.command import read_flags
from trainers.config.describe import settings_rows
from trainers.config.family_defaults import (
    QUICK_SETS,
    TRAINING_SETS,
    FamilyDefaults,
    defaults_for,
    general_defaults,
)
from trainers.config.layers import DEFAULT, FAMILY, FLAG, QUICK
from trainers.config.resolve import ResolvedRun, resolve

MODEL = "some/model"
BILLION = 1_000_000_000


def resolved(*flags: str, model: str = MODEL) -> ResolvedRun:
    return resolve(parse_config([f"--model={model}", *flags]))


def sources_of(*flags: str) -> dict[str, str]:
    argv = [f"--model={MODEL}", *flags]
    config = parse_config(argv)
    rows = settings_rows(config, resolve(config), read_flags(argv, "agentgym-train"))
    return {row.name: row.source for row in rows}


@pytest.mark.parametrize("name", QUICK_SETS)
def test_quick_sizes_of_every_family_begin_with_a_warm_start(name: str) -> None:
    sizes = QUICK_SETS[name]
    run = resolved(f"--env={name}", "--quick")
    config = run.config
    assert config.sft.max_steps == config.sft.eval_every == sizes["sft_steps"]
    assert (config.steps, config.eval.num_tasks) == (sizes["steps"], sizes["eval_tasks"])
    assert (config.rl.turn_tokens, config.rl.episode_tokens) == (
        sizes["turn_tokens"],
        sizes["episode_tokens"],
    )
    assert config.rl.warmup_steps == sizes["warmup_steps"] < config.steps
    assert config.prompt == run.envs[0].prompt == "bare"
    training_set = family(name).training_set
    assert run.envs[0].kwargs.get("expert", "") == training_set.demonstrator
    assert config.horizon == str(training_set.kwargs["horizon"])


@pytest.mark.parametrize("name", ["mathpython", "database"])
def test_the_demonstrators_actions_fit_the_quick_limits(name: str) -> None:
    run = resolved(f"--env={name}", "--quick")
    env = run.envs[0].make_env()
    letters = 0
    for index in range(20):
        env.reset(seed=index, options={"split": "train", "index": index})
        while (action := env.demonstrator_action()) is not None:
            letters = max(letters, len(action))
            if any(env.step(action)[2:4]):
                break
    env.close()
    assert 0 < letters < 4 * run.config.rl.turn_tokens, "some four letters a token"


def test_flags_win_and_sources_are_named() -> None:
    sources = sources_of("--env=mathpython", "--quick", "--steps=3")
    assert sources["steps"] == FLAG
    assert sources["sft.max_steps"] == sources["rl.turn_tokens"] == sources["prompt"] == QUICK
    assert sources["sft.only_successes"] == FAMILY
    assert sources["sft.batch_size"] == sources["sft.learning_rate"] == DEFAULT
    usual = sources_of("--env=mathpython")
    assert usual["rl.turn_tokens"] == FAMILY and usual["prompt"] == usual["steps"] == DEFAULT


def test_other_tasks_keep_the_sizes_of_the_family() -> None:
    hard = resolved("--env=webshop", "--env-kwargs", "difficulty=hard").config
    assert (hard.horizon, hard.steps, hard.rl.groups) == ("5,10,15", 150, 16)
    assert (hard.rl.turn_tokens, hard.rl.episode_tokens, hard.prompt) == (256, 4096, "default")
    with pytest.raises(ConfigurationError, match="with a pretrained model only with the default"):
        resolved("--env=webshop", "--env-kwargs", "difficulty=hard", "--quick")
    with pytest.raises(ConfigurationError, match="mathpython"):
        resolved(f"--env={TOY_ID}", "--quick")


def test_a_grammar_with_thoughts_gets_the_tokens_of_any_tasks() -> None:
    short, long = (
        resolved("--env=textworld", "--quick", *flags).config.rl
        for flags in ([], ["--env-kwargs", "grammar=react"])
    )
    assert short.turn_tokens == QUICK_SETS["textworld"]["turn_tokens"]
    assert (long.turn_tokens, long.episode_tokens) == (256, 4096)


def test_a_grammar_does_not_change_the_tasks_of_a_pretrained_model() -> None:
    native, react = (
        resolved("--env=database", f"--grammar={name}") for name in ("native", "react")
    )
    assert react.envs[0].kwargs["difficulty"] == native.envs[0].kwargs["difficulty"] == "easy"
    assert react.config.steps == native.config.steps
    assert react.config.rl.turn_tokens == 256 > native.config.rl.turn_tokens


@pytest.mark.parametrize(
    ("weights", "flags", "rates"),
    [
        (BILLION // 8, [], (5e-4, 2e-4)),
        (8 * BILLION, [], (2e-4, 2e-5)),
        (0, [], (2e-4, 2e-5)),
        (BILLION // 8, ["--lora.r=0"], (1e-5, 1e-6)),
    ],
)
def test_rates_follow_what_is_trained(
    monkeypatch: pytest.MonkeyPatch, weights: int, flags: list[str], rates: tuple[float, float]
) -> None:
    monkeypatch.setattr(model_choices, "_count_weights", lambda model: weights)
    config = resolved("--env=mathpython", *flags).config
    assert (config.sft.learning_rate, config.rl.learning_rate) == rates


def test_a_familys_rate_is_for_adapters_of_small_models(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(
        QUICK_SETS,
        "mathpython",
        {**QUICK_SETS["mathpython"], "rl_learning_rate": 3e-4},
    )
    monkeypatch.setattr(model_choices, "_count_weights", lambda model: BILLION // 8)
    small, full_model = (
        resolved("--env=mathpython", "--quick", *flags).config.rl for flags in ([], ["--lora.r=0"])
    )
    assert (small.learning_rate, full_model.learning_rate) == (3e-4, 1e-6)


def test_weights_are_counted(small_model: Path) -> None:
    config = resolved("--env=mathpython", model=str(small_model)).config
    assert (config.sft.learning_rate, config.rl.learning_rate) == (5e-4, 2e-4)


def test_what_the_tables_hold_are_fields_of_the_defaults() -> None:
    names = set(FamilyDefaults.__dataclass_fields__)
    assert all(set(sizes) <= names for sizes in (*TRAINING_SETS.values(), *QUICK_SETS.values()))
    assert general_defaults(pretrained=True).steps == defaults_for("x", {}, pretrained=True).steps
    assert (
        defaults_for("mathpython", {}).steps
        != defaults_for("mathpython", {}, pretrained=True).steps
    )


def test_a_file_is_counted_before_its_conversion_as_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTGYM_CACHE", str(tmp_path / "cache"))
    model = str(write_gguf(tmp_path / "small.gguf"))
    rates = [resolved("--env=mathpython", model=model).config.rl.learning_rate]
    model_choices._count_weights.cache_clear()
    rates += [resolved("--env=mathpython", model=model).config.rl.learning_rate]
    assert rates == [2e-4, 2e-4]

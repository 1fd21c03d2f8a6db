"""Flags for single parts of a preset, and presets from a file: each acts, or says why not."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

from agentgym.errors import ConfigurationError
from agentgym.trust import trusting
from tests.trainers import toy_runs
from tests.trainers.toy_runs import equal
from trainers.algorithms.advantage import Term
from trainers.algorithms.filters import HarnessEndings, TopVariance
from trainers.algorithms.preset import PARTS, Preset
from trainers.algorithms.presets import PRESETS
from trainers.algorithms.signals import KLToGo, RewardToGo
from trainers.cli import main
from trainers.config.resolve import resolve

QUICK: dict[str, Any] = {
    "steps": 2, "horizon_every": None, "sft__max_steps": 20, "eval__every": 0, "eval__num_tasks": 4,
    "horizon": "3", "rl__minibatches": 2,
}  # fmt: skip
HOUSE = PRESETS["turn-loo"]
(CREDIT,) = HOUSE.terms
KNOBS: dict[str, tuple[list[str], Preset]] = {
    "gamma": (
        ["--rl.gamma=0.5"], replace(HOUSE, terms=(replace(CREDIT, signal=RewardToGo(0.5)),))
    ),
    "beta": (["--rl.beta=0.5"], replace(HOUSE, loss=replace(HOUSE.loss, kl_beta=0.5))),
    "entropy": (["--rl.entropy=0.1"], replace(HOUSE, loss=replace(HOUSE.loss, entropy=0.1))),
    "epsilon": (["--rl.epsilon=0"], replace(HOUSE, loss=replace(HOUSE.loss, low=0.0))),
    "epsilon-high": (["--rl.epsilon-high=0"], replace(HOUSE, loss=replace(HOUSE.loss, high=0.0))),
    "aggregation": (
        ["--rl.aggregation=seq-mean-token-sum"],
        replace(HOUSE, loss=replace(HOUSE.loss, aggregation="seq-mean-token-sum")),
    ),
    "filters": (
        ["--rl.filters", "harness-endings", "--rl.filters", "top-variance"],
        replace(HOUSE, filters=(HarnessEndings(), TopVariance())),
    ),
}  # fmt: skip


def resolved(*flags: str, **changes: Any) -> Preset:
    """The parts that a command line comes to."""
    return resolve(toy_runs.config(Path("unused"), *flags, **changes)).preset


def parts(preset: Preset) -> dict[str, Any]:
    """What decides the gradient, with the price of invalid turns that every run has."""
    return preset.with_invalid_penalty(0.05).described()


trained = partial(toy_runs.train_weights, **QUICK)


@pytest.fixture(scope="module")
def plain_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, torch.Tensor]]:
    """The same run without any flag of these, and its weights."""
    out = tmp_path_factory.mktemp("plain") / "run"
    return out, trained(out)


@pytest.mark.parametrize("knob", KNOBS)
def test_a_flag_is_the_part_that_it_names(knob):
    flags, preset = KNOBS[knob]
    assert parts(resolved(*flags)) == parts(preset) != parts(HOUSE)
    assert resolved(*flags).needs == preset.needs == (("reference",) if knob == "beta" else ())


@pytest.mark.slow
@pytest.mark.parametrize("knob", KNOBS)
def test_a_flag_changes_the_weights_of_two_steps(knob, plain_run, tmp_path):
    start, weights = plain_run
    assert not equal(trained(tmp_path / "run", *KNOBS[knob][0], start=start), weights)


@pytest.mark.slow
def test_flags_and_a_file_of_the_same_parts_train_alike_to_the_last_bit(tmp_path, plain_run):
    flags = ["--rl.gamma=0.5", "--rl.entropy=0.1", "--rl.epsilon-high=0.1", "--rl.filters=none"]
    by_flags = trained(tmp_path / "flags", *flags, start=plain_run[0])
    config = yaml.safe_load((tmp_path / "flags" / "config.yaml").read_text())
    assert config["rl"]["filters"] == [] and config["rl"]["gamma"] == 0.5
    file = tmp_path / "own.yaml"
    file.write_text(yaml.safe_dump(config["resolved"]["preset_parts"]))
    by_file = trained(tmp_path / "file", f"--preset-file={file}", start=plain_run[0])
    assert equal(by_flags, by_file) and not equal(by_flags, plain_run[1])
    assert toy_runs.summary(tmp_path / "file")["preset"] == "own"
    assert main(["--resume", f"--out={tmp_path / 'file'}", "--steps=3"]) == 0
    file.write_text("filters: [{part: TopVariance}]")
    assert main(["--resume", f"--out={tmp_path / 'file'}", "--steps=4"]) == 2


@pytest.mark.slow
def test_dpo_learns_from_pairs_of_episodes(plain_run, tmp_path):
    """How strongly it prefers, and that it does at all, decides the weights."""
    policies = [plain_run[1], trained(tmp_path / "dpo", "--preset=dpo", start=plain_run[0])]
    file = tmp_path / "own.yaml"
    for signal in ("Preference, nll: 0, beta: 2", "EpisodeReturn"):
        file.write_text(f"terms: [{{part: Term, signal: {{part: {signal}}}}}]")
        flags = ["--preset=dpo", f"--preset-file={file}"]
        policies.append(trained(tmp_path / signal[:5], *flags, start=plain_run[0]))
    assert not any(equal(*pair) for pair in combinations(policies, 2))


def test_a_penalty_in_the_rewards_stays_there():
    changed = resolved("--rl.beta=0.2", preset="reinforce++")
    assert changed.terms == (Term(RewardToGo()), Term(KLToGo(), weight=-0.2))
    assert changed.loss.kl_beta == 0 and changed.needs == ("reference",)
    assert resolved("--rl.beta=0", preset="reinforce++").needs == ()


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_comes_back_from_its_file(name, tmp_path):
    file = tmp_path / "own.yaml"
    file.write_text(yaml.safe_dump(PRESETS[name].described()))
    from trainers.config.preset_file import with_parts_of

    preset = with_parts_of(replace(HOUSE, shapers=()), file)
    assert {part: getattr(preset, part) for part in PARTS} == {
        part: getattr(PRESETS[name], part) for part in PARTS
    }
    assert (preset.name, preset.arxiv) == ("own", None)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("[]", "to hold settings"),
        ("term: []", "got 'term' (did you mean 'terms'?)"),
        ("terms: {part: Term}", "expected a list of parts as terms"),
        ("terms: [{part: Loss}]", "expected a part as terms[0] (part: Term, or MODULE:NAME"),
        ("terms: [{part: Term}]", "expected terms[0].signal, got none"),
        ("terms: [{part: Term, signal: 3}]", "expected a part as terms[0].signal"),
        ("terms: [{part: Term, signal: {part: RewardToGo, gamma: .nan}}]", "to be finite, got nan"),
        (
            "terms: [{part: Term, signal: {part: StepReward}, center: us}]",
            "to be 'group', 'tree', 'state'",
        ),
        ("loss: {part: Loss, lo: 1}", "got 'lo' (did you mean 'low'?)"),
        ("loss: {part: Loss, low: 3}", "expected 0 <= low <= 1"),
        ("loss: {part: Loss, clip: hard}", "'ppo', 'cispo', 'dppo' or 'none', got 'hard'"),
        ("filters: [{part: 'no_module:Filter'}]", "a module that can be imported"),
    ],
)
def test_a_file_of_parts_is_refused_in_one_sentence(content, sentence, tmp_path):
    file = tmp_path / "own.yaml"
    file.write_text(content)
    with trusting("part=no_module:Filter"), pytest.raises(ConfigurationError) as refused:
        resolved(f"--preset-file={file}")
    assert sentence in str(refused.value) and "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (["--rl.gamma=0.9", "--preset=rloo"], "because 'rloo' compares whole returns"),
        (["--rl.gamma=1.5"], "expected --rl.gamma to be at most 1"),
        (["--rl.beta=-1"], "expected --rl.beta to be at least 0"),
        (["--rl.filters=zero"], "to be 'none', 'zero-variance'"),
        (["--rl.filters=no_module:FILTER"], "a module that can be imported"),
    ],
)
def test_what_a_preset_does_not_have_is_refused(flags, sentence):
    knob_flags = [flag for flag in flags if not flag.startswith("--preset")]
    preset = next((flag.partition("=")[2] for flag in flags if flag.startswith("--preset")), None)
    with pytest.raises(ConfigurationError, match=sentence.replace("(", "\\(")):
        resolved(*knob_flags, **({"preset": preset} if preset else {}))

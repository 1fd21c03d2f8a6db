"""From words of a command line to settings."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from agentgym.errors import ConfigurationError
from agentgym.support.flag_hints import synonyms
from agentgym.support.flag_parsing import known_flags
from tests.toy import TOY_ID
from tests.trainers import toy_runs
from trainers.cli import parse_config
from trainers.config.command import train_flags

LATE = ("torch", "transformers", "trl", "datasets")
"""What takes seconds to import."""


def test_a_flag_is_the_setting_of_its_name() -> None:
    config = parse_config(
        ["--env=webshop", "--rl.learning_rate", "1e-3", "--steps=3", "--steps", "4", "--quick",
         "--reward-hooks", "repeat", "turn_cost=0.01", "--reward-hooks=potential",
         "--eval.greedy", "--sft.no-only-successes", "--rl.filters", "--vllm.no-seeded"]
    )  # fmt: skip
    assert (config.rl.learning_rate, config.steps, config.quick) == (1e-3, 4, True)
    assert config.reward_hooks == ("repeat", "turn_cost=0.01", "potential")
    assert (config.eval.greedy, config.sft.only_successes, config.vllm.seeded) == (
        True,
        False,
        False,
    )
    assert config.rl.filters == () and config.refill.groups is None


@pytest.mark.parametrize(
    "argv", [["webshop", "alfworld", "--quick"], ["--quick", "--env", "webshop,alfworld"]]
)
def test_environments_need_no_flag(argv: list[str]) -> None:
    config = parse_config(argv)
    assert (config.env, config.quick) == ("webshop,alfworld", True)


@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        (["--steps=many"], "expected --steps to be a whole number, got many"),
        (["--steps=1.5"], "expected --steps to be a whole number, got 1.5"),
        (["--rl.learning-rate=fast"], "expected --rl.learning-rate to be a number, got fast"),
        (["--steps"], "expected a value after --steps (INT), got none"),
        (["--steps", "1", "2", "--env=x"], "got webshop 2 and --env x; leave out one of them"),
        (["--quick=maybe"], "expected --quick to be True or False, got 'maybe'"),
        (["--report-to", "paper"], "expected --report-to to be 'none', 'tensorboard'"),
        (["--max-steps=3"], "got --max-steps: here it is --steps or --sft.max-steps"),
        (["--rl.grups=3"], "got --rl.grups: did you mean --rl.groups or "),
    ],
)
def test_what_cannot_be_read_is_one_sentence(flags: list[str], reason: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        parse_config(["webshop", *flags])
    assert reason in str(caught.value)


@pytest.mark.parametrize("argv", [[], ["--seed", "1"]])
def test_without_an_environment_the_sentence_says_what_lists_them(argv: list[str]) -> None:
    with pytest.raises(ConfigurationError, match=r"such as webshop \(agentgym list shows all\)"):
        parse_config(argv)


def test_words_of_trl_have_a_flag_here() -> None:
    flags = known_flags(train_flags())
    for word in (
        "learning-rate", "num-generations", "beta", "output-dir", "max-steps", "eval-steps",
        "per-device-train-batch-size", "save-steps", "loss-type", "num-iterations", "epsilon",
    ):  # fmt: skip
        assert f"--{word}" not in flags
        assert any(f"--{flag}" in flags for flag in synonyms()[word])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        ([], "expected --out to hold no other run"),
        (["--rl.groups=-1"], "expected --rl.groups to be at least 1"),
        (["--out=other", "--preset=nope"], "expected a preset of"),
        (["--seeds", "0", "1"], "expected --out to be empty or a folder of several seeds"),
    ],
)
def test_what_is_refused_is_refused_before_torch_is_imported(
    tmp_path: Path, flags: list[str], reason: str
) -> None:
    (tmp_path / "config.yaml").write_text(f"env: {TOY_ID}\n")
    argv = ["--env", TOY_ID, "--out", str(tmp_path), *flags]
    code = (
        "import json, sys; from trainers.cli import main; code = main(json.loads(sys.argv[1])); "
        f"print(code, [name for name in {LATE!r} if name in sys.modules])"
    )
    process = subprocess.run(
        [sys.executable, "-c", code, json.dumps(argv)], cwd=toy_runs.ROOT,
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert reason in process.stderr
    assert process.stdout.split("\n")[0] == "2 []"

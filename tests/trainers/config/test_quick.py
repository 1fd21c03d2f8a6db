"""``--quick``: the small sizes of a family, for a first look."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentgym.errors import ConfigurationError
from agentgym.registration import family
from tests.toy import TOY_ID
from trainers.cli import main, parse_config
from trainers.config.family_defaults import FAMILY_DEFAULTS
from trainers.config.resolve import default_out, resolve
from trainers.phases.multirun.seed_flags import SeedFlags
from trainers.phases.multirun.seeds import describe_seeds


def test_it_takes_the_sizes_of_the_family_and_flags_win() -> None:
    quick, full = (resolve(parse_config(["--env=webshop", *flag])) for flag in (["--quick"], []))
    small = FAMILY_DEFAULTS["webshop"].quick
    assert small is not None
    config, rl = quick.config, quick.config.rl
    assert (config.steps, rl.groups, rl.learning_rate) == (
        small.steps,
        small.groups,
        small.rl_learning_rate,
    )
    assert config.eval.baselines == small.baselines and config.eval.num_tasks == small.eval_tasks
    assert quick.envs[0].kwargs["expert"] == family("webshop").training_set.demonstrator
    assert quick.envs[0].kwargs == full.envs[0].kwargs, "the same tasks"
    assert config.steps < full.config.steps and config.eval.num_tasks < full.config.eval.num_tasks
    assert not config.eval.baselines and full.config.eval.baselines
    flags = ["--quick", "--steps=3", "--sft.no-only-successes", "--eval.baselines=none"]
    changed = resolve(parse_config(["--env=webshop", *flags])).config
    assert (changed.steps, changed.sft.only_successes, changed.eval.baselines) == (3, False, ())
    assert changed.rl.groups == small.groups


def test_its_folder_is_not_that_of_the_default_run() -> None:
    quick, default = (default_out(parse_config(["webshop", *flag])) for flag in (["--quick"], []))
    assert (quick, default) == (
        Path("runs/webshop-tiny-quick-seed0"), Path("runs/webshop-tiny-seed0")
    )  # fmt: skip
    flags = SeedFlags.read(["--env=webshop", "--quick", "--seeds", "0", "1"])
    assert flags is not None
    _, sentence = describe_seeds(flags, parse_config)
    assert "in runs/webshop-tiny-quick-seeds)" in sentence


@pytest.mark.parametrize(
    "flags",
    [["--env=search"], [f"--env={TOY_ID}"], ["--env=webshop", "--env-kwargs=difficulty=hard"]],
)
def test_where_there_are_none_that_is_said_in_a_sentence(
    flags: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*flags, "--quick", f"--out={tmp_path / 'run'}"]) == 2
    last = capsys.readouterr().err.strip().splitlines()[-1]
    assert "expected --quick with --model tiny only with the default tasks of webshop" in last
    with pytest.raises(ConfigurationError, match="leave it out"):
        resolve(parse_config([*flags, "--quick"]))

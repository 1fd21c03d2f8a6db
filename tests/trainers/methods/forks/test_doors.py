"""Presets that fork episodes, through the command: they act, resume, and say what they lack."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
import pytest
import torch
from safetensors.torch import load_file

from agentgym.core.env import TextEnv
from agentgym.episodes import read_episodes, replay
from agentgym.errors import ConfigurationError
from tests.toy import ToyEnv
from tests.trainers import toy_runs
from trainers.algorithms.presets import PRESETS
from trainers.cli import main
from trainers.config.resolve import resolve
from trainers.methods.forks.branching import EntropyRise, EveryTurn, RandomTurns

RIGID_ID = "agentgym-test/Rigid-v0"
QUICK: dict[str, Any] = {
    "steps": 2, "horizon_every": None, "sft__max_steps": 40, "eval__every": 0, "eval__num_tasks": 4,
    "horizon": "4", "rl__num_generations": 8, "rl__groups": 2, "rl__log_groups": 2,
}  # fmt: skip
ROOTS = ("--forks.roots=2",)


run = partial(toy_runs.train_weights, **QUICK)


def gap(first: dict[str, torch.Tensor], second: dict[str, torch.Tensor]) -> float:
    return max(float((first[name] - second[name]).abs().max()) for name in first)


@pytest.fixture(scope="module")
def soft(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, torch.Tensor]]:
    """Two steps of ``arpo``."""
    out = tmp_path_factory.mktemp("soft") / "run"
    return out, run(out, "--preset=arpo", *ROOTS)


def steps_of(out: Path) -> list[dict[str, Any]]:
    return [record for record in toy_runs.metrics(out) if record["phase"] == "rl"]


def test_arpo_forks_within_its_budget_and_its_records_replay(soft):
    out, _ = soft
    episodes = list(read_episodes(out / "episodes.jsonl"))
    assert len(episodes) == 2 * 2 * 8
    forked = [episode for episode in episodes if "forked" in episode.extra]
    assert 0 < len(forked) <= 2 * 2 * 6
    for episode in forked:
        assert replay(episode).equal
        fork = episode.extra["forked"]
        (parent,) = (
            other_episode for other_episode in episodes
            if other_episode.extra.get("number") == fork["from"]
            and other_episode.options["training_step"] == episode.options["training_step"]
        )  # fmt: skip
        assert parent.turns[: fork["turns"]] == episode.turns[: fork["turns"]]
    records = steps_of(out)
    assert all(0 < record["fork_rate"] <= 1 and record["shared_tokens"] > 0 for record in records)


@pytest.mark.slow
def test_soft_and_hard_credit_are_one_gradient_before_anything_is_clipped(soft, tmp_path):
    flags = ("--preset=arpo", *ROOTS)
    hard = run(tmp_path / "hard", *flags, "--forks.credit=hard", start=soft[0])
    assert gap(soft[1], hard) < 2e-4
    more: Any = {"rl__minibatches": 2, "rl__num_iterations": 2, "start": soft[0]}
    several = run(tmp_path / "clipped", *flags, "--forks.credit=hard", **more)
    soft_weights = run(tmp_path / "soft", *flags, **more)
    assert gap(several, soft_weights) > 1e-3


@pytest.mark.parametrize(
    "flags",
    [
        ["--forks.rule=random:rate=0"],
        ["--forks.rule=entropy:weight=-5"],
        ["--forks.rule=uniform:n=2"],
        ["--forks.copies=3"],
        ["--forks.credit=tree"],
    ],
)
@pytest.mark.slow
def test_every_part_of_arpo_changes_the_weights(soft, tmp_path, flags):
    other_run = run(tmp_path / "run", "--preset=arpo", *flags, *ROOTS, start=soft[0])
    assert gap(soft[1], other_run) > 1e-4


@pytest.mark.slow
def test_fork_value_resumes_to_the_bit(tmp_path):
    flags = ("--preset=fork-value", "--forks.rule=entropy", *ROOTS)
    changes = {**QUICK, "steps": 3, "rl__save_every": 1}
    reference, killed = tmp_path / "whole", tmp_path / "killed"
    assert main(toy_runs.arguments(reference, *flags, **changes)) == 0
    command = toy_runs.begun_from(reference, toy_runs.arguments(killed, *flags, **changes))
    toy_runs.run_command(command, die_at="rl:2")
    assert (reference / "summary.json").exists() and not (killed / "summary.json").exists()
    assert main(["--resume", f"--out={killed}"]) == 0
    weights = "checkpoints/trained/model.safetensors"
    assert gap(load_file(reference / weights), load_file(killed / weights)) == 0.0
    assert toy_runs.by_phase(killed) == toy_runs.by_phase(reference)


@pytest.mark.slow
def test_fork_value_leaves_places_empty_and_trains_each_token_once(soft, tmp_path):
    flags = ("--preset=fork-value", "--forks.rule=uniform:n=3", *ROOTS)
    weights = run(tmp_path / "run", *flags, start=soft[0])
    records = steps_of(tmp_path / "run")
    numbers = [
        episode.extra.get("number") for episode in read_episodes(tmp_path / "run/episodes.jsonl")
    ]
    assert len(numbers) < 2 * 2 * 8 and all(record["forks"] <= 1 for record in records)
    other_run = run(tmp_path / "other", "--preset=rloo", start=soft[0])
    assert gap(weights, other_run) > 1e-4


def test_flags_are_the_parts_that_they_name():
    def branching(*flags: str) -> Any:
        return resolve(toy_runs.config(Path("unused"), *flags, **QUICK)).preset.branching

    branches = branching("--preset=arpo", "--forks.rule=entropy:weight=1", *ROOTS)
    assert (branches.rule, branches.roots) == (EntropyRise(0.5, 1.0), 2)
    assert branching("--preset=arpo", "--forks.rule=random", *ROOTS).rule == RandomTurns()
    branches = branching(
        "--preset=fork-value", "--forks.rule=uniform:n=4", "--forks.copies=2", *ROOTS
    )
    assert (branches.rule, branches.copies, branches.roots) == (EveryTurn(4), 2, 2)


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        (["--preset=arpo"], "a multiple of the 8 episodes that a group starts with"),
        (["--preset=arpo", "--forks.rule=often", *ROOTS], "expected --forks.rule as in entropy:"),
        (["--preset=arpo", "--forks.rule=random:rat=1", *ROOTS], "got 'random:rat=1'"),
        (["--preset=arpo", "--forks.rule=random:rate=2", *ROOTS], r"a rate in \[0, 1\], got 2"),
        (["--preset=grpo", "--forks.rule=random"], r"\(arpo, fork-value, vineppo, tree-grpo\)"),
    ],
)
def test_what_cannot_be_forked_is_refused(flags, why):
    with pytest.raises(ConfigurationError, match=why):
        resolve(toy_runs.config(Path("unused"), *flags, **QUICK))


class RigidEnv(ToyEnv):
    """An engine without snapshots."""

    def _snapshot(self) -> Any:
        return TextEnv._snapshot(self)


if RIGID_ID not in gymnasium.registry:
    gymnasium.register(RIGID_ID, entry_point=f"{__name__}:RigidEnv")


@pytest.mark.parametrize("preset", [n for n, preset in PRESETS.items() if preset.branching])
def test_a_family_that_cannot_fork_is_refused_by_name(preset, tmp_path, capsys):
    flags = [f"--preset={preset}", "--forks.roots=2", "--dry-run"]
    changes = {**QUICK, "env": RIGID_ID}
    assert main(toy_runs.arguments(tmp_path / "run", *flags, **changes)) == 2
    error = toy_runs.last_line(capsys.readouterr().err)
    assert f"--preset {preset}, got rigid: RigidEnv cannot fork an episode" in error


@pytest.mark.slow
@pytest.mark.parametrize(
    "flags", [["--preset=fork-value", "--forks.rule=random:rate=0.6"], ["--preset=arpo"]]
)
def test_two_processes_fork_and_train_as_one(tmp_path, flags):
    single = run(tmp_path / "one", *flags, *ROOTS)
    command = toy_runs.arguments(tmp_path / "two", *flags, *ROOTS, **QUICK)
    assert [process.returncode for process in toy_runs.launch(command)] == [0]
    two = toy_runs.trained_weights(tmp_path / "two")
    assert gap(single, two) < 1e-5
    for record, other in zip(steps_of(tmp_path / "one"), steps_of(tmp_path / "two"), strict=True):
        assert (record["turns_total"], record["forked"]) == (other["turns_total"], other["forked"])

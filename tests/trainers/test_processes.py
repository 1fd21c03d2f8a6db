"""Runs of several processes, launched as a user launches them."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import torch
from accelerate.commands import launch
from safetensors.torch import load_file

from tests.toy import TOY_ID
from tests.trainers import toy_runs
from trainers import processes
from trainers.cli import launch_config, main

SETTINGS = {
    "steps": 3, "horizon": "3", "horizon_every": None, "sft__max_steps": 10,
    "sft__demonstrations": 32, "sft__eval_tasks": 4, "rl__groups": 3, "rl__save_every": 1,
    "rl__learning_rate": 1e-3, "rl__minibatches": 2, "eval__num_tasks": 5, "eval__every": 2,
    "eval__valid_tasks": 3,
    "eval__baselines": "bc", "eval__baseline_steps": 10,
}  # fmt: skip
"""Six episodes for each of two processes, so that the second group belongs to both; two updates a
step."""
OF_TOKENS = {"entropy", "clip_fraction"}
"""Figures that are means over trained tokens."""
CLOSE = {"rtol": 1e-4, "atol": 1e-5}
"""Room for sums that are taken in another order."""


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run in one process."""
    out = tmp_path_factory.mktemp("alone") / "run"
    assert main(toy_runs.arguments(out, **SETTINGS)) == 0
    return out


def assert_same_run(folder: Path, reference: Path) -> None:
    """The same episodes, byte by byte, and the same figures and weights but for rounding."""
    actual, expected = toy_runs.by_phase(folder), toy_runs.by_phase(reference)
    assert actual.keys() == expected.keys()
    for phase, records in expected.items():
        for record, counterpart in zip(actual[phase], records, strict=True):
            if (
                counterpart.get("grad_norm") == 0.0
            ):  # Nothing was trained: figures of tokens mean nothing.
                record, counterpart = (
                    {name: of[name] for name in of.keys() - OF_TOKENS}
                    for of in (record, counterpart)
                )
            assert record.keys() == counterpart.keys()
            for name, value in counterpart.items():
                if name == "kl_behaviour":
                    continue  # An estimate on a few rows of every process.
                if isinstance(value, float):
                    # TRL's entropy is a mean of means, each of a micro-batch of one process.
                    room = 2e-2 if name == "entropy" else 1e-3
                    value = pytest.approx(value, rel=room, abs=1e-5)
                assert record[name] == value, (phase, name)
    for name in [
        p.relative_to(reference) for p in reference.rglob("*.jsonl") if p.stem != "metrics"
    ]:
        assert (folder / name).read_bytes() == (reference / name).read_bytes(), name
    weights = [load_file(p / "checkpoints/trained/model.safetensors") for p in (folder, reference)]
    # FSDP writes the head that is tied to the embedding as well.
    assert weights[0].keys() - weights[1].keys() <= {"lm_head.weight"}
    for key, value in weights[1].items():
        torch.testing.assert_close(weights[0][key], value, **CLOSE)


def spoken(ended: Any) -> list[str]:
    """What the processes of a launcher said, without the launcher's own report."""
    return [line for line in ended.stderr.splitlines() if line.startswith("agentgym-train: ")]


@pytest.mark.slow
def test_two_processes_on_two_nodes_are_one_run_also_after_one_was_killed(alone, tmp_path):
    folder = tmp_path / "run"
    command = toy_runs.arguments(folder, **SETTINGS)
    [died] = toy_runs.launch(command, die_at="rl:2@1")
    assert died.returncode != 0
    [sentence] = spoken(died)
    assert "expected all 2 processes to run until the end, but another one ended" in sentence
    assert [r["step"] for r in toy_runs.by_phase(folder)["rl"]] in ([1], [1, 2])
    for process in toy_runs.launch([*command, "--resume"], nodes=2):
        assert process.returncode == 0, process.stderr
    assert_same_run(folder, alone)


@pytest.mark.slow
def test_sharded_weights_are_saved_and_resumed_and_are_the_same(alone, tmp_path):
    folder = tmp_path / "run"
    command = toy_runs.arguments(folder, **SETTINGS)
    [died] = toy_runs.launch(command, "fsdp2", die_at="rl:3@0")
    assert died.returncode != 0
    [sentence] = spoken(died)
    assert "another one ended" in sentence
    checkpoint = folder / "checkpoints" / "rl" / "checkpoint-4"
    assert (checkpoint / "pytorch_model_fsdp.bin").exists(), "the weights were not sharded"
    [process] = toy_runs.launch([*command, "--resume"], "fsdp2")
    assert process.returncode == 0, process.stderr
    assert_same_run(folder, alone)


@pytest.mark.slow
@pytest.mark.skipif(not find_spec("deepspeed"), reason="the package deepspeed is not installed")
@pytest.mark.parametrize(
    ("stage", "die_at"), [("zero2", "rl:3@0"), ("zero3", "rl:3@0"), ("zero3", "rl:1@0")]
)
def test_deepspeed_is_saved_and_resumed_and_is_the_same(alone, tmp_path, stage, die_at):
    """Killed at the first step, the run begins anew and has read no checkpoint when it ends."""
    folder = tmp_path / "run"
    command = toy_runs.arguments(folder, **SETTINGS)
    [died] = toy_runs.launch(command, stage, die_at=die_at)
    assert died.returncode != 0
    [sentence] = spoken(died)
    assert "another one ended" in sentence
    [process] = toy_runs.launch([*command, "--resume"], stage)
    assert process.returncode == 0, process.stderr
    [step] = (folder / "checkpoints" / "rl" / "checkpoint-6").glob("global_step*")
    assert len(list(step.glob("*_optim_states.pt"))) == 2, "the optimiser was not sharded"
    assert len(list(step.glob("zero_*_model_states.pt"))) == (2 if stage == "zero3" else 0)
    assert_same_run(folder, alone)


@pytest.mark.slow
def test_sharded_weights_travel_to_engines_that_play_ahead_in_several_environments(tmp_path):
    runs = [tmp_path / name for name in ("two", "one")]
    changes = {**SETTINGS, "async_rollouts__staleness": 1, "env": f"{TOY_ID},{toy_runs.EASY_ID}"}
    commands = [toy_runs.arguments(run, **changes) for run in runs]
    [process] = toy_runs.launch(commands[0], "fsdp2")
    assert process.returncode == 0, process.stderr
    assert main(commands[1]) == 0
    assert [record["staleness"] for record in toy_runs.by_phase(runs[0])["rl"]] == [0, 1, 1]
    assert_same_run(*runs)
    for record in toy_runs.by_phase(runs[0])["rl"]:
        assert {name: of["episodes"] % 4 for name, of in record["families"].items()} == {
            "toy": 0,
            "easy": 0,
        }


@pytest.mark.slow
def test_a_process_that_hangs_is_named(tmp_path):
    folder = tmp_path / "run"
    command = toy_runs.arguments(folder, **SETTINGS, rollout__rank_timeout=15)
    [process] = toy_runs.launch(command, die_at="hang:2@1")
    assert process.returncode != 0
    [sentence] = spoken(process)
    assert "process 1 (last seen at the end of a checkpoint) did not" in sentence
    assert "to reach the end of the episodes of step 2 within 15 s" in sentence
    assert [record["step"] for record in toy_runs.by_phase(folder)["rl"]] == [1]


@pytest.mark.slow
def test_what_is_wrong_is_said_once(tmp_path):
    """Of all that is launched here, the first of these two alone is an interpreter, as a user's."""
    command = toy_runs.arguments(
        tmp_path / "run", **{**SETTINGS, "rl__num_generations": 3, "rl__minibatches": 1}
    )
    [process] = toy_runs.launch(command, unforked=0)
    assert process.returncode != 0
    [sentence] = spoken(process)
    assert "expected a number of processes that divides the 9 episodes of a step" in sentence
    assert not (tmp_path / "run").exists()


# -- facts -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [0, 1, 5, 12])
@pytest.mark.parametrize("world", [1, 2, 5])
def test_shares_are_a_whole_in_order(monkeypatch, count, world):
    monkeypatch.setenv("WORLD_SIZE", str(world))
    shares = []
    for rank in range(world):
        monkeypatch.setenv("RANK", str(rank))
        shares.append(processes.share(count))
    assert [index for share in shares for index in share] == list(range(count))
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


def test_a_single_process_is_the_main_one_and_agrees_with_itself():
    assert (processes.rank(), processes.world(), processes.is_main()) == (0, 1, True)
    assert processes.broadcast("x") == "x"
    assert processes.gather([1, 2]) == [1, 2]
    assert processes.on_main(lambda: 3) == 3
    processes.barrier()
    with pytest.raises(RuntimeError, match="gloo"), processes.losses_explained():
        raise RuntimeError("gloo")


@pytest.mark.parametrize(
    ("name", "variables"),
    [
        ("ddp", {"ACCELERATE_USE_FSDP": "", "ACCELERATE_USE_DEEPSPEED": ""}),
        ("fsdp2", {"ACCELERATE_USE_FSDP": "true", "FSDP_VERSION": "2"}),
        ("zero2", {"ACCELERATE_USE_DEEPSPEED": "true", "ACCELERATE_DEEPSPEED_ZERO_STAGE": "2"}),
        ("zero3", {"ACCELERATE_USE_DEEPSPEED": "true", "ACCELERATE_DEEPSPEED_ZERO_STAGE": "3"}),
    ],
)
def test_the_launcher_understands_every_configuration(monkeypatch, name, variables):
    launches: list[Any] = []
    for launcher in ("deepspeed_launcher", "multi_gpu_launcher"):
        monkeypatch.setattr(launch, launcher, launches.append)
    command = f"--config_file {launch_config(name)} --num_processes 2 -m trainers.cli".split()
    launch.launch_command(launch.launch_command_parser().parse_args(command))
    if name.startswith("zero"):
        environment = launch.prepare_deepspeed_cmd_env(launches[0])[1]
    else:
        environment = launch.prepare_multi_gpu_env(launches[0])
    assert {key: environment.get(key, "") for key in variables} == variables
    for key in variables:
        monkeypatch.setenv(key, environment.get(key, ""))
    assert processes.sharded() == (name in ("fsdp2", "zero3"))


def test_a_launch_configuration_is_found_by_name(capsys):
    assert main(["--launch-config", "fsdp2"]) == 0
    assert Path(capsys.readouterr().out.strip()).read_text().startswith("# Weights")
    assert main(["--launch-config", "fsdp9"]) == 2
    assert "one of ddp, fsdp2, zero2, zero3, got 'fsdp9'" in capsys.readouterr().err

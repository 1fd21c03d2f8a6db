"""``agentgym-train merge``: two runs become one policy that plays, and that can be trained on."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from safetensors.torch import load_file

from agentgym.evaluation import evaluate
from tests.toy import TOY_ID
from tests.trainers import toy_runs
from trainers.cli import main
from trainers.policies.weights import weights_sha256

QUICK: dict[str, Any] = {
    "steps": 2, "horizon_every": None, "horizon": "3", "sft__max_steps": 10, "eval__every": 0,
    "eval__num_tasks": 4,
}  # fmt: skip
pytestmark = pytest.mark.slow
Weights = dict[str, torch.Tensor]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two runs that begin with the same warm start, and train in different ways."""
    root = tmp_path_factory.mktemp("runs")
    for name, rate in (("a", 1e-2), ("b", 3e-2)):
        assert main(toy_runs.arguments(root / name, **{**QUICK, "rl__learning_rate": rate})) == 0
    return [root / "a", root / "b"]


def weights(run: Path, checkpoint: str = "trained") -> Weights:
    return load_file(run / "checkpoints" / checkpoint / "model.safetensors")


def merge(out: Path, *arguments: Any) -> int:
    return main(["merge", *map(str, arguments), "--out", str(out)])


def test_linear_is_the_mean_and_plays(runs: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "merged"
    assert merge(out, *runs, "--method", "linear", "--weights", 1, 3) == 0
    merged, first, second = weights(out), weights(runs[0]), weights(runs[1])
    assert any(not torch.equal(first[name], second[name]) for name in first)
    for name, part in merged.items():
        assert torch.allclose(part, 0.25 * first[name] + 0.75 * second[name], atol=1e-6)
    about = json.loads((out / "merge.json").read_text())
    assert about["weights"] == [0.25, 0.75] and about["base"].endswith("checkpoints/warm-start")
    digests = [weights_sha256(Path(policy["path"])) for policy in about["policies"]]
    assert digests == [policy["weights_sha256"] for policy in about["policies"]]
    report = evaluate(str(out), TOY_ID, num_tasks=3)
    assert report.n == 3 and report.policy_facts["checkpoint"] == "trained"


def test_ram_follows_its_formula(runs: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "merged"
    assert merge(out, *runs, "--method", "ram") == 0
    start, merged = weights(runs[0], "warm-start"), weights(out)
    for name, part in merged.items():
        deltas = [weights(run)[name] - start[name] for run in runs]
        touched = [delta.abs() > 1e-5 for delta in deltas]
        count = touched[0].int() + touched[1].int()
        total = deltas[0] * touched[0] + deltas[1] * touched[1]
        assert torch.allclose(part, start[name] + total / count.clamp(min=1), atol=1e-6)


def test_a_merged_policy_is_trained_on_and_no_run(
    runs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "merged"
    assert merge(out, *runs, "--method", "ties", "--density", 0.5) == 0
    flags = ["--dry-run", "--lora.r", "0"]
    command = toy_runs.arguments(tmp_path / "more", *flags, **QUICK)
    assert main([*command, "--model", str(out / "checkpoints" / "trained")]) == 0
    assert main(["--resume", "--out", str(out)]) == 2
    assert "holds a merged policy: train it further with --model" in capsys.readouterr().err


def test_adapters_are_added_to_their_base_first(runs: list[Path], tmp_path: Path) -> None:
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    start = runs[0] / "checkpoints" / "warm-start"
    adapted, wholes = [], []
    for seed in (0, 1):
        run = tmp_path / f"run{seed}"
        shutil.copytree(runs[0], run)
        trained = run / "checkpoints" / "trained"
        (trained / "model.safetensors").unlink()
        torch.manual_seed(seed)
        model = get_peft_model(
            AutoModelForCausalLM.from_pretrained(start),
            LoraConfig(r=2 + seed, target_modules="all-linear", init_lora_weights=False),
        )
        model.save_pretrained(trained)
        adapted.append(run)
        wholes.append(dict(model.merge_and_unload().named_parameters()))
    for run in adapted:  # the compared policy is the one with adapters
        summary = json.loads((run / "summary.json").read_text())
        summary["chosen"]["checkpoint"] = "trained"
        (run / "summary.json").write_text(json.dumps(summary))
    out = tmp_path / "merged"
    assert merge(out, *adapted, "--method", "linear") == 0
    for name, part in weights(out).items():
        mean = (wholes[0][name] + wholes[1][name]) / 2
        assert torch.allclose(part, mean, atol=1e-5), name


def test_environments_of_all_are_known(runs: list[Path], tmp_path: Path) -> None:
    other_folder = tmp_path / "other"
    shutil.copytree(runs[1], other_folder)
    settings = yaml.safe_load((other_folder / "config.yaml").read_text())
    settings["resolved"]["env"]["horizon"] = 7
    (other_folder / "config.yaml").write_text(yaml.safe_dump(settings))
    out = tmp_path / "merged"
    assert merge(out, runs[0], other_folder, "--method", "linear") == 0
    envs = yaml.safe_load((out / "config.yaml").read_text())["resolved"]["envs"]
    assert [env["kwargs"].get("horizon") for env in envs.values()] == [3, 7]


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (
            ["--method", "linear", "--weights", "1"],
            "at least 0, one for each of the 2",
        ),
        (["--method", "linear", "--weights", "0", "0"], "expected a weight above 0"),
        (["--method", "ram", "--weights", "1", "1"], "--weights with linear or ties"),
        (["--method", "ties", "--density", "0"], "--density in"),
    ],
)
def test_what_is_refused(
    runs: list[Path], tmp_path: Path, flags: list[str], words: str, capsys: Any
) -> None:
    assert merge(tmp_path / "out", *runs, *flags) == 2
    assert words in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "out" / "config.yaml").exists()


def test_runs_without_a_common_start_are_refused(
    runs: list[Path], tmp_path: Path, capsys: Any
) -> None:
    other_folder = tmp_path / "other"
    shutil.copytree(runs[1], other_folder)
    place = other_folder / "checkpoints" / "warm-start" / "model.safetensors"
    place.write_bytes(place.read_bytes()[:-1] + b"\x01")
    assert merge(tmp_path / "out", runs[0], other_folder, "--method", "ram") == 2
    assert "expected runs that began with the same weights" in capsys.readouterr().err
    base = runs[0] / "checkpoints" / "warm-start"
    assert merge(tmp_path / "out", runs[0], other_folder, "--method", "ram", "--base", base) == 0
    assert merge(tmp_path / "out", *runs, "--method", "ram") == 2
    assert merge(tmp_path / "one", runs[0], "--method", "ram") == 2
    assert merge(tmp_path / "none", tmp_path, runs[0], "--method", "ram") == 2

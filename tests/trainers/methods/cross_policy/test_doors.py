"""Cross-policy sampling through the command: every part of ``agentrl`` acts, and it resumes."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from safetensors.torch import load_file

from agentgym.episodes import Episode, read_episodes
from agentgym.errors import ConfigurationError
from agentgym.registration import FAMILIES
from tests.envs.swe.boxed import needs_box
from tests.trainers import tiny_policy, toy_runs
from tests.trainers.test_pairs import SMALL
from trainers.algorithms.policy_pool import PolicyPool
from trainers.algorithms.preset import Preset
from trainers.algorithms.presets import PRESETS
from trainers.cli import main
from trainers.config.resolve import resolve
from trainers.methods.cross_policy.stale_policy import STALE_FILE

QUICK: dict[str, Any] = {
    "steps": 2, "horizon_every": None, "sft__max_steps": 40, "eval__every": 0, "eval__num_tasks": 4,
    "horizon": "4", "rl__num_generations": 4, "rl__groups": 4, "rl__log_groups": 4,
}  # fmt: skip
WEIGHTS = "checkpoints/trained/model.safetensors"
EVERY = "--cross-policy.every=1"


def run(
    out: Path, *flags: str, start: Path | None = None, **changes: Any
) -> dict[str, torch.Tensor]:
    """The weights after a run of ``agentrl``, perhaps from the warm start of another run."""
    preset_flags = [flag for flag in flags if flag.startswith("--preset=")] or ["--preset=agentrl"]
    flags = (*preset_flags, *(flag for flag in flags if flag not in preset_flags))
    command = toy_runs.arguments(out, *flags, **{**QUICK, **changes})
    assert main(toy_runs.begun_from(start, command)) == 0
    return load_file(out / WEIGHTS)


def equal(first: dict[str, torch.Tensor], second: dict[str, torch.Tensor]) -> bool:
    return all(torch.equal(first[name], second[name]) for name in first)


def episodes(out: Path) -> list[Episode]:
    return list(read_episodes(out / "episodes.jsonl"))


def actions(out: Path) -> list[list[str]]:
    return [[turn.raw_text for turn in episode.turns] for episode in episodes(out)]


def stale_turns(out: Path) -> tuple[int, int]:
    """Turns that the stale policy played, and all."""
    run_episodes = episodes(out)
    stale = sum(len(episode.extra.get("stale_turns", ())) for episode in run_episodes)
    return stale, sum(len(episode.turns) for episode in run_episodes)


def resolved(*flags: str, **changes: Any) -> Preset:
    return resolve(toy_runs.config(Path("unused"), *flags, **changes)).preset


@pytest.fixture(scope="module")
def agentrl(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, torch.Tensor]]:
    """Two steps of ``agentrl`` whose stale policy is refreshed after each."""
    out = tmp_path_factory.mktemp("agentrl") / "run"
    return out, run(out, EVERY)


def test_flags_are_the_pool_that_they_name():
    assert resolved(preset="agentrl").pool == PolicyPool(0.25, 25) == PRESETS["agentrl"].pool
    flags = ("--cross-policy.share=0.5", "--cross-policy.every=7")
    assert resolved(*flags).pool == PolicyPool(0.5, 7)
    assert resolved("--cross-policy.share=0.5", preset="grpo").pool == PolicyPool(0.5, 25)
    assert resolved("--cross-policy.every=7", preset="agentrl").pool == PolicyPool(0.25, 7)
    assert resolved("--cross-policy.share=0", preset="agentrl").pool is None


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (["--cross-policy.every=3"], "expected --cross-policy.every where a stale policy plays"),
        (["--cross-policy.share=2"], "expected --cross-policy.share to be at most 1"),
        (["--cross-policy.share=.5", "--engine=vllm"], "expected adapters that vLLM serves"),
        (
            ["--cross-policy.share=.5", "--engine=vllm", "--model=x", "--lora.r=0"],
            "two of those share one base, got --engine vllm without; choose --engine hf",
        ),
        (
            ["--preset=agentrl", "--engine=vllm", "--model=x", "--vllm.lora=merge"],
            "expected adapters that vLLM serves",
        ),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(flags, sentence):
    with pytest.raises(ConfigurationError) as refused:
        resolved(*flags, sft__max_steps=0)
    assert sentence in str(refused.value) and "\n" not in str(refused.value)


def test_an_engine_of_ones_own_without_a_place_for_it_is_refused_before_the_run(tmp_path, capsys):
    flags = [
        "--cross-policy.share=0.5",
        "--engine=trainers.rollouts.engines.hf:HFEngine",
        "--dry-run",
    ]
    assert main(toy_runs.arguments(tmp_path / "run", *flags)) == 2
    sentence = toy_runs.last_line(capsys.readouterr().err)
    assert "expected --engine with a place for a stale policy (sync_stale" in sentence


@pytest.mark.slow
def test_the_share_lies_in_its_binomial_interval(agentrl):
    out, _ = agentrl
    stale, turns = stale_turns(out)
    assert turns > 100 and abs(stale - 0.25 * turns) < 3 * math.sqrt(turns * 0.25 * 0.75)
    shares = [record["stale_turns"] for record in toy_runs.by_phase(out)["rl"]]
    assert sum(shares) / 2 == pytest.approx(stale / turns, abs=0.02)


@pytest.mark.slow
def test_without_a_share_it_is_the_run_without_to_the_bit(agentrl, tmp_path):
    parts = yaml.safe_load((agentrl[0] / "config.yaml").read_text())["resolved"]["preset_parts"]
    assert parts["pool"] == {"part": "PolicyPool", "stale_share": 0.25, "refresh_every": 1}
    path = tmp_path / "without.yaml"
    path.write_text(yaml.safe_dump({"pool": None}))
    without = run(tmp_path / "without", f"--preset-file={path}", start=agentrl[0])
    share = run(tmp_path / "share", "--cross-policy.share=0", start=agentrl[0])
    assert equal(share, without) and not equal(share, agentrl[1])
    assert actions(tmp_path / "share") == actions(tmp_path / "without")
    assert stale_turns(tmp_path / "share")[0] == 0


@pytest.mark.slow
def test_with_a_share_of_all_the_first_policy_plays_on(agentrl, tmp_path):
    """Its episodes are those of a run that learns nothing; what plays them is learnt from."""
    flags = ("--cross-policy.share=1", "--cross-policy.every=9")
    three: Any = {"steps": 3, "start": agentrl[0]}
    stale = run(tmp_path / "stale", *flags, **three)
    idle = run(tmp_path / "idle", "--cross-policy.share=0", **three, rl__learning_rate=1e-30)
    assert actions(tmp_path / "stale") == actions(tmp_path / "idle")
    assert not equal(stale, idle)
    stale_count, turns = stale_turns(tmp_path / "stale")
    assert stale_count == turns
    learning = tmp_path / "learning"
    run(learning, "--cross-policy.share=0", **three)
    assert actions(learning) != actions(tmp_path / "stale")


LESS: dict[str, list[str]] = {
    "share": ["--cross-policy.share=0.5", EVERY],
    "copies": ["--cross-policy.every=2"],
    "normalisation": ["--rl.normalize=none", EVERY],
    "interleaved tasks": ["--rl.sampler=uniform", EVERY],
}


@pytest.mark.slow
@pytest.mark.parametrize("part", LESS)
def test_every_part_of_agentrl_changes_the_weights_of_two_steps(part, agentrl, tmp_path):
    start, weights = agentrl
    assert not equal(run(tmp_path / "run", *LESS[part], start=start), weights)


@pytest.mark.slow
def test_the_ratio_to_the_acting_policy_changes_the_weights(agentrl, tmp_path):
    path = tmp_path / "weighed.yaml"
    loss = {"part": "Loss", "high": 0.2, "dual": 3.0, "kl_beta": 1e-4}
    path.write_text(yaml.safe_dump({"loss": loss}))
    two = ("--cross-policy.every=2",)
    by_ratio = run(tmp_path / "ratio", *two, start=agentrl[0])
    by_weights = run(tmp_path / "weights", *two, f"--preset-file={path}", start=agentrl[0])
    assert not equal(by_ratio, by_weights)
    assert all("clip_fraction" in r for r in toy_runs.by_phase(tmp_path / "ratio")["rl"])


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["hf", "hf-copy"])
def test_a_stale_policy_refreshed_at_every_step_acts_as_the_policy(engine, tmp_path):
    """Engines of two policies, both with the weights that train: all log-probabilities agree."""
    run(tmp_path, "--preset=rloo", "--cross-policy.share=0.5", EVERY, f"--engine={engine}", steps=3)
    records = toy_runs.by_phase(tmp_path)["rl"]
    assert all(record["stale_turns"] > 0.2 for record in records)
    assert max(record["logp_gap_max"] for record in records) < 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("updates", [1, 2])
def test_a_run_that_was_killed_goes_on_to_the_bit(updates, tmp_path):
    flags = ("--preset=agentrl", "--cross-policy.every=3")
    changes = {**QUICK, "steps": 5, "rl__save_every": 1, "rl__minibatches": updates}
    reference, killed = tmp_path / "whole", tmp_path / "killed"
    assert main(toy_runs.arguments(reference, *flags, **changes)) == 0
    command = toy_runs.begun_from(reference, toy_runs.arguments(killed, *flags, **changes))
    toy_runs.run_command(command, die_at="rl:4")
    assert (reference / "summary.json").exists() and not (killed / "summary.json").exists()
    (newest, *_) = sorted((killed / "checkpoints" / "rl").glob(f"checkpoint-*/{STALE_FILE}"))
    assert torch.load(newest, weights_only=True)["steps"] in (0, 3)
    assert main(["--resume", f"--out={killed}"]) == 0
    assert equal(load_file(reference / WEIGHTS), load_file(killed / WEIGHTS))
    assert toy_runs.by_phase(killed) == toy_runs.by_phase(reference)
    assert [e.extra for e in episodes(killed)] == [e.extra for e in episodes(reference)]


@pytest.mark.slow
def test_a_checkpoint_without_the_stale_policy_is_refused(tmp_path, capsys):
    out = tmp_path / "run"
    run(out, EVERY, rl__save_every=1)
    for path in (out / "checkpoints" / "rl").glob(f"checkpoint-*/{STALE_FILE}"):
        path.unlink()
    assert main(["--resume", f"--out={out}", "--steps=3"]) == 2
    sentence = toy_runs.last_line(capsys.readouterr().err)
    assert STALE_FILE in sentence and "begin reinforcement learning anew" in sentence


@pytest.mark.slow
def test_two_adapters_share_a_pretrained_base(tmp_path):
    from trainers.models.tiny import build_model

    tokenizer = tiny_policy.tokenizer()
    tokenizer.save_pretrained(tmp_path / "model")
    build_model(tokenizer, tiny_policy.SIZE).save_pretrained(tmp_path / "model")
    out = tmp_path / "run"
    flags = ["--preset=agentrl", EVERY, "--engine=hf"]
    changes = {
        **QUICK, "model": tmp_path / "model", "sft__max_steps": 0, "lora__r": 4,
        "rl__episode_tokens": 220, "rl__save_every": 1,
    }  # fmt: skip
    assert main(toy_runs.arguments(out, *flags, **changes)) == 0
    assert all(0.1 < record["stale_turns"] < 0.5 for record in toy_runs.by_phase(out)["rl"])
    state = torch.load(out / "checkpoints" / "rl" / "checkpoint-2" / STALE_FILE, weights_only=True)
    assert state["steps"] == 2 and all(".lora_" in name for name in state["weights"])


@pytest.mark.slow
@needs_box
def test_agentrl_trains_all_families_in_one_run(tmp_path, monkeypatch):
    monkeypatch.setattr("trainers.phases.warm_start.VOCABULARY_EPISODES", 4)
    names = [family.name for family in FAMILIES]
    out = tmp_path / "run"
    changes = {
        **SMALL,
        "steps": 2,
        "horizon": "3",
        "rl__groups": len(names),
        "env": ",".join(names),
    }
    flags = ["--preset=agentrl", EVERY, "--rl.log-groups=5"]
    assert main(toy_runs.arguments(out, *flags, **changes)) == 0
    records = toy_runs.by_phase(out)["rl"]
    for record in records:
        parts = {name: part["episodes"] for name, part in record["families"].items()}
        assert parts == dict.fromkeys(names, 2)
    stale, turns = stale_turns(out)
    assert 0 < stale < turns and all(record["stale_turns"] > 0 for record in records)

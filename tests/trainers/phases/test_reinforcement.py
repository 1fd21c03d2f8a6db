"""The second phase: trained from a model on the disk, with adapters and without."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from tests.trainers import tiny_policy, toy_runs
from trainers.algorithms.sampling import UniformSampler
from trainers.cli import main
from trainers.config.resolve import resolve
from trainers.models.tiny import build_model

QUICK = {
    "horizon": "3",
    "steps": 3,
    "sft__max_steps": 0,
    "rl__turn_tokens": 6,
    "rl__episode_tokens": 220,
    "rl__learning_rate": 1e-2,
    "rl__num_generations": 16,  # so that some members of a group act better than others, by chance
    "memory__micro_tokens": 4000,
    "eval__num_tasks": 8,
    "eval__every": 0,
}


@pytest.fixture(scope="module")
def chat_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small model on the disk whose template strips the thinking of earlier turns, as Qwen3's."""
    folder = tmp_path_factory.mktemp("model")
    tokenizer = tiny_policy.tokenizer(tiny_policy.QWEN_LIKE, words=("think", "act"))
    tokenizer.save_pretrained(folder)
    build_model(tokenizer, tiny_policy.SIZE).save_pretrained(folder)
    return folder


def trained(out: Path, model: Path, *flags: str, **changes: Any) -> dict[str, Any]:
    """Train through the command line; the summary."""
    assert main(toy_runs.arguments(out, *flags, model=model, **{**QUICK, **changes})) == 0
    return toy_runs.summary(out)


@pytest.fixture(scope="module")
def lora_run(chat_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run with adapters, on a model named by a relative path."""
    out = tmp_path_factory.mktemp("lora") / "run"
    files_before = toy_runs.files(chat_model)
    trained(out, Path(os.path.relpath(chat_model)))
    assert toy_runs.files(chat_model) == files_before
    return out


def test_a_pretrained_model_is_trained_with_adapters(lora_run):
    summary = toy_runs.summary(lora_run)
    assert summary["steps"] == 3
    assert summary["warm_start"] is None, "there was no warm start"
    assert summary["names"]["warm-start"] == "base-model"
    assert "trained minus base-model" in summary["verdict"]
    assert "warm start" not in (lora_run / "report.html").read_text().split("<h2>Settings")[0]
    result = lora_run / "checkpoints" / "trained"
    adapters = load_file(result / "adapter_model.safetensors")
    assert all("lora_" in name for name in adapters)
    learned = [value for name, value in adapters.items() if "lora_B" in name]
    assert learned, "B starts at zero, so anything else was learned"
    assert all(value.abs().max() > 0 for value in learned)
    assert not (lora_run / "checkpoints" / "warm-start").exists(), "no copy of the base"


def test_the_trained_adapters_can_be_loaded_on_the_unchanged_base(chat_model, lora_run):
    from peft import AutoPeftModelForCausalLM
    from transformers import AutoModelForCausalLM, AutoTokenizer

    result = lora_run / "checkpoints" / "trained"
    config = json.loads((result / "adapter_config.json").read_text())
    assert config["r"] == 16
    assert config["base_model_name_or_path"] == str(chat_model.resolve())
    tokenizer = AutoTokenizer.from_pretrained(result)
    assert "</think>" in tokenizer.chat_template
    loaded = AutoPeftModelForCausalLM.from_pretrained(result)
    base = AutoModelForCausalLM.from_pretrained(chat_model)
    ids = torch.tensor([[7, 8, 9, 10]])
    with torch.no_grad(), loaded.disable_adapter():
        assert torch.equal(loaded(ids).logits, base(ids).logits)
    with torch.no_grad():
        assert not torch.allclose(loaded(ids).logits, base(ids).logits, atol=1e-4)


def test_the_card_of_adapters_says_what_they_are_for_and_how_they_are_spoken_to(
    chat_model, lora_run
):
    card = (lora_run / "checkpoints" / "trained" / "README.md").read_text()
    for part in (
        f"LoRA adapters for the language model `{chat_model.name}`",
        "AutoPeftModel",
        "press",
    ):
        assert part in card
    assert "None" not in card


@pytest.mark.slow
def test_rank_0_trains_all_weights(chat_model, tmp_path):
    trained(tmp_path / "run", chat_model, lora__r=0)
    result = tmp_path / "run" / "checkpoints" / "trained"
    assert not (result / "adapter_model.safetensors").exists()
    weights_before = load_file(chat_model / "model.safetensors")
    weights_after = load_file(result / "model.safetensors")
    assert weights_before.keys() == weights_after.keys()
    moved = [
        name
        for name in weights_before
        if not torch.equal(weights_before[name], weights_after[name])
    ]
    assert moved == list(weights_before)


@pytest.mark.slow
def test_a_pretrained_model_is_resumed_like_any_other(chat_model, tmp_path, monkeypatch):
    reference, folder = tmp_path / "whole", tmp_path / "run"
    trained(reference, chat_model, steps=4)
    with monkeypatch.context() as patch, pytest.raises(toy_runs.killed_at("rl", 3, patch)):
        trained(folder, chat_model, steps=4)
    trained(folder, chat_model, "--resume", steps=4)
    assert toy_runs.by_phase(folder) == toy_runs.by_phase(reference)
    assert toy_runs.summary(folder) == toy_runs.summary(reference)


@pytest.mark.slow
def test_a_pretrained_model_can_be_warm_started(chat_model, tmp_path):
    summary = trained(tmp_path / "run", chat_model, sft__max_steps=10, steps=1)
    assert summary["warm_start"]["steps"] == 10
    assert (tmp_path / "run" / "checkpoints" / "warm-start" / "model.safetensors").exists()


@pytest.mark.slow
def test_a_pretrained_model_killed_in_and_after_its_warm_start_goes_on_as_it_would_have(
    chat_model, tmp_path
):
    """Two real deaths: at step 20, from where step 10 is left, and before RL's first checkpoint."""
    changes = {
        **QUICK, "model": chat_model, "sft__max_steps": 22, "steps": 2, "rl__save_every": 2
    }  # fmt: skip
    reference, folder = tmp_path / "whole", tmp_path / "run"
    assert main(toy_runs.arguments(reference, **changes)) == 0
    command = toy_runs.arguments(folder, **changes)
    for moment, names_left in (("sft:20", ["sft-10"]), ("rl:1", ["rl", "warm-start"])):
        died = toy_runs.run_command(command, die_at=moment)
        assert died.returncode == -signal.SIGKILL, died.stderr
        assert sorted(path.name for path in (folder / "checkpoints").iterdir()) == names_left
        command = [*toy_runs.arguments(folder, **changes), "--resume"]
    assert main(command) == 0
    assert toy_runs.by_phase(folder) == toy_runs.by_phase(reference)
    assert toy_runs.summary(folder) == toy_runs.summary(reference)
    weights = [
        load_file(path / "checkpoints" / "warm-start" / "model.safetensors")
        for path in (folder, reference)
    ]
    assert weights[0].keys() == weights[1].keys()
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])


def test_a_pretrained_model_is_told_how_to_act(chat_model, tmp_path):
    from agentgym.conversation import Conversation, SeenTurn
    from trainers.output.display import Display
    from trainers.output.run_folder import RunFolder
    from trainers.phases.warm_start import warm_start

    config = toy_runs.config(tmp_path / "run", model=chat_model, **QUICK)
    plan = resolve(config)
    policy = warm_start(plan, RunFolder.open(plan.config.out, config), Display(quiet=True))
    system, user = Conversation(policy.prompts["toy"]).messages(SeenTurn("press red"))
    assert system["role"] == "system"
    assert "press" in system["content"]
    assert not policy.chat.append_only, "the template rewrites history"
    assert user == {"role": "user", "content": "press red"}


def test_training_rewards_are_the_bonus_and_the_penalty(tmp_path):
    def names(**changes: Any) -> list[str]:
        hooks = resolve(toy_runs.config(tmp_path, **changes)).envs[0].make_hooks()
        return [hook.name for hook in hooks]

    assert names() == ["success_bonus", "invalid_action"]
    assert names(rl__success_bonus=0) == ["invalid_action"]
    assert names(rl__success_bonus=0, rl__invalid_penalty=0) == []


def test_the_feed_draws_training_tasks_that_fit(tmp_path):
    feed_arguments = 0, UniformSampler
    feed = resolve(toy_runs.config(tmp_path)).envs[0].make_training_tasks(*feed_arguments)
    assert all(task["task_id"].count("-") <= 1 for task in feed(1, 8, 2))
    run = resolve(toy_runs.config(tmp_path, "--no-fit-horizon"))
    loose = run.envs[0].make_training_tasks(*feed_arguments)
    assert any(task["task_id"].count("-") > 1 for task in loose(1, 8, 2))

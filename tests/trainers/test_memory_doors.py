"""``--memory.*``, asked through the command."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from agentgym.errors import ConfigurationError, DependencyNotInstalled
from tests.trainers import tiny_policy, toy_runs
from trainers.cli import main, parse_config
from trainers.config.resolve import resolve
from trainers.models.memory_plan import plan_memory
from trainers.models.tiny import build_model

pytestmark = pytest.mark.slow

FSDP = {"ACCELERATE_USE_FSDP": "true"}
ZERO2 = {"ACCELERATE_USE_DEEPSPEED": "true", "ACCELERATE_DEEPSPEED_ZERO_STAGE": "2"}
ZERO3 = {**ZERO2, "ACCELERATE_DEEPSPEED_ZERO_STAGE": "3"}
QUICK: dict[str, Any] = {"steps": 1, "eval__every": 0, "eval__num_tasks": 4, "sft__max_steps": 0}

TRAINS = {"rl__filters": "none", "rl__learning_rate": 1e-3}
"""The model solves nothing, so its groups have equal returns: without a filter they train."""


@pytest.fixture(scope="module")
def chat_model(tmp_path_factory: Any) -> Path:
    """A model as one finds it on the hub, but small."""
    folder: Path = tmp_path_factory.mktemp("chat-model")
    tokenizer = tiny_policy.tokenizer()
    tokenizer.save_pretrained(folder)
    size = tiny_policy.TinyConfig(hidden=64, layers=2, heads=2, intermediate=128, context=256)
    build_model(tokenizer, size).save_pretrained(folder)
    return folder


def settings(**changes: Any) -> Any:
    """The settings of memory as a run would use them."""
    return resolve(toy_runs.config(Path("unused"), **changes)).config.memory


def test_a_pretrained_model_is_checkpointed_and_a_tiny_one_is_not(chat_model):
    unset = {"memory__micro_tokens": None}
    tiny, other_settings = settings(**unset), settings(model=chat_model, **QUICK, **unset)
    assert (tiny.precision, tiny.checkpointing, tiny.micro_tokens) == ("fp32", "off", 2048)
    assert (other_settings.checkpointing, other_settings.micro_tokens) == ("on", 16_384)
    options = {"memory__precision": "bf16", "memory__checkpointing": "off"}
    memory = settings(model=chat_model, **QUICK, **options)
    assert (memory.precision, memory.checkpointing) == ("bf16", "off")


@pytest.mark.parametrize(
    ("able", "least", "precision"),
    [
        ({"amx_bf16": True}, 10_000, "bf16"),
        ({"avx512_bf16": True}, 10_000, "bf16"),
        ({"avx512_bf16": True}, 10_000_000, "fp32"),
        ({"avx512": True}, 10_000, "fp32"),
    ],
)
def test_a_large_model_multiplies_in_bf16_where_the_processor_does(
    chat_model, tmp_path, monkeypatch, able, least, precision
):
    """By instructions and size, not by a clock; a run that goes on keeps what it began with."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: able)
    monkeypatch.setattr("trainers.config.model_files.precision.BF16_WEIGHTS", least)
    flags = {"memory__precision": "auto", **QUICK}
    assert settings(**flags).precision == "fp32", "the policy from scratch"
    assert settings(model=chat_model, **flags).precision == precision
    other_precision = "fp32" if precision == "bf16" else "bf16"
    (tmp_path / "config.yaml").write_text(f"resolved: {{memory: {{precision: {other_precision}}}}}")
    assert settings(model=chat_model, **flags).precision == precision
    resumed = resolve(toy_runs.config(tmp_path, "--resume", model=chat_model, **flags))
    assert resumed.config.memory.precision == other_precision


@pytest.mark.parametrize(
    ("bits", "changes"),
    [
        ("4bit", {"memory__precision": "bf16", "memory__optimizer": "adamw-8bit"}),
        ("8bit", {"memory__precision": "fp32", "memory__checkpointing": "off"}),
    ],
)
def test_adapters_are_trained_over_a_quantised_base(chat_model, tmp_path, bits, changes):
    """From the command to the adapter that is kept; the base has the bits that were asked for."""
    import torch
    from safetensors.torch import load_file

    out = tmp_path / "run"
    options = QUICK | TRAINS | changes | {"memory__quantize": bits, "model": chat_model}
    assert main(toy_runs.arguments(out, **options)) == 0
    weights = load_file(out / "checkpoints" / "trained" / "adapter_model.safetensors")
    assert all(weight.dtype == torch.float32 for weight in weights.values())
    [step] = toy_runs.by_phase(out)["rl"]
    assert 0 < step["importance_mean"] < 2, "tokens of an inexact engine are weighed"


def test_all_weights_are_trained_in_bfloat16(chat_model, tmp_path):
    """What is kept is float32, and the engine generates as the training multiplies."""
    import torch

    out = tmp_path / "run"
    changes = {"memory__precision": "bf16", "lora__r": 0, "rl__learning_rate": 1e-6}
    changes = QUICK | TRAINS | changes | {"model": chat_model}
    assert main(toy_runs.arguments(out, **changes)) == 0
    weights = toy_runs.trained_weights(out)
    assert all(weight.dtype == torch.float32 for weight in weights.values())
    [step] = toy_runs.by_phase(out)["rl"]
    assert 0 < step["importance_mean"] < 2, "tokens of an inexact engine are weighed"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": "tiny"}, "expected a pretrained --model"),
        ({"lora__r": 0}, "expected a pretrained --model with --lora.r above 0"),
        ({"engine": "vllm"}, "expected --engine hf with --memory.quantize 4bit"),
        ({"sft__max_steps": 5}, "expected --sft.max-steps 0 with --memory.quantize 4bit"),
    ],
)
def test_what_cannot_be_quantised_is_refused(chat_model, changes, message):
    options = {**QUICK, "model": chat_model, "memory__quantize": "4bit", **changes}
    with pytest.raises(ConfigurationError, match=message):
        settings(**options)


def test_a_missing_bitsandbytes_is_named_with_what_installs_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "bitsandbytes", None)
    with pytest.raises(DependencyNotInstalled, match=r"bitsandbytes.*\[memory\]"):
        settings(memory__optimizer="adamw-8bit")


def test_pages_want_a_gpu(monkeypatch):
    import types

    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setitem(sys.modules, "bitsandbytes", types.ModuleType("bitsandbytes"))
    with pytest.raises(ConfigurationError, match=r"expected a GPU .* use adamw-8bit or adamw"):
        settings(memory__optimizer="paged-adamw-8bit")


def test_a_dry_run_tells_the_memory_without_loading_weights(
    chat_model, tmp_path, capsys, monkeypatch
):
    monkeypatch.setenv("COLUMNS", "200")
    (bare := tmp_path / "bare").mkdir()
    for path in chat_model.iterdir():
        if path.suffix != ".safetensors":
            (bare / path.name).write_bytes(path.read_bytes())
    flags = toy_runs.arguments(tmp_path / "run", "--dry-run", model=bare, **QUICK)
    assert main(flags) == 0
    output = capsys.readouterr().out
    assert "memory per device, estimated" in output
    estimate = plan_memory(resolve(parse_config(flags))).estimate
    for part in ("weights", "gradients", "optimizer", "activations", "working", "generation"):
        assert getattr(estimate, part) > 0, part
    assert "│ 0.00" not in output, "a model so small has no row of figures"
    assert "micro-batches of 400 tokens" in output
    assert main(toy_runs.arguments(tmp_path / "run", "--dry-run", model=tmp_path / "no")) == 2
    assert "expected --model" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("launched", "divided", "shards", "engine"),
    [
        ({}, "nothing", (1, False), "hf"),
        (FSDP, "weights, gradients", (4, True), "hf-copy"),
        (ZERO2, "gradients and optimiser", (4, False), "hf"),
        (ZERO3, "weights, gradients", (4, True), "hf-copy"),
    ],
)
def test_a_dry_run_under_a_launcher_divides_the_memory(
    monkeypatch, tmp_path, capsys, launched, divided, shards, engine
):
    """The environment is what ``accelerate launch`` makes of our configurations."""
    single = plan_memory(resolve(toy_runs.config(tmp_path))).estimate
    for name, value in {"WORLD_SIZE": "4", "RANK": "0", **launched}.items():
        monkeypatch.setenv(name, value)
    four = plan_memory(resolve(toy_runs.config(tmp_path))).estimate
    assert four.optimizer == single.optimizer // shards[0]
    assert four.weights == single.weights // (shards[0] if shards[1] else 1)
    assert four.generation == single.generation // 4
    assert (four.engine > 0) == (engine == "hf-copy") == (four.gathered > 0)
    monkeypatch.setenv("COLUMNS", "200")
    assert main(toy_runs.arguments(tmp_path / "run", "--dry-run")) == 0
    assert f"in 4 processes that divide {divided}" in capsys.readouterr().out

"""The estimate of memory, against what training really takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from peft import LoraConfig
from transformers import LlamaConfig, Qwen3Config

from agentgym.errors import ConfigurationError
from tests.trainers.grpo.helpers import make_trainer
from trainers.methods.method import MethodMemory
from trainers.models.memory import (
    MemoryEstimate,
    ModelShape,
    TrainingSetup,
    estimate,
)
from trainers.models.memory_peak import held_bytes, peak_bytes

SHORT: dict[str, int] = {
    "vocab_size": 2000, "hidden_size": 128, "intermediate_size": 384, "num_hidden_layers": 4,
    "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32,
}  # fmt: skip
SECOND_PLAYER = (MethodMemory(players=1),)
DEEP = SHORT | {"num_hidden_layers": 8, "num_key_value_heads": 4, "vocab_size": 500}
MICRO, WIDTH, ROWS, PROMPT = 1024, 256, 8, 16


def measured(folder: Path, config: Any, training: TrainingSetup) -> int:
    """The peak of an update of two micro-batches, weights and optimiser states included."""
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_config(config)
    options: dict[str, Any] = {}
    if training.rank:
        model = model.to(torch.bfloat16 if training.precision == "bf16" else torch.float32)
        options["peft_config"] = LoraConfig(
            r=training.rank, target_modules="all-linear", task_type="CAUSAL_LM"
        )
    trainer = make_trainer(
        folder,
        model,
        probe_every=0,
        micro_tokens=training.micro_tokens,
        logits_mib=training.logits_mib,
        args={"bf16": training.precision == "bf16"},
        **options,
    )
    trainer.model.train()
    if training.checkpointing:
        trainer.model.gradient_checkpointing_enable()
    trainer.create_optimizer()
    rows = batch(config.vocab_size)

    def update() -> None:
        trainer.compute_loss(trainer.model, rows).backward()
        trainer.optimizer.step()
        trainer.optimizer.zero_grad()

    update()
    states = [s for state in trainer.optimizer.state.values() for s in state.values()]
    tensors = [*trainer.model.parameters(), *trainer.model.buffers(), *states]
    return held_bytes(tensors) + peak_bytes(update)


def batch(vocabulary: int) -> dict[str, Any]:
    """Rows of random tokens, all of them trained."""
    draw = torch.Generator().manual_seed(0)
    shape = (ROWS, WIDTH - PROMPT)
    mask = torch.ones(shape, dtype=torch.long)
    return {
        "prompt_ids": torch.randint(vocabulary, (ROWS, PROMPT), generator=draw),
        "prompt_mask": torch.ones((ROWS, PROMPT), dtype=torch.long),
        "completion_ids": torch.randint(vocabulary, shape, generator=draw),
        "completion_mask": mask,
        "tool_mask": mask,
        "sampling_per_token_logps": torch.zeros(shape),
        "advantages": torch.randn(shape, generator=draw),
        "token_weights": torch.ones(shape),
        "behaviour_weights": torch.ones(shape),
        "num_items_in_batch": mask.sum(),
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("config", "precision", "rank", "checkpointing"),
    [
        pytest.param(
            config, precision, rank, checkpointing, id=f"{name}-rank{rank}-{checkpointing}"
        )
        for turn, (name, config, precision) in enumerate([
            ("qwen3", Qwen3Config(**SHORT), "fp32"), ("qwen3-bf16", Qwen3Config(**SHORT), "bf16"),
            ("llama-deep", LlamaConfig(**DEEP), "fp32"),
        ])
        for rank, checkpointing in (((0, False), (8, True)), ((0, True), (8, False)))[turn % 2]
    ],
)  # fmt: skip
def test_the_estimate_is_what_training_takes(tmp_path, config, precision, rank, checkpointing):
    training = TrainingSetup(
        MICRO, WIDTH, precision, checkpointing, rank, logits_mib=2, triton=torch.cuda.is_available()
    )
    ratio = estimate(ModelShape.of(config), training).total / measured(tmp_path, config, training)
    assert 0.85 < ratio < 1.2


def test_the_peak_counts_what_lives_at_the_same_time():
    """Ten numbers at a time, never twenty; what was there before does not count."""
    draws = torch.zeros(1000)

    def work() -> None:
        for _ in range(3):
            (torch.ones(10_000) + 1).sum() + draws.sum()

    assert 2 * 40_000 <= peak_bytes(work) < 3 * 40_000
    assert held_bytes([draws, draws[:10], torch.zeros(5)]) == 4020


def sizes(**changes: Any) -> MemoryEstimate:
    """An estimate for an 8 B model, of 36 layers and a vocabulary of 151,936."""
    shape = ModelShape(
        36, 4096, 12288, 4096, 1024, 151_936, 8_190_735_360, 6_945_767_424, 1_032_192
    )
    return estimate(shape, TrainingSetup(**{"micro_tokens": 16_384, "row_tokens": 8448, **changes}))


def test_the_shape_is_read_from_a_configuration_alone():
    config = Qwen3Config(
        vocab_size=151_936, hidden_size=4096, intermediate_size=12288, num_hidden_layers=36,
        num_attention_heads=32, num_key_value_heads=8, head_dim=128, tie_word_embeddings=False,
    )  # fmt: skip
    shape = ModelShape.of(config)
    assert (shape.layers, shape.queries, shape.keys) == (36, 4096, 1024)
    assert shape.parameters == 8_190_735_360
    assert shape.matrices == 6_945_767_424


def test_adapters_take_memory_on_the_chosen_layers_alone():
    config = Qwen3Config(
        vocab_size=100, hidden_size=8, intermediate_size=16, num_hidden_layers=2,
        num_attention_heads=2, num_key_value_heads=1, head_dim=4,
    )  # fmt: skip
    full, part = ModelShape.of(config), ModelShape.of(config, ("q_proj", "down_proj"))
    assert part.ends == 2 * (8 + 8 + 16 + 8) < full.ends
    assert part.matrices == full.matrices
    expected = r"\(down_proj, gate_proj, .*\), got lm_head, no_proj"
    with pytest.raises(ConfigurationError, match=expected):
        ModelShape.of(config, ("q_proj", "lm_head", "no_proj"))
    with pytest.raises(ConfigurationError, match="got none"):
        ModelShape.of(config, ())


@pytest.mark.parametrize(
    ("changes", "part", "low", "high"),
    [
        ({}, "weights", 30.5, 30.6),
        ({}, "optimizer", 61.0, 61.1),
        ({"rank": 16, "precision": "bf16"}, "weights", 15.3, 15.5),
        ({"rank": 16, "precision": "bf16", "quantize": "4bit"}, "weights", 5.6, 6.0),
        ({"optimizer": "adamw-8bit"}, "optimizer", 15.4, 15.6),
        ({"reference": True}, "reference", 30.5, 30.6),
        ({"reference": True, "rank": 16}, "reference", 0.0, 0.0),
        ({"methods": SECOND_PLAYER}, "reference", 30.5, 30.6),
        ({"methods": SECOND_PLAYER, "rank": 16}, "reference", 0.06, 0.07),
        ({"engine_copy": True, "methods": SECOND_PLAYER}, "engine", 61.0, 61.1),
        ({"shards": 8}, "optimizer", 7.6, 7.7),
        ({"shards": 8}, "weights", 30.5, 30.6),
        ({"shards": 8, "weights_sharded": True}, "weights", 3.8, 3.9),
        ({"shards": 8, "weights_sharded": True}, "gathered", 6.0, 6.2),
        ({"engine_copy": True, "rank": 16, "precision": "bf16"}, "engine", 15.2, 15.3),
        ({"slots": 16, "context": 8448, "precision": "bf16"}, "generation", 18.5, 18.6),
    ],
)
def test_parts_of_the_estimate_for_8_b(changes, part, low, high):
    assert low <= getattr(sizes(**changes), part) / 2**30 <= high


def test_neither_vocabulary_nor_micro_tokens_decide_on_the_logits():
    """Without tiles those of 16,384 tokens alone were 9.3 GiB."""
    working = [sizes(rank=16, precision="bf16", micro_tokens=n).working for n in (16_384, 32_768)]
    assert all(size < 4 * 2**30 for size in working)

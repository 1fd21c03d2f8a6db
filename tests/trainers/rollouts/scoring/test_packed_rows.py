"""Prefixes computed once: scores and gradients of rows, for every loss and architecture."""

from __future__ import annotations

import logging
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from peft import LoraConfig
from trl.trainer.utils import add_fused_lm_head

from agentgym.vector import TextVectorEnv
from tests.trainers.grpo.helpers import make_trainer, part
from tests.trainers.grpo.test_objective import DRIFT, PLAYED, WINDOWED, Mixed, disturb
from trainers.algorithms.presets import get_preset
from trainers.grpo import policy_trainer
from trainers.methods.critic.critic import Critic, CriticSettings, make_critic
from trainers.rollouts.scoring import forward as forward_module
from trainers.rollouts.scoring.forward import TokenForward
from trainers.rollouts.scoring.packed_rows import (
    computes_packed_rows,
    longest_row,
    pack,
    report_single_rows,
)
from trainers.rollouts.scoring.tensors import left_aligned, row_inputs, sampled_mask

INPUTS = [{"prompt": ""}] * 16
ADAPTERS = LoraConfig(
    task_type="CAUSAL_LM", r=4, target_modules="all-linear", init_lora_weights=False
)


def exact_head(
    hidden: Any, weight: Any, bias: Any, targets: Any, temperature: float, *_: Any
) -> tuple[Any, ...]:
    """TRL's fused head in the precision of its inputs; TRL adds up in single precision."""
    logps = torch.log_softmax(hidden @ weight.T / temperature, -1)
    entropies = -(logps.exp() * logps).sum(-1)
    return logps.gather(-1, targets[:, None])[:, 0], entropies, None, None, None


def exact_norm(self: Any, hidden: Any) -> Any:
    """The norm of Qwen3 in the precision of its input, which transformers turns to single."""
    scale = torch.rsqrt(hidden.pow(2).mean(-1, keepdim=True) + self.variance_epsilon)
    return self.weight * hidden * scale


@pytest.fixture
def exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no part of the model round to single precision."""
    monkeypatch.setattr("trl.trainer.utils._ChunkedLogProbFunction.apply", exact_head)
    monkeypatch.setattr("transformers.models.qwen3.modeling_qwen3.Qwen3RMSNorm.forward", exact_norm)


def playing(folder: Path, name: str, **changes: Any) -> Any:
    """A trainer of a preset on episodes of several lengths and rows."""
    torch.manual_seed(0)  # of adapters
    preset = replace(get_preset(name), refill=0)
    if preset.branching is not None:  # Groups of the toy are of four.
        preset = replace(preset, branching=replace(preset.branching, roots=2))
    envs = TextVectorEnv([Mixed] * 16)
    args = {"minibatches": 2, **changes.pop("args", {})}
    return make_trainer(folder, preset=preset, envs=envs, probe_every=0, args=args, **changes)


def gradients(trainer: Any, updates: list[Any], packs: bool) -> tuple[list[Any], int]:
    """The gradient of every update, and the tokens that all passes computed."""
    trainer._forward._packs = packs
    tokens = 0

    def count(module: Any, inputs: Any, options: Any) -> None:
        nonlocal tokens
        tokens += options["input_ids"].numel()

    model = trainer._policy
    base = model.get_base_model() if hasattr(model, "get_base_model") else model
    handle = base.base_model.register_forward_pre_hook(count, with_kwargs=True)
    vectors = []
    for update in updates:
        trainer.model.zero_grad()
        trainer.compute_loss(trainer.model, update).backward()
        weights = [p for p in trainer.model.parameters() if p.requires_grad]
        if (critic := part(trainer, Critic)) and critic.in_loss:
            weights += list(critic._trained.values())
            for weight in critic._trained.values():
                assert weight.grad is not None
        vectors.append(torch.cat([p.grad.flatten().double() for p in weights]))
        for weight in weights:
            weight.grad = None
    handle.remove()
    return vectors, tokens


def compare(trainer: Any, tolerance: float, dtype: torch.dtype = torch.float64) -> None:
    """Compare the gradients of a batch's updates, away from the policy that played."""
    trainer.model.train()
    updates = [trainer._prepare_inputs(INPUTS), *trainer._buffered_inputs[1:]]
    disturb(trainer.model, DRIFT, 2)
    trainer.model.to(dtype)
    assert trainer._forward.packs(trainer.model)
    rows, row_tokens = gradients(trainer, updates, packs=False)
    packed, packed_tokens = gradients(trainer, updates, packs=True)
    assert packed_tokens <= 0.8 * row_tokens
    assert any(gradient.norm() > 0 for gradient in rows)
    for expected, packed_row in zip(rows, packed, strict=True):
        assert (expected - packed_row).norm() <= tolerance * expected.norm()


@pytest.mark.parametrize("name", PLAYED)
@pytest.mark.usefixtures("exact")
def test_gradients_of_every_preset_are_those_of_rows(tmp_path, name):
    """Rewritten histories, forks, minibatches; in double precision nothing but order differs."""
    compare(playing(tmp_path, name, **WINDOWED), 1e-9)


@pytest.mark.parametrize("name", ["default", "gspo", "reinforce++"])
@pytest.mark.parametrize("adapters", [None, ADAPTERS], ids=["weights", "adapters"])
def test_gradients_of_micro_batches_in_single_precision(tmp_path, name, adapters):
    options: dict[str, Any] = {"micro_tokens": 160, "logits_mib": 1, **WINDOWED}
    if adapters is not None:
        options["peft_config"] = adapters
    trainer = playing(tmp_path, name, **options)
    compare(trainer, 1e-5, torch.float32)


@pytest.mark.usefixtures("exact")
def test_gradients_with_a_critic_that_shares_layers(tmp_path):
    """Its error trains the policy's layers through the states of the packed row."""
    critic = CriticSettings(trunk="shared", lr=0.01)
    parts = {"critic": partial(make_critic, settings=critic)}
    trainer = playing(tmp_path, "ppo", parts=parts, **WINDOWED)
    with torch.no_grad():
        part(trainer, Critic)._head.weight.normal_(generator=torch.Generator().manual_seed(3))
    compare(trainer, 1e-6)  # The head of a critic is single precision.


def test_checkpointing_changes_no_packed_gradient(tmp_path):
    gradient_lists = []
    for checkpointing in (False, True):
        trainer = playing(tmp_path, "default", args={"gradient_checkpointing": checkpointing})
        trainer.model.train()
        if checkpointing:
            trainer.model.gradient_checkpointing_enable(trainer.args.gradient_checkpointing_kwargs)
        updates = [trainer._prepare_inputs(INPUTS), *trainer._buffered_inputs[1:]]
        gradient_lists.append(gradients(trainer, updates, packs=True)[0])
    for plain_gradient, other_gradient in zip(*gradient_lists, strict=True):
        assert torch.equal(plain_gradient, other_gradient)


def test_scores_states_and_listeners_are_those_of_rows(tmp_path):
    trainer = playing(tmp_path, "default", **WINDOWED)
    batch = trainer._generate_and_score_completions(INPUTS)
    mask, calls = sampled_mask(batch), []
    scores, logps = [], []
    for packs in (False, True):
        trainer._forward._packs = packs
        with torch.no_grad():
            scores.append(trainer._forward(trainer.model, batch, mask, states=True))
        logps.append(
            trainer._forward.logps(
                trainer.model, batch, listeners=[lambda *args: calls.append(args)]
            )
        )
    rows, packed = scores
    assert torch.allclose(rows.logps, packed.logps, atol=1e-5)
    assert torch.allclose(rows.entropies, packed.entropies, atol=1e-5)
    assert torch.allclose(rows.states[mask], packed.states[mask], atol=1e-5)
    assert torch.allclose(*logps, atol=1e-5)
    for expected, packed_row in zip(*calls, strict=True):
        places = mask if expected.dim() == 3 else slice(None)
        assert torch.allclose(expected[places], packed_row[places], atol=1e-5)
    assert not packed.logps[~mask].any()


def test_padding_rows_and_rows_without_trained_tokens_take_no_part(tmp_path):
    trainer = playing(tmp_path, "default")
    batch = trainer._generate_and_score_completions(INPUTS)
    mask = sampled_mask(batch)
    mask[::4] = False
    ids, _, labels, _ = left_aligned(batch, mask)
    packed = pack(row_inputs(ids, labels), labels)
    assert packed is not None
    assert [len(places) > 0 for places in packed.tree.places] == mask.any(1).tolist()
    logps = []
    for packs in (False, True):
        trainer._forward._packs = packs
        with torch.no_grad():
            logps.append(trainer._forward(trainer.model, batch, mask).logps)
    assert torch.allclose(*logps, atol=1e-5)
    trainer._forward(trainer.model, batch, torch.zeros_like(mask)).logps.sum().backward()


def test_what_would_save_little_is_not_packed():
    rows = torch.arange(80).reshape(4, 20)
    labels = rows.clone()
    labels[:, 0] = -100
    assert pack(row_inputs(rows, labels), labels) is None
    rows[1:, :10] = rows[0, :10]
    assert pack(row_inputs(rows, labels), labels) is not None


def small(kind: str, **changes: Any) -> Any:
    """A fresh model of an architecture, as small as it may be."""
    sizes: dict[str, Any] = {
        "vocab_size": 64, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
        "num_key_value_heads": 2, "intermediate_size": 48, "pad_token_id": 0, "bos_token_id": 1,
        "eos_token_id": 2, "attn_implementation": "sdpa",
    }  # fmt: skip
    config = transformers.AutoConfig.for_model(kind, **{**sizes, **changes})
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return transformers.AutoModelForCausalLM.from_config(config).eval()


MIXTURE = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16}


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("llama", {}), ("qwen2", {}), ("qwen3", {"head_dim": 8}), ("mistral", {}), ("phi3", {}),
        ("gemma3_text", {"head_dim": 8}), ("gpt_neox", {}), ("olmo2", {}),
        ("qwen3_moe", {"head_dim": 8, **MIXTURE}),
        ("gpt2", {"n_embd": 32, "n_layer": 2, "n_head": 4}),
    ],
)  # fmt: skip
def test_architectures_that_compute_packed_rows(kind, changes):
    assert computes_packed_rows(small(kind, **changes))


@pytest.mark.parametrize(
    ("kind", "changes", "reason"),
    [
        ("lfm2", {"layer_types": ["conv", "full_attention"]}, "1 of 2 layers attend by rows"),
        ("mamba", {"attn_implementation": None}, "expected the attention 'sdpa'"),
        ("bloom", {"n_layer": 2, "n_head": 4, "attn_implementation": None}, "expected the atten"),
        ("llama", {"attn_implementation": "eager"}, "expected the attention 'sdpa', got 'eager'"),
    ],
)
def test_others_compute_rows_and_the_log_says_why(kind, changes, reason, caplog):
    with caplog.at_level(logging.WARNING):
        assert not computes_packed_rows(small(kind, **changes))
    assert reason in caplog.text


def test_a_model_without_positions_is_found_out(monkeypatch, caplog):
    """Branches would stand one behind the other."""
    model = small("llama")
    backbone = type(model.model).forward
    monkeypatch.setattr(
        type(model.model), "forward",
        lambda self, *a, position_ids=None, **k: backbone(self, *a, **k),
    )  # fmt: skip
    with caplog.at_level(logging.WARNING):
        assert not computes_packed_rows(model)
    assert "states differ by" in caplog.text


def test_rows_beyond_a_sliding_window_are_not_packed(tmp_path, monkeypatch, caplog):
    assert longest_row(small("mistral", sliding_window=8)) == 8
    assert longest_row(small("llama")) > 10**9
    trainer = playing(tmp_path, "default")
    batch = trainer._generate_and_score_completions(INPUTS)
    trainer._forward._longest = 8
    monkeypatch.setattr(forward_module, "pack", lambda *_: pytest.fail("packed"))
    report_single_rows.cache_clear()
    for _ in range(2):
        trainer._forward(trainer.model, batch, sampled_mask(batch))
    assert caplog.text.count("a layer attends to 8 tokens at most") == 1


def test_the_loss_of_a_router_counts_the_tokens_of_rows(tmp_path, monkeypatch, caplog):
    trainer = playing(tmp_path, "default")
    batch = trainer._generate_and_score_completions(INPUTS)
    mixture = small("qwen3_moe", head_dim=8, **MIXTURE)
    add_fused_lm_head(mixture, outputs=("log_probs", "entropy"))
    forward = TokenForward(trainer.accelerator, mixture, logits_mib=1)
    assert forward.packs(mixture)
    monkeypatch.setattr(forward_module, "pack", lambda *_: pytest.fail("packed"))
    report_single_rows.cache_clear()
    scores = forward(mixture, batch, sampled_mask(batch), router_loss=True)
    assert "a router's loss is a mean over the tokens of rows" in caplog.text
    assert scores.router_loss is not None
    trainer.aux_loss_enabled = True
    widths = [len(part.rows) for part in trainer._micro_batches(batch)]
    monkeypatch.setattr(policy_trainer, "packed_micro_batches", lambda *_: pytest.fail("packed"))
    assert widths == [len(part.rows) for part in trainer._micro_batches(batch)]


def test_sharing_can_be_turned_off(tmp_path, monkeypatch):
    monkeypatch.setattr(forward_module, "pack", lambda *_: pytest.fail("packed"))
    trainer = playing(tmp_path, "default", shared_prefixes=False)
    batch = trainer._generate_and_score_completions(INPUTS)
    trainer._forward(trainer.model, batch, sampled_mask(batch))

"""A random policy of 0.2 M weights and helpers to disturb it."""

from __future__ import annotations

from typing import Any

VOCABULARY = 97
CONTEXT = 384
EOS = 2

GROUPS = (
    "input_layernorm",
    "post_attention_layernorm",
    "q_norm",
    "k_norm",
    "q_proj",
    "k_proj",
    "v_proj",
    "o_proj",
    "gate_proj",
    "up_proj",
    "down_proj",
    "model.norm",
    "embed_tokens",
)
"""Name parts that together cover every parameter of the tied model."""


def make_model(*, tied: bool = True, seed: int = 0) -> Any:
    """A Qwen3 from its configuration, with weights large enough to have opinions."""
    import torch
    from transformers import Qwen3Config, Qwen3ForCausalLM

    config = Qwen3Config(
        vocab_size=VOCABULARY,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=32,
        max_position_embeddings=CONTEXT,
        tie_word_embeddings=tied,
        initializer_range=0.2,
        bos_token_id=1,
        eos_token_id=EOS,
        pad_token_id=0,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Qwen3ForCausalLM(config).eval()


def add_lora(model: Any, **options: Any) -> Any:
    """Wrap in LoRA whose B is random, so that merging changes the policy."""
    import torch
    from peft import LoraConfig, get_peft_model

    settings: dict[str, Any] = {"r": 4, "lora_alpha": 8, "target_modules": "all-linear", **options}
    peft = get_peft_model(model, LoraConfig(task_type="CAUSAL_LM", **settings))
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for name, parameter in peft.named_parameters():
            if "lora_B" in name:
                parameter.copy_(0.1 * torch.randn(parameter.shape, generator=generator))
    return peft


def disturb(model: Any, part: str, scale: float = 0.3, seed: int = 0) -> int:
    """Add noise to every parameter whose name holds ``part``; returns how many there were."""
    import torch

    generator = torch.Generator().manual_seed(seed)
    names = [(name, p) for name, p in model.named_parameters() if part in name]
    with torch.no_grad():
        for _, parameter in names:
            spread = float(parameter.std()) or 1.0
            parameter.add_(scale * spread * torch.randn(parameter.shape, generator=generator))
    return len(names)


def prompts(count: int = 8, length: int = 12) -> list[list[int]]:
    """Random prompts of ``length`` tokens and a little more each."""
    import numpy as np

    rng = np.random.default_rng(7)
    return [rng.integers(3, VOCABULARY, length + i).tolist() for i in range(count)]


def copied(model: Any) -> dict[str, Any]:
    """All parameters and buffers, cloned."""
    return {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}

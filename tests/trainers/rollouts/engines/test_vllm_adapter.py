"""Which adapters vLLM can serve as they are."""

from __future__ import annotations

from typing import Any

import pytest
from peft import PeftModel
from safetensors.torch import load_file

from agentgym.errors import ConfigurationError
from tests.trainers.vllm.policy import add_lora, make_model
from trainers.rollouts.engines.policy_weights import policy_weights
from trainers.rollouts.engines.vllm_adapter import (
    AdapterFolder,
    serves_adapter,
    vllm_rank,
    why_merged,
)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({}, None),
        ({"use_rslora": True, "target_modules": ["q_proj"]}, None),
        ({"use_dora": True}, "use_dora"),
        ({"modules_to_save": ["norm"]}, "modules_to_save"),
        ({"rank_pattern": {"q_proj": 2}}, "rank_pattern"),
        ({"alpha_pattern": {"q_proj": 2}}, "alpha_pattern"),
        ({"bias": "lora_only"}, "biases"),
        ({"r": 600}, "rank up to 512"),
    ],
)
def test_only_plain_low_rank_adapters_are_served(
    options: dict[str, Any], reason: str | None
) -> None:
    problem = why_merged(add_lora(make_model(), **options))
    assert problem is None if reason is None else reason in str(problem)


def test_a_base_that_is_trained_too_has_to_be_sent() -> None:
    policy = add_lora(make_model())
    next(p for n, p in policy.named_parameters() if n.endswith("norm.weight")).requires_grad = True
    assert "is trained, too" in str(why_merged(policy))
    assert "0 active adapters" in str(why_merged(make_model()))


@pytest.mark.parametrize(
    ("lora", "dtype", "on_cpu", "served"),
    [
        ("auto", "bfloat16", False, True),
        ("auto", "float32", False, False),  # vLLM's kernels have no float32
        ("auto", "float32", True, False),
        ("adapter", "float32", True, True),
        ("merge", "bfloat16", False, False),
    ],
)
def test_where_adapters_are_served(lora: Any, dtype: str, on_cpu: bool, served: bool) -> None:
    policy = add_lora(make_model())
    assert serves_adapter(lora, policy, dtype=dtype, on_cpu=on_cpu) is served


def test_what_cannot_be_served_is_refused_if_asked_for() -> None:
    policy = add_lora(make_model(), use_dora=True)
    assert not serves_adapter("auto", policy, dtype="bfloat16", on_cpu=False)
    with pytest.raises(ConfigurationError, match=r"--vllm.lora adapter, but .*use_dora"):
        serves_adapter("adapter", policy, dtype="bfloat16", on_cpu=False)
    with pytest.raises(ConfigurationError, match="float32"):
        serves_adapter("adapter", add_lora(make_model()), dtype="float32", on_cpu=False)


def test_ranks_are_those_vllm_is_built_for() -> None:
    assert [vllm_rank(r) for r in (1, 2, 8, 9, 100, 512)] == [1, 8, 8, 16, 128, 512]


def test_the_folder_holds_the_latest_adapter_in_pefts_format(tmp_path) -> None:
    import torch

    policy = add_lora(make_model())
    folder = AdapterFolder(tmp_path / "adapters")
    first, second = (folder.write(policy, version) for version in (1, 2))
    assert first != second and not first.exists()
    assert all("lora_" in name for name in load_file(second / "adapter_model.safetensors"))
    ids = torch.tensor([[5, 6, 7]])
    loaded = PeftModel.from_pretrained(make_model(), second)
    with torch.no_grad():
        assert torch.equal(loaded(ids).logits, policy(ids).logits)
    folder.clear()
    assert not second.exists()


def test_weights_without_adapters_are_those_of_the_base() -> None:
    base = dict(make_model().named_parameters())
    weights = dict(policy_weights(add_lora(make_model()), merged=False))
    assert weights.keys() == base.keys()
    assert all(bool((weights[name] == tensor).all()) for name, tensor in base.items())

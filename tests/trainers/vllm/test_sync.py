"""Weights reach the real engine: every parameter group, tied or not, merged or plain."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from agentgym.errors import ConfigurationError
from tests.trainers.vllm.policy import (
    CONTEXT,
    GROUPS,
    add_lora,
    copied,
    disturb,
    make_model,
    prompts,
)
from trainers.rollouts.engines.base import Sampling, generate
from trainers.rollouts.engines.parity import FP32_TOLERANCE, ParityError, probe_parity
from trainers.rollouts.engines.policy_weights import policy_weights

SAMPLING = Sampling(max_tokens=16)


@pytest.fixture(autouse=True)
def restored(model: Any) -> Iterator[None]:
    """Each test starts from the same weights."""
    weights_before = copied(model)
    yield
    model.load_state_dict(weights_before)


def gap(engine: Any, model: Any, length: int = 12) -> float:
    return probe_parity(engine, model, prompts(length=length), SAMPLING, tolerance=None).max_abs


def test_groups_cover_every_parameter(model: Any) -> None:
    assert all(any(part in name for part in GROUPS) for name, _ in model.named_parameters())


@pytest.mark.parametrize("part", GROUPS)
def test_every_parameter_group_arrives(engine: Any, model: Any, part: str) -> None:
    engine.sync(policy_weights(model), 1)
    assert gap(engine, model) < FP32_TOLERANCE
    assert disturb(model, part) > 0
    assert gap(engine, model) > 10 * FP32_TOLERANCE
    engine.sync(policy_weights(model), 2)
    assert engine.version == 2
    assert gap(engine, model) < FP32_TOLERANCE


def test_plain_named_parameters_keep_the_tied_head_fresh(engine: Any, model: Any) -> None:
    disturb(model, "embed_tokens")
    engine.sync(model.named_parameters(), 1)
    assert gap(engine, model) < FP32_TOLERANCE


def test_engine_holds_copies(engine: Any, model: Any) -> None:
    engine.sync(policy_weights(model), 1)
    completions_before = generate(engine, prompts(), SAMPLING)
    for part in GROUPS:
        disturb(model, part)
    assert generate(engine, prompts(), SAMPLING) == completions_before


def test_prefix_cache_is_forgotten(engine: Any, model: Any) -> None:
    engine.sync(policy_weights(model), 1)
    assert gap(engine, model, length=300) < FP32_TOLERANCE  # two full cache blocks
    disturb(model, "k_proj")
    disturb(model, "v_proj")
    engine.sync(policy_weights(model), 2)
    assert gap(engine, model, length=300) < FP32_TOLERANCE


def test_probe_names_a_stale_engine(engine: Any, model: Any) -> None:
    engine.sync(policy_weights(model), 7)
    disturb(model, "embed_tokens")
    with pytest.raises(ParityError, match=r"'vllm' \(weights version 7\).*tied lm_head"):
        probe_parity(engine, model, prompts(), SAMPLING)


def test_adapter_names_are_refused(engine: Any) -> None:
    peft = add_lora(make_model())
    with pytest.raises(ConfigurationError, match="policy_weights"):
        engine.sync(peft.named_parameters(), 1)
    with pytest.raises(ConfigurationError, match="got no"):
        engine.sync([], 1)
    generate(engine, prompts(), SAMPLING)


@pytest.mark.parametrize("options", [{}, {"use_dora": True}, {"use_rslora": True, "r": 8}])
def test_merged_adapters_arrive_and_training_weights_stay(
    engine: Any, options: dict[str, Any]
) -> None:
    peft = add_lora(make_model(seed=4), **options)
    weights_before = copied(peft)
    for version in range(3):
        engine.sync(policy_weights(peft), version)
        assert gap(engine, peft) < FP32_TOLERANCE
    weights_after = peft.state_dict()
    assert all(
        bool((weights_after[name] == tensor).all()) for name, tensor in weights_before.items()
    )
    disturb(peft, "lora_A")
    assert gap(engine, peft) > 10 * FP32_TOLERANCE
    engine.sync(policy_weights(peft), 4)
    assert gap(engine, peft) < FP32_TOLERANCE


def test_context_of_the_fixture_holds_the_long_prompts() -> None:
    assert max(map(len, prompts(length=300))) + SAMPLING.max_tokens <= CONTEXT

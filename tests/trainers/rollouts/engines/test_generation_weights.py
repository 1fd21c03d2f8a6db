"""Adapters are merged and matrices cast while an engine generates, and nothing of it stays."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.trainers.vllm.policy import add_lora, copied, make_model
from trainers.rollouts.engines.base import Request, Sampling, generate
from trainers.rollouts.engines.generation_weights import GenerationWeights, mergeable_layers
from trainers.rollouts.engines.hf import HFEngine
from trainers.rollouts.engines.parity import probe_parity
from trainers.rollouts.engines.policy_weights import merged_parameters, round_stochastically

SAMPLING = Sampling(max_tokens=6, stop_ids=(2,))
PROMPTS = [[4, 7, 8, 9], [4, 10], [4, 7, 7, 7, 12]]


def adapter_products(model: Any) -> list[int]:
    """Count the products with adapters from now on, in a list."""
    calls: list[int] = []
    for name, module in model.named_modules():
        if name.endswith("lora_A.default"):
            module.register_forward_hook(lambda *_: calls.append(1))
    return calls


@pytest.mark.parametrize("options", [{}, {"use_dora": True}, {"use_rslora": True}])
def test_an_engine_merges_and_samples_from_the_same_policy(options: dict[str, Any]) -> None:
    model = add_lora(make_model(), **options)
    weights_before = copied(model)
    engine = HFEngine(model)  # It tries the model once, as it is.
    calls = adapter_products(model)
    merged = generate(engine, PROMPTS, SAMPLING)
    assert not calls
    plain_completions = generate(HFEngine(model, copies=False), PROMPTS, SAMPLING)
    assert calls
    assert [out.ids for out in merged] == [out.ids for out in plain_completions]
    for completion, expected_completion in zip(merged, plain_completions, strict=True):
        assert completion.logprobs == pytest.approx(expected_completion.logprobs, abs=1e-4)
    probe_parity(HFEngine(model), model, PROMPTS, SAMPLING)
    weights_after = model.state_dict()
    assert all(torch.equal(weights_after[name], tensor) for name, tensor in weights_before.items())


def test_between_two_forwards_the_model_is_the_one_that_trains() -> None:
    model = add_lora(make_model())
    places = {name: weight.data_ptr() for name, weight in model.named_parameters()}
    engine = HFEngine(model)
    engine.submit([Request(0, PROMPTS[0], 6, 1)], SAMPLING)
    engine.advance()
    assert engine.running
    assert places == {name: weight.data_ptr() for name, weight in model.named_parameters()}
    assert not any(layer.merged for layer in mergeable_layers(model))


def test_trained_adapters_are_merged_anew() -> None:
    model = add_lora(make_model())
    engine = HFEngine(model)
    generate(engine, PROMPTS, SAMPLING)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "lora_B" in name:
                weight.add_(0.3)
    # Without sync, too: weights that were written to are noticed.
    assert probe_parity(engine, model, PROMPTS, SAMPLING).tokens


def test_resting_frees_the_merged_weights() -> None:
    engine = HFEngine(add_lora(make_model()))
    generate(engine, PROMPTS, SAMPLING)
    assert engine._weights._copies
    engine.rest()
    assert not engine._weights._copies
    generate(engine, PROMPTS, SAMPLING)
    engine.sync((), 1)
    assert not engine._weights._copies


def test_an_error_leaves_the_base_in_its_place() -> None:
    model = add_lora(make_model())
    weights_before = copied(model)
    with pytest.raises(ZeroDivisionError), GenerationWeights(model).in_use():
        raise ZeroDivisionError
    weights_after = model.state_dict()
    assert all(torch.equal(weights_after[name], tensor) for name, tensor in weights_before.items())
    assert not any(layer.merged for layer in mergeable_layers(model))


@pytest.mark.parametrize("tied", [False, True])
def test_matrices_are_cast_once_and_draw_the_same_text(tied: bool) -> None:
    """Autocast alone, which casts them for every token, is what the copies are compared with."""
    model = make_model(tied=tied)
    weights_before = copied(model)
    engine = HFEngine(model, autocast=torch.bfloat16)
    fast = generate(engine, PROMPTS, SAMPLING)
    assert {copy.dtype for *_, copy in engine._weights._copies} == {torch.bfloat16}
    plain_engine = HFEngine(model, autocast=torch.bfloat16, copies=False)
    plain = generate(plain_engine, PROMPTS, SAMPLING)
    assert not plain_engine._weights._copies
    assert [(out.ids, out.logprobs) for out in fast] == [(out.ids, out.logprobs) for out in plain]
    weights_after = model.state_dict()
    assert all(torch.equal(weights_after[name], tensor) for name, tensor in weights_before.items())


def test_an_adapter_that_is_not_finite_is_refused() -> None:
    model = add_lora(make_model())
    layer = mergeable_layers(model)[0]
    with torch.no_grad():
        layer.lora_B["default"].weight[0, 0] = float("nan")
    with pytest.raises(ValueError, match="NaN or infinity in a merged adapter"):
        merged_parameters(layer)
    assert layer.get_base_layer().weight.isfinite().all()
    assert not layer.merged


def test_disabled_adapters_are_left_alone() -> None:
    model = add_lora(make_model())
    base = generate(HFEngine(make_model()), PROMPTS, SAMPLING)
    engine = HFEngine(model)
    generate(engine, PROMPTS, SAMPLING)  # Copies with the adapters exist.
    engine.abort()
    with model.disable_adapter():
        out = generate(engine, PROMPTS, SAMPLING)
    assert [completion.ids for completion in out] == [completion.ids for completion in base]


def test_what_cannot_be_merged_stays_as_it_is() -> None:
    """Tied weights, which another layer reads, and codes of a quantization."""
    assert not mergeable_layers(make_model())
    tied = add_lora(make_model(), target_modules=["q_proj", "lm_head"])
    assert not mergeable_layers(tied)
    quantized = add_lora(make_model())
    layer = mergeable_layers(quantized)[0].get_base_layer()
    layer.weight = torch.nn.Parameter(layer.weight.to(torch.int8), requires_grad=False)
    assert not mergeable_layers(quantized)


def test_what_an_adapter_adds_survives_bfloat16() -> None:
    """Rounded to the nearest, a change of a tenth of a step would vanish from every weight."""
    model = add_lora(make_model().to(torch.bfloat16))
    layer = mergeable_layers(model)[0]
    base = layer.get_base_layer().weight.data.float()
    with torch.no_grad():
        for matrix in (layer.lora_A["default"], layer.lora_B["default"]):
            matrix.weight.data = matrix.weight.data.float()
        layer.lora_B["default"].weight.mul_(
            2.0**-12 * base.abs().mean() / layer.get_delta_weight("default").abs().mean()
        )
    delta = layer.get_delta_weight("default").detach()
    merged = merged_parameters(layer)["weight"]
    assert merged.dtype == torch.bfloat16

    def share(added: torch.Tensor) -> float:
        """How much of the adapter's change is in another one."""
        return float((added * delta).sum() / delta.square().sum())

    assert share(merged.float() - base) == pytest.approx(1.0, abs=0.2)
    assert share((base + delta).to(torch.bfloat16).float() - base) < 0.5


def test_rounding_keeps_what_is_exact_and_is_fair() -> None:
    exact = torch.randn(1000).to(torch.bfloat16).float()
    assert torch.equal(round_stochastically(exact, torch.bfloat16).float(), exact)
    between = torch.full((100, 100), -1.0 - 0.25 * 2.0**-7)  # a quarter of a step beyond -1
    rounded = round_stochastically(between, torch.bfloat16).float()
    assert set(rounded.unique().tolist()) == {-1.0, -1.0 - 2.0**-7}
    assert float(rounded.mean()) == pytest.approx(float(between.mean()), abs=2.0**-7 * 0.02)
    assert torch.equal(round_stochastically(between, torch.bfloat16).float(), rounded)
    assert torch.equal(round_stochastically(between, torch.float32), between)

"""The stream of weights: names of the base checkpoint, merged values, untouched originals."""

from __future__ import annotations

from typing import Any

import peft
import pytest
import torch

from agentgym.errors import ConfigurationError, NotSupported
from tests.trainers.vllm.policy import add_lora, copied, make_model
from trainers.rollouts.engines.policy_weights import base_model, policy_weights, with_tied_head


def logits(model: Any) -> Any:
    with torch.no_grad():
        return model(torch.arange(3, 20)[None]).logits


@pytest.mark.parametrize("tied", [True, False])
def test_plain_model_streams_its_parameters(tied: bool) -> None:
    model = make_model(tied=tied)
    streamed = dict(policy_weights(model))
    assert list(streamed) == [name for name, _ in model.named_parameters()]
    assert not any(tensor.requires_grad for tensor in streamed.values())


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize(
    "options", [{}, {"use_dora": True}, {"use_rslora": True}, {"target_modules": ["q_proj"]}]
)
def test_merged_stream_is_the_adapted_policy(tied: bool, options: dict[str, Any]) -> None:
    model = add_lora(make_model(tied=tied), **options)
    weights_before = copied(model)
    streamed = {name: tensor.clone() for name, tensor in policy_weights(model)}

    fresh = make_model(tied=tied, seed=9)
    assert sorted(streamed) == sorted(name for name, _ in fresh.named_parameters())
    fresh.load_state_dict(streamed, strict=False)
    torch.testing.assert_close(logits(fresh), logits(model), atol=1e-4, rtol=1e-4)
    assert not torch.allclose(logits(fresh), logits(make_model(tied=tied)), atol=1e-2)

    weights_after = model.state_dict()
    assert all(torch.equal(weights_after[name], tensor) for name, tensor in weights_before.items())


def test_stream_may_be_abandoned_at_any_point() -> None:
    model = add_lora(make_model())
    weights_before = copied(model)
    total = len(list(policy_weights(model)))
    for stop in range(1, total):
        stream = policy_weights(model)
        for _ in range(stop):
            next(stream)
        stream.close()
    assert all(torch.equal(model.state_dict()[name], t) for name, t in weights_before.items())
    assert len(list(policy_weights(model))) == total


def test_disabled_adapters_stream_the_base() -> None:
    model = add_lora(make_model())
    with model.disable_adapter():
        streamed = dict(policy_weights(model))
    assert all(
        torch.equal(streamed[name], parameter)
        for name, parameter in make_model().named_parameters()
    )


def test_fully_trained_modules_come_with_their_new_values() -> None:
    model = add_lora(make_model(tied=False), modules_to_save=["lm_head"])
    with torch.no_grad():
        model.get_output_embeddings().weight.add_(1.0)
    streamed = dict(policy_weights(model))
    untied = dict(make_model(tied=False).named_parameters())
    assert torch.equal(streamed["lm_head.weight"], untied["lm_head.weight"] + 1.0)


def test_weights_that_are_not_finite_stop_the_sync_and_stay() -> None:
    model = add_lora(make_model())
    with torch.no_grad():
        next(p for n, p in model.named_parameters() if "lora_B" in n).fill_(torch.nan)
    copied_before = copied(model)
    with pytest.raises(ValueError, match="NaN"):
        list(policy_weights(model))
    for name, tensor in copied_before.items():
        torch.testing.assert_close(model.state_dict()[name], tensor, equal_nan=True, rtol=0, atol=0)


@pytest.mark.filterwarnings("ignore:Model has `tie_word_embeddings")
def test_adapters_on_tied_embeddings_are_refused() -> None:
    options = {"target_modules": ["embed_tokens"]}
    with pytest.raises(ConfigurationError, match=r"input embedding.*tie_word_embeddings"):
        list(policy_weights(add_lora(make_model(), **options)))
    assert list(policy_weights(add_lora(make_model(tied=False), **options)))


def test_wrappers_that_cannot_be_merged_are_named() -> None:
    config = peft.LoraConfig(target_modules=["q_proj"], trainable_token_indices=[3, 4])
    model = peft.get_peft_model(make_model(tied=False), config)
    with pytest.raises((NotSupported, ConfigurationError), match="TrainableTokens"):
        list(policy_weights(model))


def test_wrappers_are_looked_through() -> None:
    model = make_model()
    wrapped = torch.nn.Module()
    wrapped.module = add_lora(model)
    assert base_model(wrapped) is model
    assert next(name for name, _ in policy_weights(wrapped)) == "model.embed_tokens.weight"


def test_tied_head_follows_the_embedding() -> None:
    embedding, head = torch.ones(2), torch.zeros(2)
    pairs = [("model.embed_tokens.weight", embedding), ("model.norm.weight", head)]
    assert [name for name, _ in with_tied_head(pairs)][-1] == "lm_head.weight"
    assert list(with_tied_head(pairs))[-1][1] is embedding
    explicit = [*pairs, ("lm_head.weight", head)]
    assert list(with_tied_head(explicit)) == explicit

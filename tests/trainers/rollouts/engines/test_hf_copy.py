"""An engine with weights of its own, and the stream that fills it from sharded ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from peft import LoraConfig, get_peft_model
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from agentgym.errors import NotSupported
from tests.trainers import tiny_policy
from trainers.rollouts.engines.base import Completion, Sampling, generate
from trainers.rollouts.engines.hf import HFEngine
from trainers.rollouts.engines.hf_copy import HFCopyEngine
from trainers.rollouts.engines.parity import FP32_TOLERANCE
from trainers.rollouts.engines.policy_weights import policy_weights

PROMPTS = [[4, 5, 6], [7, 8]]
SAMPLING = Sampling(max_tokens=6)


def adapted(model: Any) -> Any:
    """The model with adapters that change what it says."""
    model = get_peft_model(model, LoraConfig(r=2, target_modules="all-linear"))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_B" in name:
                parameter.add_(0.3)
    return model


def sampled(engine: Any) -> list[Completion]:
    return generate(engine, PROMPTS, SAMPLING, seeds=[1, 2])


def same(completions: list[Completion], expected: list[Completion]) -> bool:
    return all(
        completion.ids == expected_completion.ids
        and completion.logprobs == pytest.approx(expected_completion.logprobs, abs=FP32_TOLERANCE)
        for completion, expected_completion in zip(completions, expected, strict=True)
    )


@pytest.mark.parametrize("change", [lambda model: model, adapted], ids=["plain", "adapters"])
def test_it_samples_what_the_model_itself_would_once_it_is_synchronised(change):
    model = change(tiny_policy.model())
    engine = HFCopyEngine(model)
    sampled_before = sampled(HFEngine(model))
    assert same(sampled(engine), sampled_before)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(1.5)
    assert same(sampled(engine), sampled_before), "the weights are its own"
    engine.sync(policy_weights(model), 3)
    sampled_after = sampled(HFEngine(model))
    assert same(sampled(engine), sampled_after)
    assert not same(sampled_after, sampled_before)
    assert (engine.version, engine.exact) == (3, True)


def test_replaced_forward_methods_are_not_taken_over():
    model = tiny_policy.model()
    model.forward = lambda **_: pytest.fail("the original was asked")
    assert sampled(HFCopyEngine(model))


def test_weights_that_the_copy_does_not_have_are_named():
    engine = HFCopyEngine(tiny_policy.model())
    with pytest.raises(NotSupported, match=r"got 'critic\.weight'"):
        engine.sync([("critic.weight", torch.ones(1))], 1)


@pytest.fixture(scope="module")  # A second group in a process would meet meshes of the first.
def process_group(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    store = f"file://{tmp_path_factory.mktemp('group') / 'store'}"
    torch.distributed.init_process_group("gloo", init_method=store, rank=0, world_size=1)
    yield
    torch.distributed.destroy_process_group()


@pytest.mark.usefixtures("process_group")
@pytest.mark.parametrize("change", [lambda model: model, adapted], ids=["plain", "adapters"])
def test_the_stream_gathers_sharded_weights_and_leaves_them_sharded(change):
    model = change(tiny_policy.model())
    original = {name: tensor.clone() for name, tensor in policy_weights(model)}
    engine, expected = HFCopyEngine(model), sampled(HFEngine(model))
    mesh = init_device_mesh("cpu", (1,))
    for layer in model.get_submodule("base_model.model.model.layers" if change is adapted else
                                     "model.layers"):  # fmt: skip
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    streamed = dict(policy_weights(model))
    assert streamed.keys() == original.keys()
    for name, tensor in streamed.items():
        torch.testing.assert_close(tensor, original[name])
    assert all(hasattr(parameter, "full_tensor") for parameter in model.parameters())
    engine.sync(policy_weights(model), 1)
    assert same(sampled(engine), expected)
    with pytest.raises(NotSupported, match="sharded"):
        HFCopyEngine(model)

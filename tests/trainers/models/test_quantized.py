"""A base of 4 or 8 bits under adapters: what is trained is what acted, and gradients pass."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from agentgym.vector import TextVectorEnv
from tests.trainers import tiny_policy, toy_runs
from tests.trainers.grpo.helpers import make_trainer, weights
from tests.trainers.grpo.test_trainer import Picky
from trainers.config.resolve import resolve
from trainers.models.loaded_policy import adapters, load_policy
from trainers.models.tiny import build_model
from trainers.rollouts.scoring.forward import turn_off_dropout


@pytest.fixture(scope="module")
def chat_model(tmp_path_factory: Any) -> Path:
    """A small model whose matrices are whole blocks."""
    folder: Path = tmp_path_factory.mktemp("chat-model")
    tiny_policy.tokenizer().save_pretrained(folder)
    size = tiny_policy.TinyConfig(hidden=64, layers=2, heads=2, intermediate=128, context=256)
    build_model(tiny_policy.tokenizer(), size).save_pretrained(folder)
    return folder


def dequantize(model: Any) -> Any:
    """The same model with its quantised matrices written out."""
    import bitsandbytes as bnb
    from peft.utils.integrations import dequantize_module_weight

    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, bnb.nn.Linear4bit):
                linear = torch.nn.Linear(child.in_features, child.out_features, bias=False)
                linear.weight = torch.nn.Parameter(dequantize_module_weight(child).float())
                setattr(module, name, linear.requires_grad_(False))
    return model


def gradient(model: Any) -> torch.Tensor:
    """Generate, as an engine does, then take the gradient of a sequence's log-probability."""
    ids = torch.arange(4, 14)[None]
    model.eval()
    with torch.no_grad():
        model(input_ids=ids)
    model.train()
    logps = torch.log_softmax(model(input_ids=ids).logits[0, :-1], -1)
    logps.gather(1, ids[0, 1:, None]).sum().backward()
    return torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])


def test_gradients_pass_through_4_bits_after_generation(chat_model):
    """Compared with those through the same matrices, written out."""
    from peft import get_peft_model

    changes = {"memory__quantize": "4bit", "model": chat_model, "sft__max_steps": 0}
    run = resolve(toy_runs.config(Path("unused"), **changes))
    gradients = []
    for written_out in (False, True):
        model = load_policy(run, chat_model).model
        assert sum(p.dtype == torch.uint8 for p in model.parameters()) == 14
        model = dequantize(model) if written_out else model
        torch.manual_seed(0)  # of the adapters
        config: Any = adapters(run)
        config.init_lora_weights = False
        model = get_peft_model(model, config)
        turn_off_dropout(model)
        gradients.append(gradient(model))
    assert (gradients[0] - gradients[1]).norm() / gradients[1].norm() < 1e-4


@pytest.mark.parametrize("bits", ["4bit", "8bit"])
def test_a_step_moves_the_adapters_and_leaves_the_base(chat_model, tmp_path, bits):
    changes = {"memory__quantize": bits, "model": chat_model, "sft__max_steps": 0}
    run = resolve(toy_runs.config(Path("unused"), **changes))
    trainer = make_trainer(
        tmp_path,
        load_policy(run, chat_model).model,
        peft_config=adapters(run),
        envs=TextVectorEnv([Picky] * 16),
        args={"steps": 1, "lr": 1e-2, "optim": "adamw_8bit"},
        micro_tokens=200,
    )
    weights_before = weights(trainer.model)
    trainer.train()
    names = [name for name, _ in trainer.model.named_parameters()]
    pairs = zip(names, weights_before, trainer.model.parameters(), strict=True)
    moved = [(name, new.dtype) for name, old, new in pairs if not torch.equal(old, new)]
    assert moved
    assert all("lora_" in name and kind == torch.float32 for name, kind in moved)

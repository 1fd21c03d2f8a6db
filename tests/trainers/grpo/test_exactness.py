"""The policy that is trained is the one that acted: padding, dropout, masks, sharding."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from agentgym.errors import DataError, NotSupported
from agentgym.vector import TextVectorEnv
from tests.toy import ToyEnv
from tests.trainers import tiny_policy
from tests.trainers.grpo.helpers import log, make_trainer, weights
from trainers.rollouts.engines.base import Sampling, generate
from trainers.rollouts.engines.hf import HFEngine
from trainers.rollouts.engines.parity import ParityError
from trainers.rollouts.scoring.tensors import sampled_mask

INPUTS = [{"prompt": ""}] * 16


class Uneven(ToyEnv):
    """Openings of different lengths."""

    def _start(self, task: Any, rng: Any) -> str:
        return super()._start(task, rng) + " click" * (3 * (task.index % 4))


def gpt2(**changes: Any) -> Any:
    """A model with learned positions and, as it comes, dropout."""
    from transformers import GPT2Config, GPT2LMHeadModel

    tokenizer = tiny_policy.chat().tokenizer
    config = GPT2Config(
        vocab_size=len(tokenizer), n_positions=256, n_embd=16, n_layer=2, n_head=2,
        initializer_range=0.5, bos_token_id=None, eos_token_id=tokenizer.eos_token_id, **changes,
    )  # fmt: skip
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return GPT2LMHeadModel(config)


def attention_dropout() -> Any:
    """A model that keeps the dropout of its attention as a number."""
    model = tiny_policy.model()
    for module in model.modules():
        if hasattr(module, "attention_dropout"):
            module.attention_dropout = 0.3
    return model


def training_gap(trainer: Any) -> float:
    """Largest |log-probability when sampled - when trained on|, in training mode."""
    trainer.model.train()
    scored = trainer._generate_and_score_completions(INPUTS)
    lengths = scored["prompt_mask"].sum(1)
    assert lengths.min() < lengths.max(), "no row is padded"
    gap = trainer._forward.logps(trainer.model, scored) - scored["sampling_per_token_logps"]
    return float(gap[sampled_mask(scored)].abs().max())


@pytest.mark.parametrize("make", [gpt2, attention_dropout], ids=["positions", "dropout"])
def test_the_training_forward_is_that_of_the_sampler(tmp_path, make, caplog):
    trainer = make_trainer(tmp_path, make(), envs=TextVectorEnv([Uneven] * 16))
    assert trainer.runner.engine.exact
    assert training_gap(trainer) <= 1e-5
    assert "dropout is turned off" in caplog.text
    trainer.train()
    assert max(log(trainer, "sampling/probe_gap")) <= 1e-5


def test_adapters_are_trained_without_dropout(tmp_path, caplog):
    from peft import LoraConfig

    config = LoraConfig(
        r=4, lora_dropout=0.2, target_modules="all-linear", init_lora_weights=False,
        task_type="CAUSAL_LM",
    )  # fmt: skip
    trainer = make_trainer(tmp_path, peft_config=config, envs=TextVectorEnv([Uneven] * 16))
    assert training_gap(trainer) <= 1e-5
    assert "dropout is turned off" in caplog.text


def test_a_model_without_dropout_is_not_warned_about(tmp_path, caplog):
    make_trainer(tmp_path)
    assert "dropout" not in caplog.text


@pytest.mark.parametrize("culprit", ["noise", "padding"])
def test_the_probe_sees_what_only_the_training_forward_does(tmp_path, culprit):
    """Evaluation one by one, the former probe, sees neither."""

    def disturb(module: Any, args: Any, kwargs: Any, out: Any) -> Any:
        padded = bool((kwargs["input_ids"] == tiny_policy.chat().pad_id).any())
        off = module.training if culprit == "noise" else padded and not kwargs.get("use_cache")
        if off:
            out.last_hidden_state = out.last_hidden_state * 1.05
        return out

    model = tiny_policy.model()
    model.model.register_forward_hook(disturb, with_kwargs=True)
    trainer = make_trainer(tmp_path, model, envs=TextVectorEnv([Uneven] * 16))
    with pytest.raises(ParityError, match="padding nor dropout"):
        trainer.train()


def test_the_first_step_of_the_warm_up_trains(tmp_path):
    class Picky(ToyEnv):
        def _act(self, action: str) -> Any:
            outcome = super()._act(action)
            outcome.reward, outcome.terms = float(len(action) % 5), None
            return outcome

    snapshots: list[list[Any]] = []
    trainer = make_trainer(
        tmp_path,
        envs=TextVectorEnv([Picky] * 16),
        args={"steps": 4, "warmup": 3, "lr": 0.3},
        on_rollout=lambda event: snapshots.append(weights(trainer.model)),
    )
    trainer.train()
    assert any(not torch.equal(a, b) for a, b in zip(snapshots[0], snapshots[1], strict=True))
    rates = [entry["learning_rate"] for entry in trainer.state.log_history if "loss" in entry]
    assert rates == pytest.approx([0.1, 0.2, 0.3, 0.3])


def test_a_mask_that_lost_tokens_is_noticed(tmp_path, monkeypatch):
    """Whatever shrinks the mask of sampled tokens must not shift advantages onto others."""
    trainer = make_trainer(tmp_path)
    monkeypatch.setattr("trainers.grpo.trainer.sampled_mask", shrunken)
    with pytest.raises(DataError, match="sampled tokens"):
        trainer._generate_and_score_completions(INPUTS)


def shrunken(batch: Any) -> Any:
    """The mask without the tokens of the first row."""
    mask = sampled_mask(batch)
    mask[0] = False
    return mask


@pytest.fixture
def process_group(tmp_path: Any) -> Any:
    store = f"file://{tmp_path / 'store'}"
    torch.distributed.init_process_group("gloo", init_method=store, rank=0, world_size=1)
    yield
    torch.distributed.destroy_process_group()


@pytest.mark.usefixtures("process_group")
def test_a_sharded_model_does_not_generate(tmp_path):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    model = tiny_policy.model()
    engine = HFEngine(model)
    assert generate(engine, [[4, 5]], Sampling(max_tokens=2))
    fully_shard(model, mesh=init_device_mesh("cpu", (1,)))
    with pytest.raises(NotSupported, match="sharded"):
        generate(engine, [[4, 5]], Sampling(max_tokens=2))

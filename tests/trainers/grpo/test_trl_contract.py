"""What we rely on inside TRL; a version bump that changes it fails here and not in a run."""

from __future__ import annotations

import inspect

import pytest
import torch
from trl import GRPOConfig, GRPOTrainer
from trl.trainer import utils

from tests.trainers.grpo.helpers import make_trainer
from trainers.grpo.minibatches import MINIBATCH
from trainers.grpo.trl_arguments import REFUSED, check_arguments
from trainers.rollouts.scoring.shared_attention import ARGUMENT
from trainers.rollouts.trajectory import to_rows

KEYS = {
    "prompt_ids",
    "prompt_mask",
    "completion_ids",
    "completion_mask",
    "advantages",
    "num_items_in_batch",
    "sampling_per_token_logps",
    "tool_mask",
}


def parameters(name):
    return list(inspect.signature(getattr(GRPOTrainer, name)).parameters)


def test_signatures_of_the_methods_we_override_or_call():
    assert parameters("_generate_and_score_completions") == ["self", "inputs"]
    assert parameters("_prepare_inputs") == ["self", "generation_batch"]
    assert parameters("compute_loss")[:3] == ["self", "model", "inputs"]
    assert parameters("_save_checkpoint") == ["self", "model", "trial"]
    assert parameters("_clip_grad_norm") == ["self", "model"]
    assert "_maybe_log_save_evaluate" in inspect.getsource(GRPOTrainer._run_epoch)
    assert parameters("_load_optimizer_and_scheduler") == ["self", "checkpoint"]
    assert parameters("create_scheduler") == ["self", "num_training_steps", "optimizer"]
    assert {"rollout_func", "peft_config", "callbacks", "optimizers"} <= set(parameters("__init__"))
    assert {"steps_per_generation", *REFUSED} <= set(GRPOConfig.__dataclass_fields__)


DEFAULTS = {
    "cast_lm_head_to_fp32": False,
    "disable_dropout": False,
    "multi_objective_aggregation": "sum_then_normalize",
    "num_iterations": 1,
    "top_p": 1.0,
}
"""Options that change sampling or scores, and that we leave as they are."""


def test_options_that_we_leave_alone_keep_their_defaults(tmp_path, scored):
    # By default a new config resets accelerate's global state, which the trainer of `scored` reads.
    shared = {"use_configured_state": True}
    config = GRPOConfig(str(tmp_path), use_cpu=True, bf16=False, accelerator_config=shared)
    assert {name: getattr(config, name) for name in DEFAULTS} == DEFAULTS
    check_arguments(config)


def test_attributes_that_we_read_or_set(scored):
    trainer, _, _ = scored
    assert trainer._step == 0
    assert trainer._buffered_inputs is None
    assert trainer._created_lr_scheduler is False
    assert trainer.aux_loss_enabled is False
    assert trainer.num_iterations == 1
    assert trainer.beta == 0.0
    assert trainer.ref_model is None


PACKED = ["attention_mask", "fused_lm_head", "input_ids", "position_ids", ARGUMENT, "shift_labels"]


@pytest.mark.parametrize("packs", [False, True])
def test_a_loss_is_one_forward_pass_through_the_fused_head(scored, monkeypatch, packs):
    trainer, _, own_batch = scored
    monkeypatch.setattr(trainer._forward, "_packs", packs)
    calls = []
    forward = trainer.model.forward

    def counted(*args, **kwargs):
        calls.append((args, sorted(kwargs)))
        return forward(*args, **kwargs)

    monkeypatch.setattr(trainer.model, "forward", counted)
    trainer.compute_loss(trainer.model, own_batch)
    names = PACKED if packs else ["fused_lm_head", "input_ids", "labels"]
    assert calls == [((), names)]


def test_names_of_the_fused_head_that_we_set(scored, monkeypatch):
    """Its tiles are ours: no wider than the vocabulary, and only of the tokens asked for."""
    trainer, trl_batch, _ = scored
    assert utils._CHUNKED_LOGPROB_CHUNK_SIZE == 32768
    calls = []
    apply = utils._ChunkedLogProbFunction.apply

    def noted(hidden, weight, bias, targets, temperature, width, *rest):
        calls.append((len(hidden), width))
        return apply(hidden, weight, bias, targets, temperature, width, *rest)

    monkeypatch.setattr(utils._ChunkedLogProbFunction, "apply", noted)
    monkeypatch.setattr(trainer._forward, "_packs", False)  # Rows that sample alike ask once.
    trainer._forward.logps(trainer.model, trl_batch)
    sampled = int((trl_batch["completion_mask"] * trl_batch["tool_mask"]).sum())
    assert calls == [(sampled, trainer.model.config.vocab_size)]
    assert utils._CHUNKED_LOGPROB_CHUNK_SIZE == 32768


@pytest.fixture(scope="module")
def scored(tmp_path_factory):
    """A trainer, TRL's own scored batch and ours, of the same episodes."""
    trainer = make_trainer(tmp_path_factory.mktemp("contract"), probe_every=0)
    inputs = [{"prompt": ""} for _ in range(16)]
    own_batch = trainer._generate_and_score_completions(inputs)
    trainer.rollout_func = lambda prompts, player: columns(player.trajectories)
    trainer.reward_funcs = [lambda episode_return, **_: episode_return]
    trl_batch = GRPOTrainer._generate_and_score_completions(trainer, inputs)
    return trainer, trl_batch, own_batch


def columns(trajectories):
    """What TRL makes a batch of: one row for each trajectory."""
    rows = to_rows(trajectories)
    return {
        "prompt_ids": [row.ids[: row.prompt_length] for row in rows],
        "completion_ids": [row.ids[row.prompt_length :] for row in rows],
        "logprobs": [row.logprobs[row.prompt_length :] for row in rows],
        "env_mask": [row.mask[row.prompt_length :] for row in rows],
        "episode_return": [trajectory.episode_return for trajectory in trajectories],
    }


def test_output_keys_shapes_and_env_mask(scored):
    trainer, trl_batch, own_batch = scored
    assert set(trl_batch) == KEYS
    assert set(own_batch) == KEYS | {MINIBATCH, "token_weights", "behaviour_weights"}
    assert trl_batch["advantages"].shape == (16,)
    assert own_batch["advantages"].shape == own_batch["completion_ids"].shape
    # Our tool mask is that of the trained tokens.
    for name in KEYS - {"advantages", "tool_mask"}:
        assert torch.equal(trl_batch[name], own_batch[name]), name
    sampled = sum(t.action_tokens for t in trainer.trajectories)
    assert int((trl_batch["completion_mask"] * trl_batch["tool_mask"]).sum()) == sampled
    assert int(trl_batch["num_items_in_batch"]) == sampled


def test_gradient_is_the_policy_gradient(scored):
    trainer, _, own_batch = scored
    trainer.model.zero_grad()
    trainer.compute_loss(trainer.model, own_batch).backward()
    gradients = [p.grad.clone() for p in trainer.model.parameters()]
    trainer.model.zero_grad()
    ids = torch.cat([own_batch["prompt_ids"], own_batch["completion_ids"]], 1)
    mask = torch.cat([own_batch["prompt_mask"], own_batch["completion_mask"]], 1)
    width = own_batch["completion_ids"].shape[1]
    position = (mask.cumsum(1) - 1).clamp(min=0)
    logits = trainer.model(input_ids=ids, attention_mask=mask, position_ids=position).logits
    logps = torch.log_softmax(logits[:, -width - 1 : -1], -1)
    picked = logps.gather(-1, own_batch["completion_ids"][..., None])[..., 0]
    (-(picked * own_batch["advantages"]).sum() / own_batch["num_items_in_batch"]).backward()
    for a, b in zip(gradients, trainer.model.parameters(), strict=True):
        assert torch.allclose(a, b.grad, atol=1e-5)
    trainer.model.zero_grad()


def test_log_probs_are_those_of_the_sampler(scored):
    trainer, trl_batch, _ = scored
    mask = (trl_batch["completion_mask"] * trl_batch["tool_mask"]).bool()
    scored_again = trainer._forward.logps(trainer.model, trl_batch)
    gap = (scored_again - trl_batch["sampling_per_token_logps"])[mask].abs().max()
    assert gap <= 1e-5

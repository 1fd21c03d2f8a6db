from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from transformers import TrainerState

from agentgym.conversation import BARE, Prompt
from agentgym.errors import ConfigurationError, DataError
from agentgym.vector import TextVectorEnv
from tests.toy import ToyEnv
from tests.trainers import tiny_policy
from tests.trainers.grpo.helpers import (
    DAPO,
    EASY,
    Feed,
    log,
    make_trainer,
    reloaded_model,
    train_on_two_processes,
    warm_model,
    weights,
)
from trainers.algorithms.filters import ZeroVariance
from trainers.algorithms.presets import get_preset
from trainers.algorithms.schedule import Gated, Stages
from trainers.grpo.checkpoint import STATE_FILE
from trainers.rollouts.budget import TokenBudget
from trainers.rollouts.chat import TurnTokenizer
from trainers.rollouts.engines.hf import HFEngine
from trainers.rollouts.scoring.tensors import sampled_mask


def differs(before, model):
    return any(not torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))


class Dense(ToyEnv):
    """Pays for every right button."""

    def _act(self, action):
        pressed_before = self._pressed
        outcome = super()._act(action)
        outcome.reward, outcome.terms = float(self._pressed > pressed_before), None
        return outcome


@pytest.mark.slow
def test_reinforcement_improves_a_warm_start(tmp_path):
    events = []
    trainer = make_trainer(
        tmp_path,
        warm_model(60),
        args={"steps": 18, "lr": 2e-3, "warmup": 3, "groups": 8, "group_size": 8},
        envs=TextVectorEnv([Dense] * 64),
        preset="default",
        horizon=4,
        on_rollout=events.append,
    )
    start = weights(trainer.model)
    trainer.train()
    assert differs(start, trainer.model)
    returns = log(trainer, "rollout/return")
    assert sum(returns[-5:]) > sum(returns[:5]) + 0.5
    assert [e.step for e in events] == list(range(1, 19))
    assert all(len(e.trajectories) == 64 and e.horizon == 4 for e in events)
    assert log(trainer, "sampling/probe_gap")[0] <= 1e-5
    assert returns == pytest.approx(log(trainer, "reward"), abs=1e-4)
    episodes = trainer.play([{"split": "train", "index": i} for i in EASY], greedy=True)
    assert len(episodes) == len(EASY)
    assert all(episode.horizon == 4 for episode in episodes)


@pytest.mark.parametrize("preset", ["default", "grpo", "gspo", "cispo", "gigpo", "reinforce++"])
def test_presets_train(tmp_path, preset):
    """Toy episodes rarely succeed untrained, so invalid actions are given a reward to differ in."""
    model = reloaded_model(tmp_path / "start")
    trainer = make_trainer(tmp_path, model, preset=preset, envs=TextVectorEnv([Picky] * 16))
    start = weights(trainer.model)
    trainer.train()
    assert differs(start, trainer.model)


class Picky(ToyEnv):
    """Pays for actions that begin with ``press``, and ends the episode at a second one."""

    def _act(self, action):
        outcome = super()._act(action)
        outcome.reward = float(action.startswith("press")) - 0.1 * (len(action) % 3)
        outcome.terminated = self.turn >= 1
        outcome.terms = None
        return outcome


def test_adapters_train_and_base_weights_stay(tmp_path):
    from peft import LoraConfig

    config = LoraConfig(r=2, lora_alpha=4, target_modules="all-linear", task_type="CAUSAL_LM")
    envs = TextVectorEnv([Picky] * 16)
    trainer = make_trainer(tmp_path, peft_config=config, envs=envs, args={"lr": 1e-2})
    names = [n for n, _ in trainer.model.named_parameters()]
    start = weights(trainer.model)
    trainer.train()
    changed = {
        name
        for name, before, after in zip(names, start, trainer.model.parameters(), strict=True)
        if not torch.equal(before, after)
    }
    assert changed
    assert all("lora_" in name for name in changed)
    assert max(log(trainer, "sampling/probe_gap")) <= 1e-5


def test_resume_lands_on_the_same_step_horizon_and_weights(tmp_path):
    schedule = Stages((2, 3), 2)
    settings = {"steps": 4, "save_every": 2}
    options = {"horizon": schedule, "envs": TextVectorEnv([Picky] * 16)}
    uninterrupted = make_trainer(tmp_path / "a", args=settings, **options)
    uninterrupted.train()
    feed = Feed()
    resumed = make_trainer(tmp_path / "a", args=settings, **{**options, "tasks": feed})
    resumed.train(resume_from_checkpoint=str(tmp_path / "a" / "checkpoint-2"))
    assert resumed.state.global_step == 4
    assert feed.requests == [(1, 4, 2), (2, 4, 2), (3, 4, 3), (4, 4, 3)]
    assert resumed.stage_switches == [(3, 3)]
    assert log(uninterrupted, "rollout/return")[2:] == log(resumed, "rollout/return")[2:]
    for a, b in zip(uninterrupted.model.parameters(), resumed.model.parameters(), strict=True):
        assert torch.allclose(a, b, atol=1e-6)


def test_gated_schedule_is_kept_in_the_checkpoint(tmp_path):
    gate = Gated((2, 3), threshold=0.0, window=2)
    trainer = make_trainer(tmp_path, horizon=gate, args={"steps": 3, "save_every": 3})
    trainer.train()
    assert trainer.stage_switches == [(1, 2), (3, 3)]
    state = json.loads(Path(tmp_path / "checkpoint-3" / STATE_FILE).read_text())
    assert state["horizon"]["starts"] == [3]
    fresh = Gated((2, 3), threshold=0.0, window=2)
    resumed = make_trainer(tmp_path, horizon=fresh, args={"steps": 4})
    resumed.train(resume_from_checkpoint=str(tmp_path / "checkpoint-3"))
    assert resumed.horizon == 3


def test_a_checkpoint_has_the_state_before_it_counts_as_whole(tmp_path, monkeypatch):
    checks = []
    write = TrainerState.save_to_json

    def save(state, path):
        checks.append((Path(path).parent / STATE_FILE).exists())
        write(state, path)

    monkeypatch.setattr(TrainerState, "save_to_json", save)
    trainer = make_trainer(tmp_path, args={"steps": 1, "save_every": 1})
    trainer.train()
    assert checks
    assert all(checks)


class Rough(HFEngine):
    """An engine whose log-probabilities are .1 off, as rounding may leave them."""

    def advance(self, timeout=None):
        out = super().advance(timeout)
        for _, completion in out:
            completion.logprobs = [p - 0.1 for p in completion.logprobs]
        return out


class RoughAndSaysSo(Rough):
    """One that calls itself inexact, as engines of other programs do."""

    exact = False


@pytest.mark.parametrize(
    ("precision", "engine"), [(torch.float32, RoughAndSaysSo), (torch.bfloat16, Rough)]
)
def test_inexact_engines_get_importance_weights(precision, engine, tmp_path):
    """Nothing is refused; a policy in bfloat16 makes any engine inexact."""
    model = tiny_policy.model().to(precision)
    envs = TextVectorEnv([Picky] * 16)
    trainer = make_trainer(tmp_path, model, make_engine=engine, envs=envs)
    assert not trainer.runner.engine.exact
    trainer.train()
    assert log(trainer, "sampling/logp_gap_mean")[0] == pytest.approx(0.1, abs=1e-2)
    assert log(trainer, "sampling/importance_mean")[0] == pytest.approx(1.1052, abs=2e-2)


def test_an_engine_that_rests_while_training_gets_its_weights_anew(tmp_path):
    calls = []

    class Sleeper(HFEngine):
        def sync(self, named_params, version):
            calls.append("sync")
            super().sync(named_params, version)

        def rest(self):
            assert not self.running
            calls.append("rest")
            self.version = -1

        def submit(self, requests, sampling):
            assert self.version >= 0, "it was not woken"
            super().submit(requests, sampling)

    trainer = make_trainer(tmp_path, make_engine=lambda model: Sleeper(model), args={"steps": 2})
    trainer.train()
    trainer.play(tiny_policy.tasks(2))
    assert calls == ["sync", "rest", "sync", "rest", "sync"]


def test_forked_histories_train_on_several_rows(tmp_path):
    made_tokenizer = tiny_policy.tokenizer(tiny_policy.QWEN_LIKE)
    made_tokenizer.chat_template = made_tokenizer.chat_template.replace("</think>", "red")
    chat = TurnTokenizer(made_tokenizer, history="auto")
    args = {"minibatches": 2}
    trainer = make_trainer(tmp_path, chat=chat, args=args, envs=TextVectorEnv([Picky] * 16))
    scored = trainer._generate_and_score_completions([{"prompt": ""}] * 16)
    assert len(scored["prompt_ids"]) >= 16
    assert len(scored["prompt_ids"]) % 2 == 0
    assert int(sampled_mask(scored).sum()) == sum(t.action_tokens for t in trainer.trajectories)
    trainer.train()
    windowed = Prompt(BARE.windowed(1))
    trainer = make_trainer(tmp_path, budget=TokenBudget(4, 120, 160), prompt=windowed, args=args)
    scored = trainer._generate_and_score_completions([{"prompt": ""}] * 16)
    assert len(scored["prompt_ids"]) == 32  # turns 1 and 2 share a row, turn 3 has its own
    assert int(sampled_mask(scored).sum()) == sum(t.action_tokens for t in trainer.trajectories)
    start = weights(trainer.model)
    scored["advantages"] = torch.ones_like(scored["advantages"])
    trainer._part_loss(trainer.model, scored)[0].backward()
    assert all(p.grad is not None for p in trainer.model.parameters())
    assert not differs(start, trainer.model)


class Broken(ToyEnv):
    """Never starts, or fails at once."""

    def _start(self, task, rng):
        raise RuntimeError("no power")


class Fragile(ToyEnv):
    """Every second task fails at its first action."""

    def _act(self, action):
        if EASY.index(self.task.index) % 2:
            raise RuntimeError("short circuit")
        return super()._act(action)


def test_batch_without_sampled_tokens_raises(tmp_path):
    trainer = make_trainer(tmp_path, envs=TextVectorEnv([Broken] * 16))
    with pytest.raises(DataError, match="no power"):
        trainer.train()


def test_failed_environments_are_masked_and_the_run_goes_on(tmp_path):
    trainer = make_trainer(tmp_path, envs=TextVectorEnv([Fragile] * 16))
    scored = trainer._generate_and_score_completions([{"prompt": ""}] * 16)
    failed = torch.tensor([t.stop_reason == "error" for t in trainer.trajectories])
    assert failed.sum() == 8
    assert sampled_mask(scored)[failed].sum() == 0
    assert sampled_mask(scored)[~failed].any(1).all()
    assert int(scored["num_items_in_batch"]) == int(sampled_mask(scored).sum())
    trainer.train()
    assert log(trainer, "rollout/ended_by_error") == [0.5, 0.5, 0.5]


ENTROPY = replace(get_preset("scalinginter"), filters=(ZeroVariance(),), horizon=None)


@pytest.mark.parametrize("preset", [DAPO, ENTROPY], ids=["dapo", "entropy"])
def test_nothing_to_learn_from_is_a_step_without_effect(tmp_path, preset):
    settings = {"steps": 1, "weight_decay": 0.0}
    model = reloaded_model(tmp_path / "start")
    trainer = make_trainer(tmp_path, model, preset=preset, horizon=1, args=settings)
    start = weights(trainer.model)
    trainer.train()
    assert log(trainer, "credit/trained_fraction") == [0.0]
    assert not differs(start, trainer.model)


@pytest.mark.slow
@pytest.mark.skipif(torch.cuda.is_available(), reason="forks of a process with CUDA cannot use it")
def test_processes_whose_rows_differ_stay_in_step(tmp_path):
    """One process has more rows than the other, which has nothing to train on."""
    ranks = train_on_two_processes(tmp_path)
    assert [rank["steps"] for rank in ranks] == [2, 2]
    assert [rank["trained"] for rank in ranks] == [True, False]
    assert len({rank["rows"] for rank in ranks}) == 1
    assert ranks[0]["rows"] > 8
    assert ranks[0]["entropy"] == ranks[1]["entropy"]
    for first, second in zip(ranks[0]["weights"], ranks[1]["weights"], strict=True):
        assert torch.equal(first, second)
    assert any(
        not torch.equal(a, b) for a, b in zip(ranks[0]["start"], ranks[0]["weights"], strict=True)
    )


def test_mistakes_are_named(tmp_path):
    with pytest.raises(ValueError, match="also needs a thing of the paper"):
        make_trainer(tmp_path, preset=replace(get_preset("grpo"), beyond=("a thing of the paper",)))
    with pytest.raises(ConfigurationError, match=r"a task source with the method `further`"):
        make_trainer(tmp_path, preset="dapo").train()
    trainer = make_trainer(tmp_path, tasks=lambda step, count, horizon: [])
    with pytest.raises(ConfigurationError, match="expected 4 tasks"):
        trainer.train()
    with pytest.raises(ConfigurationError, match="use_vllm"):
        make_trainer(tmp_path, args={"use_vllm": True})

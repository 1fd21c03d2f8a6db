"""How the memory of a device is divided, and what does not fit; through the command."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from transformers import Qwen3Config

from tests.trainers import tiny_policy, toy_runs
from trainers.algorithms.presets import PRESETS
from trainers.cli import main
from trainers.config.resolve import ResolvedRun, resolve
from trainers.models.loaded_policy import build_tiny
from trainers.models.memory import GIB, ModelShape, TrainingSetup, cache_bytes, estimate
from trainers.models.memory_plan import (
    Device,
    check_memory,
    memory_notes,
    plan_memory,
    share_for_vllm,
    slots_that_fit,
)
from trainers.phases.rollout_setup import make_runner

QWEN3_4B = Qwen3Config(
    vocab_size=151_936, hidden_size=2560, intermediate_size=9728, num_hidden_layers=36,
    num_attention_heads=32, num_key_value_heads=8, head_dim=128, tie_word_embeddings=True,
    max_position_embeddings=40_960,
)  # fmt: skip
GPU = Device("one GPU", 80 * GIB, gpu=True)
CONTEXT, EPISODES = 12_288, 128
PRETRAINED: dict[str, Any] = {
    "memory__precision": "bf16", "memory__micro_tokens": None, "rl__groups": 16,
    "rl__num_generations": 8, "rl__turn_tokens": None, "rl__episode_tokens": None,
    "sft__max_steps": 0, "eval__keep": "last",
}  # fmt: skip


@pytest.fixture(scope="module")
def qwen(tmp_path_factory: Any) -> Path:
    """What tells the memory of Qwen3-4B: its configuration, with a small tokenizer, no weights."""
    folder: Path = tmp_path_factory.mktemp("qwen3-4b")
    tiny_policy.tokenizer().save_pretrained(folder)
    QWEN3_4B.save_pretrained(folder)
    return folder


def planned(model: Path, *flags: str, **changes: Any) -> ResolvedRun:
    return resolve(toy_runs.config(Path("unused"), *flags, model=model, **PRETRAINED, **changes))


def shares(rank: int, sleeps: bool) -> tuple[float, int]:
    """Share of 80 GiB for Qwen3-4B, and the tokens of its cache for each of 128 episodes."""
    shape = ModelShape.of(QWEN3_4B)
    training = estimate(shape, TrainingSetup(16_384, CONTEXT, "bf16", True, rank))
    weights, episode = 2 * shape.parameters, cache_bytes(shape, CONTEXT, 16)
    share = share_for_vllm(training, GPU, weights, episode, EPISODES, sleeps=sleeps)
    tokens = (share * GPU.size - weights) / cache_bytes(shape, 1, 16) / EPISODES
    return share, round(tokens)


@pytest.mark.parametrize(
    ("rank", "sleeps", "share", "tokens"),
    [(16, False, 0.72, 2851), (16, True, 0.8, 3215), (0, True, 0.15, 256)],
)
def test_vllm_gets_what_the_training_leaves(rank, sleeps, share, tokens):
    """With .3 an episode had 700 tokens, fewer than one turn of a model that thinks."""
    assert shares(rank, sleeps) == (share, tokens)


def test_vllm_gets_no_more_than_it_can_fill_and_no_less_than_it_needs_to_start():
    small = estimate(ModelShape.of(Qwen3Config()), TrainingSetup(1, 1))
    large, tight = (Device("one GPU", size, gpu=True) for size in (10**12, 10**10))
    assert share_for_vllm(small, large, 10**9, 10**9, 4, sleeps=False) == pytest.approx(0.1, 0.1)
    assert share_for_vllm(small, tight, 4 * 10**9, 10**9, 4, sleeps=False) == 0.5


def test_as_many_episodes_play_as_fit():
    training = estimate(ModelShape.of(QWEN3_4B), TrainingSetup(16_384, CONTEXT, "bf16", True, 16))
    episode = cache_bytes(ModelShape.of(QWEN3_4B), CONTEXT, 16)
    assert slots_that_fit(training, GPU.size, episode) == 34
    assert slots_that_fit(training, GIB, episode) == 1


def test_hf_says_that_fewer_episodes_play_at_a_time(qwen):
    """Without, the estimate was 230 GiB on an 80 GiB device, and nothing said so."""
    run = planned(qwen, engine="hf")
    plan = plan_memory(run, GPU)
    assert plan.slots(EPISODES) < EPISODES and plan.peak < GPU.size
    [note] = memory_notes(run, plan)
    assert note.startswith(f"{plan.slots(EPISODES)} of 128 episodes play at a time")
    assert "one GPU of 80.0 GiB" in note


@pytest.mark.parametrize("staleness", [0, 1])
def test_copies_of_an_engine_that_plays_on_have_no_room_of_the_training(qwen, staleness):
    changes = {"engine": "hf", "async_rollouts__staleness": staleness, "lora__r": 0}
    run = planned(qwen, **changes)
    ample = plan_memory(run, Device("a large GPU", 10**13, gpu=True))
    plan = plan_memory(run, Device("one GPU", ample.estimate.total, gpu=True))
    assert ample.copies_fit and plan.copies_fit == (not staleness)
    cast = [note for note in memory_notes(run, plan) if "cast every time" in note]
    assert len(cast) == staleness


def test_vllm_is_counted_and_its_share_is_said(qwen):
    run = planned(qwen, engine="vllm")
    plan = plan_memory(run, GPU)
    assert plan.estimate.generating == pytest.approx(plan.share * GPU.size, rel=1e-6)
    assert 0.85 * GPU.size < plan.peak < GPU.size
    [note] = memory_notes(run, plan)
    assert note.startswith(f"vLLM takes {plan.share:g} of one GPU of 80.0 GiB, beside 1")
    with_share = planned(qwen, engine="vllm", vllm__memory=0.4)
    [note] = memory_notes(with_share, plan_memory(with_share, GPU))
    assert "takes 0.4 of" in note and note.endswith("as --vllm.memory says")


def test_without_a_gpu_vllm_takes_its_weights_and_a_gib(qwen):
    plan = plan_memory(planned(qwen, engine="vllm"), Device("this machine", 64 * GIB, gpu=False))
    assert plan.estimate.generation == GIB
    assert plan.estimate.engine == 2 * ModelShape.of(QWEN3_4B).parameters
    elsewhere = planned(qwen, "--vllm.url=http://node:8000", engine="vllm-server")
    assert plan_memory(elsewhere, GPU).estimate.generating == 0


def test_a_sleeping_engine_makes_room_for_the_training(qwen):
    """All weights of 4 B do not fit beside vLLM, and do while it sleeps."""
    from agentgym.errors import ConfigurationError

    with pytest.raises(ConfigurationError, match=r"fits one GPU of 80.0 GiB.*--dry-run"):
        check_memory(plan_memory(planned(qwen, engine="vllm", lora__r=0), GPU))
    check_memory(plan_memory(planned(qwen, "--vllm.sleep", engine="vllm", lora__r=0), GPU))


def test_a_run_that_does_not_fit_is_refused_before_anything_is_loaded(
    qwen, tmp_path, capsys, monkeypatch
):
    monkeypatch.setenv("COLUMNS", "200")
    machine = Device("this machine", 8 * GIB, gpu=False)
    monkeypatch.setattr(Device, "current", lambda: machine)
    flags = toy_runs.arguments(tmp_path / "run", model=qwen, engine="hf", **PRETRAINED)
    for more in ([], ["--dry-run"]):
        assert main([*flags, *more]) == 2
        captured = capsys.readouterr()
        assert ("memory per device, estimated" in captured.out) == bool(more)
        assert "expected a run that fits this machine of 8.0 GiB, got one that is" in captured.err
        assert "GiB for weights: choose a smaller --model, adapters (--lora.r)" in captured.err
    assert not (tmp_path / "run").exists()


def test_fewer_slots_play_the_same_episodes(tmp_path, monkeypatch):
    """A machine whose memory holds three episodes at a time."""
    run = resolve(toy_runs.config(tmp_path))
    policy = build_tiny(run, ["press red gold blue"])
    alone = plan_memory(run, Device("this machine", 64 * GIB, gpu=False)).estimate
    episode = alone.generation // run.config.rl.episodes
    size = int((alone.total - alone.generation + 3.5 * episode) / 0.9)
    first_turns = []
    for bytes_ in (64 * GIB, size):
        monkeypatch.setattr(
            Device, "current", lambda n=bytes_: Device("this machine", n, gpu=False)
        )
        runner = make_runner(run, policy, 8)
        tasks = [{"split": "train", "index": index} for index in range(8)]
        runner.engine.sync(policy.model.named_parameters(), 0)
        first_turns.append([t.turns[0].ids for t in runner.run(tasks, horizon=2)])
        assert runner.envs.num_envs == (8 if bytes_ == 64 * GIB else 3)
        runner.engine.close()
        runner.envs.close()
    assert first_turns[0] == first_turns[1]


FLAGS: dict[str, tuple[str, ...]] = {
    "arpo": ("--forks.roots=2",),
    "fork-value": ("--forks.roots=2",),
    "erpo": ("--reward-hooks=judge_mask:model=m,url=http://localhost:1",),
    "on-policy-distillation": ("--distill.teacher=start", "--distill.privileged=plan"),
}
"""What presets need besides."""


@pytest.mark.parametrize("preset", PRESETS)
def test_what_the_methods_of_a_preset_take_is_counted_to_the_byte(qwen, preset):
    """A head keeps the states of sampled tokens; a model all that adapters and their base take."""
    run = planned(qwen, *FLAGS.get(preset, ()), preset=preset, engine="hf-copy")
    plan, shape = plan_memory(run, GPU), ModelShape.of(QWEN3_4B)
    adapters, base = 16 * shape.ends, 2 * shape.parameters
    sampled = run.config.rl.episodes * run.config.rl.turn_tokens * 5
    options = {
        "critic": {"critic": sampled * 2560 * 2},
        "turn_critic": {"critic": adapters * (16 + 4) + 2 * base},
        "prm": {"reward_model": adapters * 16},
    }
    methods = next((options[need] for need in run.preset.needs if need in options), {})
    core = {"process", "weights", "reference", "gradients", "optimizer", "cast_weights"}
    core |= {"activations", "working", "allocator", "generation", "engine", "gathered"}
    parts = plan.estimate.parts
    assert {name: size for name, size in parts.items() if name not in core} == methods
    players = 1 + (run.preset.pool is not None)
    assert parts["engine"] == players * base
    assert parts["reference"] == 4 * adapters * (players - 1)
    assert plan.estimate.total == sum(parts.values())


@pytest.mark.parametrize(("kind", "size"), [("zero", 0), ("model", 1)])
def test_a_critic_may_be_a_model_or_nothing(qwen, kind, size):
    plan = plan_memory(planned(qwen, f"--critic.kind={kind}", preset="ppo"), GPU)
    shape = ModelShape.of(QWEN3_4B)
    assert plan.estimate.parts["critic"] == size * (16 * shape.ends * 16 + 2 * shape.parameters)


def test_a_teacher_of_its_own_is_counted(qwen):
    run = planned(qwen, "--distill.teacher", str(qwen), preset="on-policy-distillation")
    parts = plan_memory(run, GPU).estimate.parts
    assert parts["teacher"] == 2 * ModelShape.of(QWEN3_4B).parameters and not parts["reference"]


def test_a_full_copy_is_kept_for_what_compares_with_it(qwen):
    weights = 4 * ModelShape.of(QWEN3_4B).parameters
    flags = ("--distill.privileged=plan", "--distill.weight=1")
    for more, copies in (((), 0), (flags, 1)):
        plan = plan_memory(planned(qwen, *more, lora__r=0), GPU)
        assert plan.estimate.reference == copies * weights

"""Checkpointing and micro-batches follow the memory that is free."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from transformers import LlamaConfig

from tests.trainers import tiny_policy, toy_runs
from trainers.cli import parse_config
from trainers.config.resolve import ResolvedRun, resolve
from trainers.models.memory import GIB
from trainers.models.memory_choice import with_chosen_memory
from trainers.models.memory_plan import Device, memory_line, plan_memory

SMOLLM2 = LlamaConfig(
    vocab_size=49_152, hidden_size=576, intermediate_size=1536, num_hidden_layers=30,
    num_attention_heads=9, num_key_value_heads=3, tie_word_embeddings=True,
    max_position_embeddings=8192,
)  # fmt: skip
OPEN: dict[str, Any] = {
    "memory__precision": "bf16", "memory__micro_tokens": None, "sft__max_steps": 0, "engine": "hf",
    "rl__groups": 4, "rl__num_generations": 8, "rl__turn_tokens": 32, "rl__episode_tokens": 32,
}  # fmt: skip


@pytest.fixture(scope="module")
def smollm2(tmp_path_factory: Any) -> Path:
    """Configuration and a small tokenizer; no weights."""
    folder: Path = tmp_path_factory.mktemp("smollm2")
    tiny_policy.tokenizer().save_pretrained(folder)
    SMOLLM2.save_pretrained(folder)
    return folder


def resolved(
    model: Path | str, out: Path = Path("unused"), *flags: str, **more: Any
) -> ResolvedRun:
    """A run of 32 episodes of 61 + 32 tokens."""
    run = resolve(toy_runs.config(out, *flags, model=model, **{**OPEN, **more}))
    return replace(run, opening_tokens=61)


def choose_memory(run: ResolvedRun, gib: float, **free: int) -> tuple[str, int]:
    """Checkpointing and tokens of a micro-batch on a machine with so much memory."""
    machine = Device("this machine", int(gib * GIB), gpu=False, **free)
    memory = with_chosen_memory(run, machine).config.memory
    return memory.checkpointing, memory.micro_tokens


def test_checkpointing_goes_on_and_micro_batches_shrink_as_memory_does(smollm2, monkeypatch):
    monkeypatch.setattr("trainers.models.memory_plan._process_bytes", lambda: GIB // 2)
    run = resolved(smollm2)
    choices = [choose_memory(run, gib) for gib in (64, 5, 3.2, 2, 0.5)]
    assert choices[0] == ("off", 4096) and choices[-1] == ("on", 1024)
    assert choices[1][0] == "off" and choices[3] != choices[0]
    speed = [(checkpointing == "off", tokens) for checkpointing, tokens in choices]
    assert speed == sorted(speed, reverse=True), "less memory, never a faster choice"


def test_what_other_programs_hold_counts_as_taken(smollm2):
    assert choose_memory(resolved(smollm2), 64, free=GIB) == ("on", 1024)


def test_what_a_flag_gives_is_left_alone(smollm2):
    run = resolved(smollm2, memory__checkpointing="on")
    assert choose_memory(run, 64) == ("on", 4096)
    run = resolved(smollm2, memory__micro_tokens=16_384)
    assert choose_memory(run, 64) == ("off", 16_384)
    assert choose_memory(resolved("tiny"), 64) == ("off", 2048)


def test_a_continued_run_keeps_what_it_began_with(smollm2, tmp_path):
    run = resolved(smollm2, tmp_path)
    started = with_chosen_memory(run, Device("this machine", 64 * GIB, gpu=False))
    memory = started.resolved()["memory"]
    assert (memory["checkpointing"], memory["micro_tokens"]) == ("off", 4096)
    (tmp_path / "config.yaml").write_text(yaml.safe_dump({"resolved": {"memory": dict(memory)}}))
    resumed = resolved(smollm2, tmp_path, "--resume")
    assert choose_memory(resumed, 0.5) == ("off", 4096)
    assert choose_memory(run, 0.5) == ("on", 1024), "another run in its place"


def test_the_choice_is_said(smollm2):
    run = with_chosen_memory(resolved(smollm2), machine := Device("this machine", 64 * GIB, False))
    line = memory_line(run, plan_memory(run, machine))
    assert line.endswith("checkpointing off, micro-batches of at most 4,096 tokens")
    assert "of this machine of 64.0 GiB" in line


def test_the_estimate_is_near_the_peaks_that_were_measured(smollm2, monkeypatch):
    """Resident memory in runs of SmolLM2-135M with 32 episodes of 92 tokens, rows computed apart.

    They were measured when a CPU had tiles of 256 MiB.
    """
    monkeypatch.setattr("trainers.rollouts.scoring.forward.CPU_TILE", 256 * 2**20)
    monkeypatch.setattr("trainers.models.memory_plan.SHARING", ())
    monkeypatch.setattr("trainers.models.memory_plan._process_bytes", lambda: int(0.7 * GIB))
    machine = Device("this machine", 24 * GIB, gpu=False)
    for peak, changes in (
        (3.9, {"memory__checkpointing": "on"}),
        (5.0, {"memory__checkpointing": "on", "lora__r": 0}),
        (5.9, {"memory__checkpointing": "off"}),
    ):
        run = resolved(smollm2, memory__micro_tokens=16_384, **changes)
        assert 0.95 < plan_memory(run, machine).peak / GIB / peak < 1.3


@pytest.mark.parametrize(
    ("family", "opening", "peak"),
    [("mathpython", 63, 4.33), ("database", 46, 4.97), ("textworld", 66, 4.91)],
)
def test_the_estimate_is_near_the_peaks_of_quick_runs(smollm2, monkeypatch, family, opening, peak):
    """Resident memory in whole runs with ``--quick``, whose rows share their prefixes."""
    monkeypatch.setattr("trainers.models.memory_plan._process_bytes", lambda: int(0.7 * GIB))
    machine = Device("this machine", int(23.5 * GIB), gpu=False)
    flags = ["--env", family, "--model", str(smollm2), "--quick", "--memory.precision", "bf16"]
    run = replace(resolve(parse_config(flags)), opening_tokens=opening)
    with_memory = with_chosen_memory(run, machine)
    assert with_memory.config.memory.checkpointing == "off"
    assert 1 < plan_memory(with_memory, machine).peak / GIB / peak < 1.5


def test_an_opening_that_a_group_shares_counts_once(smollm2):
    machine = Device("this machine", 24 * GIB, gpu=False)
    run = resolved(smollm2, memory__checkpointing="off", memory__micro_tokens=16_384)
    apart = resolved(
        smollm2,
        memory__checkpointing="off",
        memory__micro_tokens=16_384,
        memory__shared_prefixes="off",
    )
    together, separate = (plan_memory(r, machine).estimate.activations for r in (run, apart))
    assert together < 0.6 * separate

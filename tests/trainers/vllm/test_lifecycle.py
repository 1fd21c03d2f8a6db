"""Starting, refusing, closing and starting again; an untied model; a whole rollout."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from agentgym.errors import NotSupported
from tests.trainers.vllm.policy import CONTEXT, add_lora, disturb, make_model, prompts
from trainers.rollouts.engines.base import Sampling, generate
from trainers.rollouts.engines.failure import EngineFailure
from trainers.rollouts.engines.parity import FP32_TOLERANCE, probe_parity
from trainers.rollouts.engines.policy_weights import policy_weights

SAMPLING = Sampling(max_tokens=12)


def start(model: Any, **options: Any) -> Any:
    from trainers.rollouts.engines.vllm_colocate import VLLMColocateEngine

    return VLLMColocateEngine(model, max_model_len=CONTEXT, kv_cache_gib=0.25, **options)


def test_start_leaves_the_process_as_it_was() -> None:
    import torch

    setter, threads = torch.set_num_threads, torch.get_num_threads()
    states = random.getstate(), np.random.get_state()[1].copy(), torch.get_rng_state()
    cores = os.sched_getaffinity(0)
    launcher = {name: os.environ.get(name) for name in ("RANK", "WORLD_SIZE", "MASTER_PORT")}
    with start(make_model()) as engine:
        assert torch.set_num_threads is setter
        assert torch.get_num_threads() == threads
        assert os.sched_getaffinity(0) == cores
        assert random.getstate() == states[0]
        assert (np.random.get_state()[1] == states[1]).all()
        assert torch.equal(torch.get_rng_state(), states[2])
        assert launcher == {name: os.environ.get(name) for name in launcher}
        assert engine.version == -1
        with pytest.raises(NotSupported, match="before submit"):
            generate(engine, prompts(1), SAMPLING)
    assert not torch.distributed.is_initialized()


def test_close_twice_then_start_again_with_an_untied_model() -> None:
    model = make_model(tied=False)
    engine = start(model)
    engine.close()
    engine.close()
    with pytest.raises(NotSupported, match="close"):
        generate(engine, prompts(1), SAMPLING)
    with start(model) as restarted:
        for version, part in enumerate(("lm_head", "embed_tokens", "o_proj")):
            disturb(model, part)
            restarted.sync(policy_weights(model), version)
            report = probe_parity(restarted, model, prompts(), SAMPLING)
            assert report.max_abs < FP32_TOLERANCE
        peft = add_lora(model, modules_to_save=["lm_head"])
        disturb(peft, "lm_head.modules_to_save")
        restarted.sync(policy_weights(peft), 3)
        assert probe_parity(restarted, peft, prompts(), SAMPLING).version == 3


def test_half_a_sync_is_never_sampled_from() -> None:
    model = make_model()

    def broken() -> Iterator[Any]:
        yield from list(policy_weights(model))[:3]
        raise OSError("link lost")

    with start(model) as engine:
        with pytest.raises(OSError, match="link lost"):
            engine.sync(broken(), 5)
        with pytest.raises(EngineFailure, match="half way"):
            generate(engine, prompts(), SAMPLING)
        with pytest.raises(EngineFailure, match=r"new process.*--resume"):
            engine.sync(policy_weights(model), 6)


@pytest.fixture
def process_group(tmp_path: Any) -> Iterator[None]:
    import torch

    url = f"file://{tmp_path / 'store'}"
    torch.distributed.init_process_group("gloo", init_method=url, rank=0, world_size=1)
    yield
    torch.distributed.destroy_process_group()


@pytest.mark.usefixtures("process_group")
def test_the_trainers_process_group_survives() -> None:
    import torch

    model = make_model()
    for version in range(2):
        with start(model) as engine:
            engine.sync(policy_weights(model), version)
            probe_parity(engine, model, prompts(), SAMPLING)
        assert torch.distributed.is_initialized()
        torch.distributed.barrier()


def test_rollouts_keep_the_sampled_tokens() -> None:
    from tests.trainers import tiny_policy
    from trainers.config.sections import TinyConfig
    from trainers.rollouts.budget import TokenBudget
    from trainers.rollouts.rollout_runner import RolloutRunner

    chat = tiny_policy.chat()
    model = tiny_policy.model(size=TinyConfig(hidden=64, heads=2, layers=2, context=CONTEXT))
    with start(model) as engine:
        engine.sync(policy_weights(model), 0)
        runner = RolloutRunner(tiny_policy.envs(2), chat, engine, TokenBudget(turn_tokens=6))
        episodes = runner.run(tiny_policy.tasks(2), group_size=2, horizon=3)
    assert len(episodes) == 4
    for episode in episodes:
        assert len(episode.turns) == 3 or episode.success
        for turn in episode.turns:
            assert 1 <= len(turn.ids) == len(turn.logprobs) <= 6


def test_an_engine_that_dies_ends_the_run_in_a_sentence_and_it_can_be_resumed(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    from vllm.v1.engine.exceptions import EngineDeadError
    from vllm.v1.engine.llm_engine import LLMEngine

    from tests.trainers import toy_runs
    from trainers.cli import main
    from trainers.output.run_folder import RunFolder

    def dead(self: Any) -> Any:
        raise EngineDeadError

    def dying(self: RunFolder, **record: Any) -> None:
        log(self, **record)
        if (record["phase"], record.get("step")) == ("rl", 2):
            monkeypatch.setattr(LLMEngine, "step", dead)

    log = RunFolder.log
    monkeypatch.setattr(RunFolder, "log", dying)
    changes = {"sft__max_steps": 5, "steps": 3, "eval__every": 0, "eval__num_tasks": 8}
    changes |= {"rl__save_every": 1, "engine": "vllm"}
    assert main(toy_runs.arguments(tmp_path / "run", **changes)) == 2
    sentence = toy_runs.last_line(capfd.readouterr().err)
    assert sentence.startswith("agentgym-train: expected vLLM to generate, but it failed with Eng")
    assert "repeat the command with --resume" in sentence
    assert toy_runs.run_command(["--resume", "--out", str(tmp_path / "run")]).returncode == 0
    records = toy_runs.by_phase(tmp_path / "run")["rl"]
    assert [record["step"] for record in records] == [1, 2, 3]

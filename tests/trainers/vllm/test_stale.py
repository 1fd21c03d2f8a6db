"""A stale policy on the real vLLM: two adapters on one base, in the process and on a server."""

from __future__ import annotations

import copy
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentgym.errors import NotSupported
from tests.trainers import tiny_policy, toy_runs
from tests.trainers.server_contract import free_port
from tests.trainers.vllm.policy import CONTEXT, add_lora, disturb, make_model, prompts
from trainers.cli import main
from trainers.rollouts.engines.base import Completion, PoolEngine, Request, Sampling
from trainers.rollouts.engines.parity import FP32_TOLERANCE, completion_logprobs
from trainers.rollouts.engines.policy_weights import policy_weights
from trainers.rollouts.engines.trained_weights import TrainedWeights

SAMPLING = Sampling(max_tokens=12)


def completions(engine: Any) -> list[Completion]:
    """Continue every prompt by both policies, all in flight together: the present one first."""
    cases = [(prompt, stale) for stale in (False, True) for prompt in prompts()]
    engine.submit(
        [Request(n, prompt, 12, n, stale=stale) for n, (prompt, stale) in enumerate(cases)],
        SAMPLING,
    )
    completions: dict[int, Completion] = {}
    while engine.running:
        completions.update(engine.advance())
    return [completions[n] for n in range(len(cases))]


def gap(model: Any, outputs: list[Completion]) -> float:
    """Largest difference between log-probabilities and those of a model, in nats."""
    expected = completion_logprobs(model, prompts(), outputs, 1.0)
    pairs = zip(outputs, expected, strict=True)
    return max(abs(a - b) for out, row in pairs for a, b in zip(out.logprobs, row, strict=True))


def check_both(engine: Any, policy: Any) -> None:
    """Each policy draws with its own weights while the other does, whoever got its own last."""
    assert isinstance(engine, PoolEngine)
    engine.sync(policy_weights(policy), 0)
    with pytest.raises(NotSupported, match="call sync_stale before"):
        completions(engine)
    engine.abort()
    past, weights = copy.deepcopy(policy), TrainedWeights(policy)
    engine.sync_stale(weights, 0)
    half = len(prompts())
    for version in (1, 2):
        disturb(policy, "lora_A", scale=2.0, seed=version)
        engine.sync(iter(()), version)
        outputs = completions(engine)
        assert gap(policy, outputs[:half]) < FP32_TOLERANCE
        assert gap(past, outputs[half:]) < FP32_TOLERANCE
        assert gap(past, outputs[:half]) > 100 * FP32_TOLERANCE
    engine.sync_stale(TrainedWeights(policy), 2)
    outputs = completions(engine)
    assert gap(policy, outputs[half:]) < FP32_TOLERANCE
    assert (engine.version, engine.stale_version) == (2, 2)


def test_two_adapters_share_one_base_in_this_process() -> None:
    from trainers.rollouts.engines.vllm_colocate import VLLMColocateEngine

    policy = add_lora(make_model())
    with VLLMColocateEngine(
        policy, max_model_len=CONTEXT, kv_cache_gib=0.25, lora="adapter", pool=True
    ) as engine:
        check_both(engine, policy)
        assert len(engine._llm.llm_engine.list_loras()) == 2


def test_merged_weights_leave_no_place_for_a_stale_policy() -> None:
    from trainers.rollouts.engines.vllm_colocate import VLLMColocateEngine

    policy = add_lora(make_model())
    with VLLMColocateEngine(policy, max_model_len=CONTEXT, kv_cache_gib=0.25) as engine:
        engine.sync(policy_weights(policy), 0)
        with pytest.raises(NotSupported, match="expected an engine that serves adapters"):
            engine.sync_stale(TrainedWeights(policy), 0)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[Any, Any]]:
    """A server for two adapters, and what it was asked to be."""
    from trainers.rollouts.engines.server_client import EngineServer
    from trainers.rollouts.engines.vllm_command import ServerNeeds

    make_model().save_pretrained(tmp_path / "model")
    needs = ServerNeeds(
        str(tmp_path / "model"), CONTEXT, 16, "float32", on_cpu=True, nccl=False, lora_rank=8,
        adapters=2,
    )  # fmt: skip
    words = shlex.split(needs.command())
    names = [word for word in words if word.startswith("VLLM")]
    extra = dict(name.split("=", 1) for name in names) | {"VLLM_CPU_KVCACHE_SPACE": "1"}
    url = f"http://127.0.0.1:{free_port()}"
    command = [sys.executable, *words[len(names) + 1 :], "--host", "127.0.0.1"]
    with (tmp_path / "log.txt").open("w") as log:
        process = subprocess.Popen(
            [*command, "--port", url.rsplit(":", 1)[1]],
            env={**os.environ, **extra}, stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
    try:
        EngineServer(url, 400.0, "").get("/v1/models")
        yield url, needs
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def test_two_adapters_share_one_base_on_a_server(server: Any, tmp_path: Path) -> None:
    from transformers import AutoModelForCausalLM

    from trainers.rollouts.engines.vllm_server import VLLMServerEngine

    url, needs = server
    policy = add_lora(AutoModelForCausalLM.from_pretrained(needs.model))
    engine = VLLMServerEngine(policy, [url], needs, folder=tmp_path / "sent", lora="adapter")
    check_both(engine, policy)
    engine.close()


def test_a_run_lets_both_policies_play(tmp_path: Path) -> None:
    """The stale policy is a copy of every step: all that acts has the policy's probabilities."""
    from trainers.models.tiny import build_model

    tokenizer = tiny_policy.tokenizer(words=("go", "take"))
    tokenizer.save_pretrained(tmp_path / "model")
    build_model(tokenizer, tiny_policy.SIZE).save_pretrained(tmp_path / "model")
    changes = {
        "engine": "vllm", "model": tmp_path / "model", "steps": 2, "horizon": "3",
        "horizon_every": None, "sft__max_steps": 0, "eval__every": 0, "eval__num_tasks": 4,
        "rl__turn_tokens": 6, "rl__episode_tokens": 220, "lora__r": 4,
    }  # fmt: skip
    flags = ["--preset=rloo", "--cross-policy.share=0.5", "--cross-policy.every=1"]
    assert main(toy_runs.arguments(tmp_path / "run", *flags, **changes)) == 0
    records = toy_runs.by_phase(tmp_path / "run")["rl"]
    assert all(0.2 < record["stale_turns"] < 0.8 for record in records)
    assert max(record["logp_gap_max"] for record in records) < FP32_TOLERANCE

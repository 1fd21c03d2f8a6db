"""What can be chosen about the real engine: adapters, prefix caching, sleep, several devices."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch

from agentgym.errors import ConfigurationError, NotSupported
from tests.trainers.vllm.policy import CONTEXT, add_lora, disturb, make_model, prompts
from trainers.rollouts.engines.base import TOLD, Sampling, generate, least_entropy
from trainers.rollouts.engines.failure import EngineFailure
from trainers.rollouts.engines.hf import distribution
from trainers.rollouts.engines.parity import FP32_TOLERANCE, probe_parity
from trainers.rollouts.engines.policy_weights import policy_weights

SAMPLING = Sampling(max_tokens=16)


def start(model: Any, **options: Any) -> Any:
    from trainers.rollouts.engines.vllm_colocate import VLLMColocateEngine

    return VLLMColocateEngine(model, max_model_len=CONTEXT, kv_cache_gib=0.25, **options)


def gap(engine: Any, model: Any) -> float:
    return probe_parity(engine, model, prompts(), SAMPLING, tolerance=None).max_abs


@pytest.mark.parametrize("options", [{}, {"use_rslora": True, "r": 12}])
def test_an_adapter_is_served_beside_its_base(options: dict[str, Any]) -> None:
    policy = add_lora(make_model(), **options)
    with start(policy, lora="adapter") as engine:
        engine.sync(policy_weights(policy), 0)
        assert gap(engine, policy) < FP32_TOLERANCE
        for version in (1, 2):
            disturb(policy, "lora_A", scale=2.0, seed=version)
            assert gap(engine, policy) > 100 * FP32_TOLERANCE
            engine.sync(iter(()), version)  # nothing is merged
            assert gap(engine, policy) < FP32_TOLERANCE
        assert engine._llm.llm_engine.list_loras() == {3}
        assert engine.version == 2


def test_auto_merges_on_a_cpu() -> None:
    policy = add_lora(make_model())
    with start(policy, lora="auto") as engine:
        engine.sync(policy_weights(policy), 0)
        assert engine.adapter is None
        assert gap(engine, policy) < FP32_TOLERANCE


def counter(engine: Any, name: str) -> int:
    """One of vLLM's own counters."""
    return sum(m.value for m in engine._llm.get_metrics() if m.name == f"vllm:prefix_cache_{name}")


def test_turns_find_their_prefix_in_the_cache_and_a_sync_drops_it() -> None:
    model = make_model()
    opening = prompts(1, length=280)[0]
    with start(model, vllm={"disable_log_stats": False}) as engine:
        engine.sync(policy_weights(model), 0)
        first = generate(engine, [opening], SAMPLING)[0]
        turn = [*opening, *first.ids, 5, 6]
        query_count, hit_count = counter(engine, "queries"), counter(engine, "hits")
        generate(engine, [turn], SAMPLING)
        assert counter(engine, "queries") - query_count == len(turn)
        assert counter(engine, "hits") - hit_count == 256, "two whole blocks of 128 tokens"
        engine.sync(policy_weights(model), 1)
        hit_count = counter(engine, "hits")
        generate(engine, [turn], SAMPLING)
        assert counter(engine, "hits") == hit_count


def test_entropies_are_the_least_that_the_told_tokens_allow() -> None:
    model, prompt = make_model(), prompts(1)[0]
    with start(model) as engine:
        engine.sync(policy_weights(model), 0)
        plain_completions = generate(engine, [prompt], SAMPLING)[0]
        completion = generate(engine, [prompt], replace(SAMPLING, entropies=True))[0]
    assert (plain_completions.ids, plain_completions.entropies) == (completion.ids, [])
    with torch.no_grad():
        logits = model(torch.tensor([[*prompt, *completion.ids]])).logits[0, len(prompt) - 1 : -1]
    logp = distribution(logits, SAMPLING)
    expected = []
    for row, sampled in zip(logp, completion.ids, strict=True):
        likeliest = set(row.topk(TOLD).indices.tolist()) | {sampled}
        expected.append(least_entropy(row[sorted(likeliest)].tolist()))
    assert completion.entropies == pytest.approx(expected, abs=1e-4)


def test_sleep_is_refused_without_a_gpu() -> None:
    with pytest.raises(ConfigurationError, match=r"--vllm.sleep only where .* on cpu"):
        start(make_model(), sleep=True)


@pytest.mark.parametrize(("lora", "level"), [("merge", 2), ("adapter", 1)])
def test_rest_frees_what_the_next_sync_brings(
    lora: str, level: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The order of vLLM's calls; what they free can only be seen on a GPU."""
    policy, calls = add_lora(make_model()), []
    with start(policy, lora=lora) as engine:
        engine.rest()
        assert calls == [], "it was not made to sleep"
        llm = engine._llm

        def record(name: str) -> Callable[..., Any]:
            real = getattr(llm, name)

            def called(*args: Any, **kwargs: Any) -> Any:
                calls.append((name, *kwargs.values()) if "tags" in kwargs or kwargs else (name,))
                return None if name in ("sleep", "wake_up") else real(*args, **kwargs)

            return called

        engine.sync(policy_weights(policy), 0)
        monkeypatch.setattr(engine, "_sleeps", True)
        for name in ("sleep", "wake_up", "collective_rpc", "reset_prefix_cache"):
            monkeypatch.setattr(llm, name, record(name))
        engine.rest()
        engine.rest()
        assert calls == [("sleep", level)]
        with pytest.raises(NotSupported, match="before submit"):
            generate(engine, prompts(1), SAMPLING)
        engine.sync(policy_weights(policy), 1)
        reloads = ["collective_rpc"] if lora == "merge" else []
        expected = ["sleep", "wake_up", *reloads, "wake_up", "reset_prefix_cache"]
        assert [call[0] for call in calls] == expected
        assert [c[1] for c in calls if c[0] == "wake_up"] == [["weights"], ["kv_cache"]]
        assert gap(engine, policy) < FP32_TOLERANCE


def test_two_devices_share_a_model_until_one_dies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLLM_CPU_OMP_THREADS_BIND", "0|1")
    model = make_model()
    with start(model, tensor_parallel=2, max_num_seqs=16) as engine:
        engine.sync(policy_weights(model), 0)
        assert gap(engine, model) < FP32_TOLERANCE
        disturb(model, "embed_tokens")
        disturb(model, "q_proj")
        engine.sync(policy_weights(model), 1)
        assert gap(engine, model) < FP32_TOLERANCE
        multiprocessing.active_children()[0].kill()
        with pytest.raises(EngineFailure, match=r"expected vLLM to generate.*--resume"):
            generate(engine, prompts(), SAMPLING)


def test_what_does_not_start_is_one_sentence() -> None:
    with pytest.raises(EngineFailure, match=r"expected vLLM to start.*--vllm.memory"):
        start(make_model(), dtype="float32", vllm={"block_size": 7})

"""A merged export is a plain folder: vLLM opens it and acts as the policy that was trained."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="module")
def merged(adapter_run: Path) -> Path:
    return adapter_run / "checkpoints" / "merged"


def greedy(model: Any, prompts: list[list[int]], length: int) -> list[list[int]]:
    """The likeliest continuation, by transformers."""
    import torch

    sequences = []
    for prompt in prompts:
        ids = torch.tensor([prompt])
        output = model.generate(
            input_ids=ids,
            attention_mask=torch.ones_like(ids),
            max_new_tokens=length,
            do_sample=False,
            eos_token_id=None,
        )
        sequences.append(output[0, len(prompt) :].tolist())
    return sequences


def test_vllm_serves_the_export_with_the_actions_of_the_adapters(
    adapter_run: Path, merged: Path
) -> None:
    """Greedy actions of vLLM's own loader, from the folder alone, against those of PEFT."""
    from peft import AutoPeftModelForCausalLM
    from transformers import AutoTokenizer

    from trainers.rollouts.engines.vllm_process import generating, import_vllm, starting

    vllm: Any = import_vllm()
    tokenizer = AutoTokenizer.from_pretrained(merged)
    texts = ("next is red", "next is blue", "nothing happens . next is gold", "the door opens")
    prompts = [
        tokenizer.apply_chat_template(
            [{"role": "user", "content": text}], add_generation_prompt=True, return_dict=False
        )
        for text in texts
    ]
    policy = AutoPeftModelForCausalLM.from_pretrained(adapter_run / "checkpoints" / "best")
    expected = greedy(policy.eval(), prompts, 6)
    # In fp32, so that no tie between two likely tokens is broken by rounding.
    with starting():
        llm = vllm.LLM(
            model=str(merged), dtype="float32", max_model_len=64, enforce_eager=True,
            distributed_executor_backend="uni", kv_cache_memory_bytes=2**26,
        )  # fmt: skip
    inputs: Any = [{"prompt_token_ids": prompt} for prompt in prompts]
    sampling = vllm.SamplingParams(temperature=0.0, max_tokens=6, ignore_eos=True)
    try:
        with generating(without_compiling=True):
            outputs = llm.generate(inputs, sampling, use_tqdm=False)
    finally:
        llm.llm_engine.engine_core.shutdown()
    assert [list(output.outputs[0].token_ids) for output in outputs] == expected
    assert len({tuple(ids) for ids in expected}) > 1, "the prompts are told apart"

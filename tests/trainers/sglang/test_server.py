"""A real SGLang server keeps the contract of servers, however its weights travel."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.trainers.server_contract import SAMPLING, Server, ServerContract, gap, write_model
from trainers.rollouts.engines.base import generate
from trainers.rollouts.engines.parity import FP32_TOLERANCE
from trainers.rollouts.engines.policy_weights import policy_weights

pytest.importorskip(
    "sglang",
    reason="sglang is not installed: .ci/sglang builds an environment and runs these tests",
)


class TestSGLangServer(ServerContract):
    section, name = "sglang", "SGLang"

    @staticmethod
    def connect(policy: Any, server: Server, folder: Path, **changes: Any) -> Any:
        from trainers.rollouts.engines.sglang_command import SGLangNeeds
        from trainers.rollouts.engines.sglang_server import SGLangServerEngine

        settings = {"on_cpu": True, "nccl": False, "seeded": False, **changes}
        needs = SGLangNeeds("some/model", 128, 16, "float32", **settings)
        return SGLangServerEngine(policy, [server.url], needs, folder=folder, seeded=False)

    def test_weights_reach_the_server_through_a_folder(
        self, server: Server, tmp_path: Path
    ) -> None:
        from transformers import AutoModelForCausalLM

        from tests.trainers.vllm.policy import disturb

        policy = AutoModelForCausalLM.from_pretrained(server.model)
        engine = self.connect(policy, server, tmp_path, shared=True)
        disturb(policy, "embed_tokens", scale=2.0)
        engine.sync(policy_weights(policy), 3)
        assert engine.exact and gap(engine, policy) < FP32_TOLERANCE
        engine.close()

    def test_a_completion_goes_on_after_a_foreign_end_of_text(
        self, server: Server, tmp_path: Path
    ) -> None:
        from transformers import AutoModelForCausalLM

        policy = AutoModelForCausalLM.from_pretrained(server.model)
        engine = self.connect(policy, server, tmp_path)
        engine.sync(policy_weights(policy), 4)
        end, vocabulary = policy.config.eos_token_id, policy.config.vocab_size
        stop_id = next(token for token in range(vocabulary) if token != end)
        sampling = dataclasses.replace(SAMPLING, max_tokens=100, stop_ids=(stop_id,))
        completions = generate(engine, [[5, 6, 7]] * 40, sampling)
        assert all(c.ids[-1] == stop_id if c.stopped else len(c.ids) == 100 for c in completions)
        assert any(end in c.ids[:-1] for c in completions)
        assert all(stop_id not in c.ids[:-1] for c in completions)
        engine.close()


@pytest.fixture
def endpoint(tmp_path: Path) -> Iterator[Server]:
    """A server that has the tokenizer, as its OpenAI endpoints need it."""
    model = write_model(tmp_path / "model")
    server = Server("sglang", model, tmp_path / "log.txt", without=["--skip-tokenizer-init"])
    yield server
    server.kill()


def test_evaluations_record_its_tokens_and_their_log_probabilities(
    endpoint: Server, tmp_path: Path
) -> None:
    import torch
    from transformers import AutoModelForCausalLM

    from agentgym.episodes import read_episodes
    from agentgym.evaluation import evaluate
    from agentgym.policies import ChatConfig, ChatPolicy
    from tests.toy import TOY_ID

    asked = {"return_token_ids": True, "logprobs": True, "ignore_eos": True}
    config = ChatConfig("policy", f"{endpoint.url}/v1", temperature=0.7, max_tokens=8, extra=asked)
    evaluate(ChatPolicy(config, ""), TOY_ID, "test", 2, horizon=3, record=tmp_path / "e.jsonl")
    policy = AutoModelForCausalLM.from_pretrained(endpoint.model)
    for episode in read_episodes(tmp_path / "e.jsonl"):
        tokens, text = episode.extra["tokens"], list[int]()
        assert len(tokens) == len(episode.turns) == 3
        for turn in tokens:
            text = [*([] if turn["fresh"] else text), *turn["context"], *turn["ids"]]
            with torch.no_grad():
                logits = policy(torch.tensor([text])).logits[0, -9:-1] / 0.7
            expected = logits.log_softmax(-1)[range(8), turn["ids"]]
            assert (expected - torch.tensor(turn["logprobs"])).abs().max() < FP32_TOLERANCE


def test_both_completions_endpoints_sample_the_same(endpoint: Server) -> None:
    """The engine uses the native one, which needs no tokenizer."""
    from trainers.rollouts.engines.server_client import SGLANG, EngineServer

    server, prompt = EngineServer(endpoint.url, 2.0, "", SGLANG), [5, 6, 7, 8]
    settings = {"temperature": 0.0, "stop_token_ids": [3], "ignore_eos": True}
    native = server.post(
        "/generate",
        {
            "input_ids": prompt,
            "sampling_params": {**settings, "max_new_tokens": 8},
            "return_logprob": True,
        },
    )
    body = {"model": "policy", "prompt": prompt, "max_tokens": 8, "logprobs": 0, **settings}
    (choice,) = server.post("/v1/completions", {**body, "return_token_ids": True})["choices"]
    assert (choice["prompt_token_ids"], choice["token_ids"]) == (prompt, native["output_ids"])
    entries = native["meta_info"]["output_token_logprobs"]
    assert choice["logprobs"]["token_logprobs"] == pytest.approx([value for value, *_ in entries])

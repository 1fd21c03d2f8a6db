"""A real SGLang server keeps the contract of servers, however its weights travel."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from tests.trainers.server_contract import SAMPLING, Server, ServerContract, gap
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

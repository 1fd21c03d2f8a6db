"""A teacher with other tokens is refused, in a folder and on a server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

from agentgym.errors import ConfigurationError
from tests.trainers import tiny_policy
from tests.trainers.grpo.reference import forward
from tests.trainers.methods.distill.test_teachers import DISTILL, student
from tests.trainers.rollouts.engines.standin_server import StandIn
from trainers.methods.distill.served import ServedTeacher
from trainers.methods.distill.teacher_names import teacher_folder
from trainers.methods.distill.vocabulary import check_vocabulary
from trainers.rollouts.engines.failure import EngineFailure
from trainers.rollouts.trajectory import Row, to_rows


class ScoringServer(StandIn):
    """A server that scores prompts with a model, as vLLM does at temperature 1."""

    def __init__(self, model: Any, tokenizer: Any, length: int = 400) -> None:
        self._model, self._tokenizer, self._length = model.double(), tokenizer, length
        self.scores = True
        super().__init__()

    def answer(self, path: str, payload: Any) -> tuple[int, Any]:
        if path == "/v1/models":
            return 200, {"data": [{"id": "teacher", "max_model_len": self._length}]}
        if path == "/tokenize":
            ids = self._tokenizer(payload["prompt"], add_special_tokens=False)["input_ids"]
            return 200, {"tokens": ids}
        ids = payload["prompt"]
        assert payload["model"] == "teacher" and payload["temperature"] == 1.0
        with torch.no_grad():
            row = Row(ids, [0] + [1] * (len(ids) - 1), [0.0] * len(ids), 1)
            logps, _ = forward(self._model, [row])
        token_logprobs = [
            {str(token): {"logprob": float(logp), "rank": 1, "decoded_token": "?"}}
            for token, logp in zip(ids[1:], logps, strict=True)
        ]
        choice = {"prompt_logprobs": [None, *token_logprobs]} if self.scores else {}
        return 200, {"choices": [choice]}


@pytest.fixture
def server() -> Iterator[ScoringServer]:
    standin = ScoringServer(tiny_policy.model(seed=2), tiny_policy.chat().tokenizer)
    yield standin
    standin.stop()


def test_a_server_scores_the_tokens_that_a_model_here_would(server, tmp_path):
    assignments: list[Any] = []
    teacher = ServedTeacher(server.url, tiny_policy.chat(), least=160)
    assert teacher.context == 399
    trainer = student(tmp_path, DISTILL, lambda parts: teacher, args={"temperature": 1.0})
    credit = trainer._credit
    trainer._credit = lambda *args: assignments.append(credit(*args)) or assignments[-1]
    trainer.train()
    with torch.no_grad():
        teacher_logps, _ = forward(
            tiny_policy.model(seed=2).double(), to_rows(trainer.trajectories)
        )
    np.testing.assert_allclose(
        assignments[0].batch.aux["logp_teacher"], teacher_logps.numpy(), atol=1e-6
    )


def test_a_server_that_scores_no_prompts_ends_the_run_in_one_sentence(server, tmp_path):
    server.scores = False
    teacher = ServedTeacher(server.url, tiny_policy.chat(), least=160)
    trainer = student(tmp_path, DISTILL, lambda parts: teacher, args={"temperature": 1.0})
    with pytest.raises(EngineFailure, match=r"to score each of the \d+ tokens of a prompt"):
        trainer.train()


def test_a_server_with_other_tokens_or_a_shorter_context_is_refused(server):
    with pytest.raises(ConfigurationError, match=r"at least the 400 tokens .* --max-model-len 400"):
        ServedTeacher(server.url, tiny_policy.chat(), least=400)
    server._tokenizer = tiny_policy.tokenizer(words=("drawer",))
    with pytest.raises(ConfigurationError, match="because it scores the policy's token ids, got"):
        ServedTeacher(server.url, tiny_policy.chat(), least=160)


def test_a_server_that_is_none_of_vllm_is_refused(server, monkeypatch):
    monkeypatch.setattr(server, "answer", lambda path, payload: (200, {"hello": "world"}))
    with pytest.raises(ConfigurationError, match="does not name its model under /v1/models"):
        ServedTeacher(server.url, tiny_policy.chat(), least=160)


def test_a_tokenizer_may_have_more_tokens_and_no_others(caplog):
    tokenizer = tiny_policy.tokenizer()
    check_vocabulary(tokenizer, tokenizer, "itself")
    more = tiny_policy.tokenizer()
    more.add_tokens(["<extra>"])
    check_vocabulary(tokenizer, more, "a larger one")
    with pytest.raises(ConfigurationError, match=r"token '<extra>' has id \d+ and no id there"):
        check_vocabulary(more, tokenizer, "a smaller one")
    other_tokenizer = tiny_policy.tokenizer(words=("aardvark",))
    with pytest.raises(ConfigurationError, match=r"has id \d+ and id \d+ there; choose a model"):
        check_vocabulary(tokenizer, other_tokenizer, "another")
    more.chat_template = tiny_policy.QWEN_LIKE
    check_vocabulary(tokenizer, more, "a larger one")
    assert "the chat template of the teacher a larger one differs" in caplog.text


def test_a_name_that_is_no_model_is_refused(tmp_path):
    (tmp_path / "empty").mkdir()
    for name, reason in (
        (str(tmp_path / "missing"), "there is no such folder"),
        (str(tmp_path / "empty"), "the folder has none of config.json"),
        ("tiny", "there is no such folder"),
    ):
        with pytest.raises(ConfigurationError, match=f"expected --distill.teacher .*{reason}"):
            teacher_folder(name)

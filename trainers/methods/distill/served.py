"""A teacher on a vLLM server: it scores the tokens of prompts (``prompt_logprobs``).

A stock server suffices, ``vllm serve MODEL``; it needs no development endpoints. Token ids travel,
so nothing is tokenised twice. Its log-probabilities are those at temperature 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch
from torch import Tensor

from agentgym.errors import ConfigurationError
from trainers.methods.distill.teacher import Teacher
from trainers.methods.distill.vocabulary import refuse_vocabulary
from trainers.rollouts.chat import TurnTokenizer
from trainers.rollouts.engines.failure import GO_ON, EngineFailure
from trainers.rollouts.engines.server_client import EngineServer
from trainers.rollouts.scoring.tensors import sampled_mask
from trainers.rollouts.trajectory import Trajectory

__all__ = ["PROBE", "ServedTeacher"]

PATIENCE = 60.0
"""Seconds for which the server may be unreachable."""
IN_FLIGHT = 16
"""Rows that are scored at a time; the server batches them."""
PROBE = (
    "look[3] at the 1,024 brown-ish drawers; x = [f(i) ** 2 for i in range(10)]\n\tprint(x)\n"
    'Grüße, naïve café, 東京, привет, 🙂 <answer>\\frac{1}{2}</answer> $45.00 #tag "quoted" isn\'t'
)
"""Text to compare the server's tokens with: words, numbers, code, scripts, punctuation."""
PROBED = 2000
"""Number of tokens, from all parts of the vocabulary, whose text is compared, too."""


class ServedTeacher(Teacher):
    """A model on a vLLM server.

    Args:
        url: Address, such as ``http://host:8000``.
        chat: Turn tokenizer of the policy.
        least: Fewest tokens that the server has to read.

    Attributes:
        context: Most tokens of a row that the server scores.

    Raises:
        ConfigurationError: Its tokens differ from the student's, or it reads less.
        EngineFailure: It cannot be reached.
    """

    def __init__(self, url: str, chat: TurnTokenizer, least: int) -> None:
        self._server = EngineServer(url, PATIENCE, "vllm serve MODEL")
        try:
            model = self._server.get("/v1/models")["data"][0]
            self._name, length = str(model["id"]), int(model.get("max_model_len") or 1 << 15)
        except (TypeError, KeyError, IndexError, ValueError) as error:
            raise ConfigurationError(
                f"expected --distill.url to be the address of a vLLM server, got {url}, which "
                "does not name its model under /v1/models"
            ) from error
        self.context = length - 1  # It has to write a token.
        if self.context < least:
            raise ConfigurationError(
                f"expected a vLLM server that reads at least the {least} tokens of the policy's "
                f"longest episodes and writes one, but that at {url} has --max-model-len {length}"
            )
        self._check_tokens(chat)

    def logps(self, batch: Mapping[str, Tensor], episodes: Sequence[Trajectory]) -> Tensor:
        """Return log-probabilities (B, T); see ``Teacher``."""
        mask = sampled_mask(batch)
        scores = torch.zeros(mask.shape, device=mask.device)
        numbers = mask.any(1).nonzero()[:, 0].tolist()
        prompts = [batch["prompt_ids"][n][batch["prompt_mask"][n].bool()].tolist() for n in numbers]
        ends = [int(mask[n].nonzero().max()) + 1 for n in numbers]
        rows = [
            prompt + batch["completion_ids"][n, :end].tolist()
            for n, prompt, end in zip(numbers, prompts, ends, strict=True)
        ]
        with ThreadPoolExecutor(IN_FLIGHT, thread_name_prefix="teacher") as pool:
            row_scores = list(pool.map(self._scores, rows))
        for n, prompt, end, row in zip(numbers, prompts, ends, row_scores, strict=True):
            scores[n, :end] = torch.tensor(row[len(prompt) :], device=mask.device)
        return torch.where(mask, scores, 0.0)

    def _scores(self, ids: list[int]) -> list[float]:
        """Return the log-probability of each token of a row; 0 of the first."""
        answer = self._server.post(
            "/v1/completions",
            {
                "model": self._name,
                "prompt": ids,
                "max_tokens": 1,
                "temperature": 1.0,
                "prompt_logprobs": 0,
            },
        )
        try:
            logprobs = answer["choices"][0]["prompt_logprobs"]
            later = zip(ids[1:], logprobs[1:], strict=True)
            return [0.0, *(float(candidates[str(token)]["logprob"]) for token, candidates in later)]
        except (TypeError, KeyError, IndexError, ValueError) as error:
            raise EngineFailure(
                f"expected the vLLM server at {self._server.url} to score each of the {len(ids)} "
                f"tokens of a prompt (prompt_logprobs), got another answer; {GO_ON}"
            ) from error

    def _check_tokens(self, chat: TurnTokenizer) -> None:
        """Check that the server makes the same tokens of a text, special ones included.

        Raises:
            ConfigurationError: It does not.
        """
        size = len(chat.tokenizer)
        everywhere = chat.raw_text(range(0, size, -(-size // PROBED)))
        special = "".join(map(str, chat.tokenizer.all_special_tokens))
        for text in (PROBE, special + PROBE, everywhere):
            student_ids, teacher_ids = chat.encode(text), self._tokens(text)
            if student_ids != teacher_ids:
                place = next(
                    (
                        n
                        for n, pair in enumerate(zip(student_ids, teacher_ids, strict=False))
                        if len({*pair}) > 1
                    ),
                    min(len(student_ids), len(teacher_ids)),
                )
                teacher_id: Any = teacher_ids[place] if place < len(teacher_ids) else "none"
                student_id: Any = student_ids[place] if place < len(student_ids) else "none"
                raise refuse_vocabulary(
                    self._server.url,
                    f"token {place} of a text has id {student_id} and {teacher_id} there",
                )

    def _tokens(self, text: str) -> list[int]:
        """Ask for the tokens of a text."""
        body = {"model": self._name, "prompt": text, "add_special_tokens": False}
        answer = self._server.post("/tokenize", body)
        try:
            return [int(token) for token in answer["tokens"]]
        except (TypeError, KeyError, ValueError) as error:
            raise EngineFailure(
                f"expected the vLLM server at {self._server.url} to tokenise a text (/tokenize), "
                f"got another answer; {GO_ON}"
            ) from error

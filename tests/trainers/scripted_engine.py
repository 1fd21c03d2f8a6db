"""An engine that says what it is told: for tests, replays and demonstrations without a model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from agentgym.errors import DataError
from trainers.rollouts.engines.base import Completion, Request, Sampling

if TYPE_CHECKING:
    import torch

    from trainers.rollouts.chat import TurnTokenizer

__all__ = ["ScriptedEngine"]


class ScriptedEngine:
    """Answers prompts from a list of texts or a function, as if a model had sampled them.

    Attributes:
        calls: The prompts that were answered together so far, as lists of token ids.
    """

    name = "scripted"
    exact = True

    def __init__(
        self,
        chat: TurnTokenizer,
        script: Iterable[str] | Callable[[list[int]], str],
        logprob: float = -1.0,
    ) -> None:
        """Prepare the script.

        Args:
            chat: Encodes the texts.
            script: Texts handed out one per prompt, in order, or a function of the prompt's ids.
            logprob: Log-probability reported for every token, in nats.
        """
        self.version = 0
        self.calls: list[list[list[int]]] = []
        self._submitted: list[Request] = []
        self._chat = chat
        self._logprob = logprob
        self._answer: Callable[[list[int]], str]
        if callable(script):
            self._answer = script
        else:
            texts = iter(script)
            self._answer = lambda prompt: _next(texts)

    @property
    def running(self) -> int:
        """Number of requests in flight."""
        return len(self._submitted)

    def submit(self, requests: Sequence[Request], sampling: Sampling) -> None:
        """Take prompts in."""
        self._submitted += requests

    def advance(self, timeout: float | None = None) -> list[tuple[int, Completion]]:
        """Answer every prompt with the next text, cut at the token limit.

        Raises:
            DataError: The script is used up.
        """
        requests, self._submitted = self._submitted, []
        if requests:
            self.calls.append([list(request.prompt) for request in requests])
        out = []
        for request in requests:
            ids = self._chat.encode_action(self._answer(list(request.prompt)))
            cut = len(ids) > request.max_tokens
            ids = ids[: request.max_tokens]
            out.append((request.key, Completion(ids, [self._logprob] * len(ids), not cut)))
        return out

    def abort(self) -> None:
        """Forget the prompts."""
        self._submitted.clear()

    def sync(self, named_params: Iterable[tuple[str, torch.Tensor]], version: int) -> None:
        """Note the version; a script has no weights."""
        self.version = version

    def rest(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


def _next(texts: Iterable[str]) -> str:
    """The next text of an iterator.

    Raises:
        DataError: There is none.
    """
    for text in texts:
        return text
    raise DataError("expected another text in the script, but it is used up: write more turns.")

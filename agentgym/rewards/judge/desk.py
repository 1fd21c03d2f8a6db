"""Send the questions of all judges with equal settings to one endpoint: once each, within bounds.

Failures of an endpoint raise nothing here. An unanswered question gives a `Verdict` without a
score.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Any

from agentgym.core.hooks import Verdict
from agentgym.endpoints.completions import ChatCompletion, content_text
from agentgym.endpoints.config import EndpointConfig
from agentgym.endpoints.endpoint import Endpoint, sendable
from agentgym.endpoints.waiting import Waits
from agentgym.errors import AgentGymError, PolicyFailure
from agentgym.rewards.judge.question import JudgeQuestion, digest
from agentgym.support.caching import BoundedCache, entry_path, load_json, save_json
from agentgym.support.random_stream import Stream

REMEMBERED = 65_536
"""Maximum number of verdicts kept in memory."""
PATIENCE = 5
"""Number of consecutive unanswered questions after which only some questions are sent."""
EVERY = 20
"""Then one of this many questions is sent, so that a dead endpoint does not delay every turn."""
LONGEST_PROBLEM = 300
"""Maximum length of the reason of a missing verdict."""
PER_TOKEN = 3
"""Characters per token, if the endpoint does not report token counts."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class QuestionBounds:
    """Limits on the questions of a process."""

    calls: int
    """Maximum number of questions."""
    tokens: int
    """Number of tokens, read and written, after which no question is sent."""


class Desk:
    """Queries a judge, from any number of threads; copies of a hook share it.

    Args:
        config: Model, endpoint and sampling.
        bounds: Limits on its questions.
    """

    def __init__(self, config: EndpointConfig, bounds: QuestionBounds) -> None:
        self._config, self._bounds = config, bounds
        self._lock = threading.Lock()
        self._waits = Waits()
        self._endpoint: Endpoint | None = None
        self._scores: BoundedCache[str, float] = BoundedCache(REMEMBERED)
        self._pending: dict[str, Future[Verdict]] = {}
        self._calls = self._tokens = 0
        self._unanswered = self._skipped = 0

    def __deepcopy__(self, memo: Any) -> Desk:
        """Return itself: copies of environments share connection, cache and bounds."""
        return self

    def __reduce__(self) -> Any:
        """Be made anew in another process, where what was spent here does not count."""
        return Desk, (self._config, self._bounds)

    def key(self, question: JudgeQuestion) -> str:
        """Return the key of a question to this judge."""
        its = self._config
        how = [its.base_url or "", its.model, its.temperature, its.max_tokens]
        return digest(*how, *map(dict, question.messages))

    def check(self) -> None:
        """Prepare the endpoint without sending a request.

        Raises:
            DependencyNotInstalled: The package ``openai`` is missing.
            ConfigurationError: A required API key is not set, or cannot be sent.
        """
        self._opened()

    def interrupt(self) -> None:
        """Interrupt all current waits, from any thread."""
        self._waits.interrupt()

    def ask(self, key: str, question: JudgeQuestion) -> Verdict:
        """Return the verdict on a question; equal questions are sent once.

        Threads with equal questions wait for one response. Verdicts are stored on disk; unanswered
        questions are sent again.
        """
        with self._lock:
            if (score := self._scores.get(key)) is not None:
                return Verdict(key, score)
            future = Future[Verdict]()
            pending = self._pending.setdefault(key, future)
        if pending is not future:
            return replace(pending.result(), calls=0, prompt_tokens=0, completion_tokens=0)
        try:
            verdict = self._looked_up(key) or self._send(key, question)
        except BaseException as error:  # of what kind ever: who waits for it must not wait for ever
            verdict = Verdict(key, None, f"{type(error).__name__}: {error}"[:LONGEST_PROBLEM])
            if not isinstance(error, Exception):
                raise
        finally:
            with self._lock:
                del self._pending[key]
                if verdict.score is not None:
                    self._scores[key] = verdict.score
            future.set_result(verdict)
        return verdict

    def _looked_up(self, key: str) -> Verdict | None:
        """Return a verdict that an earlier run was given."""
        stored = load_json(_place(key), key)
        score = stored.get("score") if isinstance(stored, Mapping) else None
        sound = isinstance(score, int | float) and 0.0 <= score <= 1.0
        return Verdict(key, float(score)) if sound else None  # type: ignore[arg-type]

    def _send(self, key: str, question: JudgeQuestion) -> Verdict:
        """Send a question, if it may be sent."""
        if problem := self._refused():
            return Verdict(key, None, problem)
        try:
            answer = self._opened().complete(
                self._request(question), Stream("judge-retries", key), self._waits
            )
        except (PolicyFailure, AgentGymError) as error:
            with self._lock:
                self._unanswered += 1
            _log.warning("a judge gave no verdict: %s", error)
            return Verdict(key, None, str(error)[:LONGEST_PROBLEM], calls=1)
        return self._read_answer(key, question, answer)

    def _read_answer(self, key: str, question: JudgeQuestion, answer: ChatCompletion) -> Verdict:
        """Read an answer, and keep its verdict."""
        text = content_text(answer.message.get("content"))
        question_length = sum(len(message["content"]) for message in question.messages)
        prompt_tokens = answer.prompt_tokens or question_length // PER_TOKEN
        completion = answer.completion_tokens or len(text) // PER_TOKEN
        with self._lock:
            self._unanswered = 0
            self._tokens += prompt_tokens + completion
        score = question.read(text)
        if score is None:
            why = f"no line VERDICT {question.mark} in the answer, or several that differ"
            return Verdict(key, None, why, 1, prompt_tokens, completion)
        save_json(_place(key), key, {"score": score})
        return Verdict(key, score, "", 1, prompt_tokens, completion)

    def _refused(self) -> str:
        """Count a question that is sent; return why it is not, or nothing."""
        with self._lock:
            if self._calls >= self._bounds.calls or self._tokens >= self._bounds.tokens:
                return f"the bounds are reached: {self._calls:,} calls, {self._tokens:,} tokens"
            if self._unanswered >= PATIENCE and (self._skipped + 1) % EVERY:
                self._skipped += 1
                return f"the last {self._unanswered} questions were not answered: not asked"
            self._skipped = 0
            self._calls += 1
            return ""

    def _request(self, question: JudgeQuestion) -> dict[str, Any]:
        config = self._config
        return {
            "model": config.model,
            "messages": sendable([dict(message) for message in question.messages]),
            "max_tokens": config.max_tokens,
            "temperature": config.temperature,
        }

    def _opened(self) -> Endpoint:
        with self._lock:
            if self._endpoint is None:
                self._endpoint = Endpoint(self._config)
            return self._endpoint


def _place(key: str) -> Any:
    """Return the file of a verdict; in folders by its key, as there may be very many."""
    return entry_path(f"judge/{key[:2]}", "verdict", key)

"""Ask a model each question once, within bounds, and keep its answers.

Judges and simulated users ask many questions twice: in the members of a group, in a resumed run, in
a replay. Failures of an endpoint raise nothing here: an unanswered question gives a `CachedAnswer`
without a value.
"""

from __future__ import annotations

import hashlib
import json
import logging
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from agentgym.endpoints.completions import ChatCompletion, content_text
from agentgym.endpoints.config import EndpointConfig
from agentgym.endpoints.endpoint import Endpoint, sendable
from agentgym.endpoints.waiting import Waits
from agentgym.errors import AgentGymError, ConfigurationError, PolicyFailure
from agentgym.support.caching import BoundedCache, entry_path, load_json, save_json
from agentgym.support.random_stream import Stream

REMEMBERED = 65_536
"""Maximum number of answers kept in memory."""
PATIENCE = 5
"""Number of consecutive unanswered questions after which only some questions are sent."""
EVERY = 20
"""Then one of this many questions is sent, so that a dead endpoint does not delay every turn."""
LONGEST_PROBLEM = 300
"""Maximum length of the reason of a missing answer."""
PER_TOKEN = 3
"""Characters per token, if the endpoint does not report token counts."""

_log = logging.getLogger(__name__)


def check_recorded_url(url: str, name: str) -> None:
    """Check that records may hold a URL.

    Args:
        url: The URL, or an empty text.
        name: What it is the URL of, for the message.

    Raises:
        ConfigurationError: It contains a password or a query.
    """
    if "?" in url or "@" in url.partition("//")[2].partition("/")[0]:
        raise ConfigurationError(
            f"expected the URL of {name} without a password and without a query, because records "
            "hold it; put the key into the environment variable that holds keys of endpoints"
        )


class Question(Protocol):
    """A question to a model."""

    @property
    def messages(self) -> tuple[Mapping[str, str], ...]:
        """What is sent."""

    @property
    def expected(self) -> str:
        """Description of a readable answer, for the reason of an unreadable one."""

    def read(self, answer: str) -> Any:
        """Return the value of an answer; None if it has none."""


@dataclass(frozen=True)
class QuestionBounds:
    """Limits on the questions of a process."""

    calls: int
    """Maximum number of questions."""
    tokens: int
    """Number of tokens, read and written, after which no question is sent."""


@dataclass(frozen=True)
class CachedAnswer:
    """The value of an answer, or the reason why there is none."""

    key: str
    """Identifies the question: equal for equal questions to the same model."""
    value: Any
    """What `Question.read` made of the answer; None without a readable answer."""
    problem: str = ""
    """Reason of a missing value."""
    calls: int = 0
    """Number of questions sent for it; 0 for a cached answer."""
    prompt_tokens: int = 0
    """Tokens that the model read."""
    completion_tokens: int = 0
    """Tokens that the model wrote."""


class CachedEndpoint:
    """Queries a model, from any number of threads; copies of what holds it share it.

    Args:
        role: What the model is, such as "judge": names the folder of its answers.
        config: Model, endpoint and sampling.
        bounds: Limits on its questions.
    """

    def __init__(self, role: str, config: EndpointConfig, bounds: QuestionBounds) -> None:
        self._role, self._config, self._bounds = role, config, bounds
        self._lock = threading.Lock()
        self._waits = Waits()
        self._endpoint: Endpoint | None = None
        self._values: BoundedCache[str, Any] = BoundedCache(REMEMBERED)
        self._pending: dict[str, Future[CachedAnswer]] = {}
        self._calls = self._tokens = 0
        self._unanswered = self._skipped = 0

    def __deepcopy__(self, memo: Any) -> CachedEndpoint:
        """Return itself: copies of environments share connection, cache and bounds."""
        return self

    def __reduce__(self) -> Any:
        """Be made anew in another process, where what was spent here does not count."""
        return CachedEndpoint, (self._role, self._config, self._bounds)

    def key(self, question: Question) -> str:
        """Return the key of a question to this model."""
        config = self._config
        settings = [config.base_url or "", config.model, config.temperature, config.max_tokens]
        parts = json.dumps([*settings, *map(dict, question.messages)], sort_keys=True)
        return hashlib.sha256(parts.encode()).hexdigest()[:32]

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

    def ask(self, key: str, question: Question) -> CachedAnswer:
        """Return the answer to a question; equal questions are sent once.

        Threads with equal questions wait for one response. Answers are stored on disk; unanswered
        questions are sent again.
        """
        with self._lock:
            if (value := self._values.get(key)) is not None:
                return CachedAnswer(key, value)
            future = Future[CachedAnswer]()
            pending = self._pending.setdefault(key, future)
        if pending is not future:
            return replace(pending.result(), calls=0, prompt_tokens=0, completion_tokens=0)
        try:
            answer = self._load(key, question) or self._send(key, question)
        except BaseException as error:  # Ctrl-C, too: other threads wait for this answer
            problem = f"{type(error).__name__}: {error}"[:LONGEST_PROBLEM]
            answer = CachedAnswer(key, None, problem)
            if not isinstance(error, Exception):
                raise
        finally:
            with self._lock:
                del self._pending[key]
                if answer.value is not None:
                    self._values[key] = answer.value
            future.set_result(answer)
        return answer

    def _load(self, key: str, question: Question) -> CachedAnswer | None:
        """Return the answer that an earlier run got."""
        stored = load_json(self._place(key), key)
        text = stored.get("answer") if isinstance(stored, Mapping) else None
        value = question.read(text) if isinstance(text, str) else None
        return None if value is None else CachedAnswer(key, value)

    def _send(self, key: str, question: Question) -> CachedAnswer:
        """Send a question, if it may be sent."""
        if problem := self._refused():
            return CachedAnswer(key, None, problem)
        try:
            completion = self._opened().complete(
                self._request(question), Stream(f"{self._role}-retries", key), self._waits
            )
        except (PolicyFailure, AgentGymError) as error:
            with self._lock:
                self._unanswered += 1
            _log.warning("a %s gave no answer: %s", self._role, error)
            return CachedAnswer(key, None, str(error)[:LONGEST_PROBLEM], calls=1)
        return self._read_completion(key, question, completion)

    def _read_completion(
        self, key: str, question: Question, completion: ChatCompletion
    ) -> CachedAnswer:
        """Read an answer, and store it if it is readable."""
        text = content_text(completion.message.get("content"))
        question_length = sum(len(message["content"]) for message in question.messages)
        prompt_tokens = completion.prompt_tokens or question_length // PER_TOKEN
        completion_tokens = completion.completion_tokens or len(text) // PER_TOKEN
        with self._lock:
            self._unanswered = 0
            self._tokens += prompt_tokens + completion_tokens
        value = question.read(text)
        problem = f"expected {question.expected} in the answer" if value is None else ""
        if not problem:
            save_json(self._place(key), key, {"answer": text})
        return CachedAnswer(key, value, problem, 1, prompt_tokens, completion_tokens)

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

    def _request(self, question: Question) -> dict[str, Any]:
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

    def _place(self, key: str) -> Path:
        """Return the file of an answer; in folders by its key, as there may be very many."""
        return entry_path(f"{self._role}/{key[:2]}", "answer", key)

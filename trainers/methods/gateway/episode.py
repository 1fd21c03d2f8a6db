"""The episode of one agent at the endpoint: its requests, limits and end."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import count
from typing import Any, Protocol

from agentgym.agents import Session
from agentgym.core.outcome import StopReason
from agentgym.errors import EnvFailure, PolicyFailure, PolicyStopped
from agentgym.policies.base import ModelOutput
from agentgym.support.http_server import Refused
from trainers.methods.gateway.agents import MODEL_NAME
from trainers.methods.gateway.call_log import NoRoom
from trainers.methods.gateway.chat_answer import MOST_CALLS, GatewayAnswer
from trainers.methods.gateway.chat_request import ChatMessage, ChatRequest

__all__ = ["AgentEpisode", "Answerer"]

CALLS_PER_TURN, SPARE_CALLS = 4, 16
"""Default number of calls of an episode: per turn of its horizon, and in addition."""
AT_ONCE = 16
"""Calls of an episode that may be under way at the same time. Of turns as many may as one answer
can ask for."""
LATE = 10
"""Calls after the end that are answered: frameworks ask once more to conclude."""


class Answerer(Protocol):
    """The answerer of an episode's calls."""

    def __call__(self, request: ChatRequest) -> tuple[GatewayAnswer, ModelOutput]:
        """Answer a call.

        Raises:
            NoRoom: The token budgets have no room for an answer.
            Refused: The request cannot be answered.
            EnvFailure: The environment has failed.
            PolicyFailure: The model has failed.
        """
        ...


class AgentEpisode:
    """An episode between its agent and the answerer of its calls; thread-safe.

    Args:
        session: The session that the agent plays in.
        answers: The answerer.
        most_calls: Calls that it may make; None: four for each turn, and 16.

    Attributes:
        session: The session.
        numbers: Numbers of the answers, used in their ids.
    """

    def __init__(self, session: Session, answers: Answerer, most_calls: int | None = None) -> None:
        self.session = session
        self.numbers = count()
        self._answers = answers
        self._max_calls = most_calls or CALLS_PER_TURN * session.horizon + SPARE_CALLS
        self._lock = threading.Lock()
        self._n_calls = self._late = 0
        self._under_way: Counter[str] = Counter()
        self._ends = False

    def ask(
        self, body: Mapping[str, Any], read_request: Callable[[Mapping[str, Any]], ChatRequest]
    ) -> GatewayAnswer:
        """Answer a request to the model, which counts whether it can be read or not.

        Args:
            body: Its body.
            read_request: Reads it, or raises Refused.

        Raises:
            Refused: It cannot be answered.
        """
        with self._lock:
            if self.session.over:
                return self._concluded()
            self._n_calls += 1
            too_many = self._n_calls > self._max_calls
        if too_many:
            raise self.ended(403, f"asked the model more than {self._max_calls} times")
        with self._one_of_few("asked the model", AT_ONCE):
            return self._answer(read_request(body))

    def act(self, command: Mapping[str, Any]) -> dict[str, Any]:
        """Take a turn for a command: ``{"text"}``, or ``{"name", "arguments"}``; {}: look only.

        Raises:
            Refused: It is neither, or the episode has long been over.
        """
        session, text, name = self.session, command.get("text"), command.get("name")
        if isinstance(text, str):
            self._turn(partial(session.act, text))
        elif isinstance(name, str):
            self.call(name, command.get("arguments"))
        elif command:
            raise Refused(
                400,
                "expected text, or the name and the arguments of a tool, got "
                f"{sorted(command)!r:.80}",
            )
        return {
            "instruction": session.instruction,
            "observation": session.observation,
            "tools": session.openai_tools,
            "turns": session.turns,
            "horizon": session.horizon,
            "over": session.over,
            "stop_reason": session.stop_reason,
        }

    def call(self, name: str, arguments: object) -> str:
        """Take a turn by a call of a tool, and return what the agent reads.

        Args:
            name: Name of the tool.
            arguments: Its arguments by name, or as JSON text; anything else is a model's mistake,
                which the environment explains.

        Raises:
            Refused: The episode has long been over.
        """
        encoded = (
            arguments if isinstance(arguments, str | Mapping | None) else json.dumps(arguments)
        )
        return self._turn(partial(self.session.call, name, encoded))

    def _turn(self, take: Callable[[], str]) -> str:
        """Take a turn.

        Raises:
            Refused: The episode has long been over, or too many turns are under way.
        """
        with self._one_of_few("took turns", MOST_CALLS):
            try:
                return take()
            except (EnvFailure, PolicyStopped) as error:
                raise Refused(410, f"the episode is over: {error}") from error

    @contextmanager
    def _one_of_few(self, did: str, limit: int) -> Iterator[None]:
        """Count concurrent requests of a kind, so that an agent holds few of the server's threads.

        Raises:
            Refused: There are too many, which ends the episode.
        """
        with self._lock:
            too_many = self._under_way[did] >= limit
            self._under_way[did] += not too_many
        if too_many:
            raise self.ended(403, f"{did} more than {limit} times at once")
        try:
            yield
        finally:
            with self._lock:
                self._under_way[did] -= 1

    def ended(self, status: int, words: str, reason: str = StopReason.STOPPED.value) -> Refused:
        """End the episode because of its agent's action, and return the error for the agent.

        The end waits for a running turn, but only the first caller waits.
        """
        with self._lock:
            first, self._ends = not self._ends, True
        if first:
            self.session.end(reason, f"the agent {words}")
        return Refused(status, f"the episode is over: the agent {words}")

    def _answer(self, request: ChatRequest) -> GatewayAnswer:
        """Let the policy answer."""
        if request.model not in ("", MODEL_NAME):
            reason = f"asked for the model {request.model!r:.80}, but here answers {MODEL_NAME!r}"
            raise self.ended(404, reason)
        try:
            answer, output = self._answers(request)
        except NoRoom:
            words = "used up the tokens of its episode"
            raise self.ended(400, words, StopReason.TOKEN_LIMIT.value) from None
        except (EnvFailure, PolicyFailure) as error:  # not the agent's fault: there is no score
            failure = error if isinstance(error, PolicyFailure) else PolicyFailure(str(error))
            self.session.fail(failure)
            raise Refused(503, f"the episode is over: {error}") from error
        self.session.served(output)
        return answer

    def _concluded(self) -> GatewayAnswer:
        """Answer a call after the end, which is no action of the policy."""
        self._late += 1
        reason = f"The episode is over ({self.session.stop_reason})."
        if self._late > LATE:
            raise Refused(410, reason)
        return GatewayAnswer(ChatMessage("assistant", reason), "stop")

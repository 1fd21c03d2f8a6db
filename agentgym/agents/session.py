"""Sessions for agents with their own loop: an episode as a set of tools, with its score.

A policy is called for each action; an agent of another framework, or a ``while`` loop, controls the
loop itself. It uses a `Session`: the instruction, tools as schemas and as Python functions, and the
observation as the result of each call::

    with Session(env, options={"split": "test", "index": 0}) as session:
        while not session.over:
            name, arguments = ask_model(session.instruction, session.openai_tools, ...)
            observation = session.call(name, arguments)
        print(session.score)
"""

from __future__ import annotations

import inspect
import json
import threading
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import gymnasium

from agentgym.actions import ActionSpec, mcp_tools, openai_tools, parse
from agentgym.agents.tool_functions import make_async, tool_function
from agentgym.conversation import tool_instructions
from agentgym.core.extensions import require_one_message_list
from agentgym.core.language import Language
from agentgym.core.outcome import StopReason
from agentgym.episodes import Episode, Recorder
from agentgym.errors import ConfigurationError, EnvFailure, PolicyFailure, PolicyStopped
from agentgym.policies.base import ModelOutput
from agentgym.policies.failures import SET_UP, policy_end
from agentgym.policies.outputs import read_output
from agentgym.policies.play import Moment
from agentgym.support.event_loop import shared_event_loop

__all__ = ["ModelAddress", "Session", "call_text", "play_agent", "written_call"]

GRAMMAR = "tool_call"
"""The grammar of calls to the environment; invalid calls are turns like any other."""
PATIENCE = 10
"""Number of calls after the end that are answered. Loops of frameworks continue while the model
makes calls, which can be thousands if it ignores the results."""


class ModelAddress(NamedTuple):
    """The address of the model that an agent uses."""

    base_url: str
    """Address of an OpenAI-compatible endpoint up to ``/v1``."""
    api_key: str
    """Its key."""
    model: str
    """Name of the model."""
    mcp_url: str = ""
    """Address of the episode's MCP server over HTTP, which takes the key as bearer token; empty if
    there is none."""


class Session:
    """An episode played with tool calls.

    Calls may come from any thread; they are executed one at a time. After the end they change
    nothing and return that the episode is over; the eleventh call raises `PolicyStopped` to stop
    the agent. As a context manager, the session ends the episode and suppresses this exception.

    Args:
        env: A text environment with ``grammar="tool_call"``, wrapped or not.
        seed: Seed of the reset.
        options: Options of the reset, such as ``{"split": "test", "index": 0}``.
        record: File to which the episode is appended, see `agentgym.episodes`.
        on_output: Called with the argument of `annotate`, before the action is executed.
        end_when: Called with the last moment after each call; a non-empty text ends the episode and
            becomes its stop reason.
        model: Address of the agent's model, if the caller serves one.
        any_grammar: Accept an environment with another grammar, in which calls are then written.

    Attributes:
        language: Grammar and actions of the environment.
        base_url: Address of an OpenAI-compatible endpoint with the agent's model, up to ``/v1``;
            empty if the agent uses another model.
        api_key: Key of that endpoint; ``none`` if it needs none.
        model: Name of that model.
        mcp_url: Address of the episode's MCP server, which takes the same key; empty unless the
            caller serves the episode.

    Raises:
        ConfigurationError: The environment has another grammar or workers, or an option is wrong.
        EnvFailure: The environment did not start.
    """

    def __init__(
        self,
        env: gymnasium.Env[str, str],
        *,
        seed: int | None = None,
        options: dict[str, Any] | None = None,
        record: str | Path | None = None,
        on_output: Callable[[ModelOutput], None] | None = None,
        end_when: Callable[[Moment], str] | None = None,
        model: ModelAddress | None = None,
        any_grammar: bool = False,
    ) -> None:
        if not any_grammar:
            check_grammar(env)
        require_one_message_list(env.unwrapped)
        self.language: Language = env.unwrapped.spoken  # type: ignore[attr-defined]  # of text environments
        self.specs: tuple[ActionSpec, ...] = self.language.specs
        address = model or ModelAddress("", "", "")
        self.base_url, self.api_key, self.model, self.mcp_url = address
        watched = isinstance(env, Recorder) and record is None
        self._recorder: Recorder = env if watched else Recorder(env, record)  # type: ignore[assignment]
        self._on_output, self._end_when = on_output, end_when
        # Reentrant, because `call` and `fail` end the episode while they hold the lock.
        self._lock = threading.RLock()
        observation, info = self._recorder.reset(seed=seed, options=options)
        self.goal = str(info["goal"])
        """The instruction in the words of the task set."""
        self.moments = [Moment(observation, info)]
        """The episode after its reset and after each turn, see `agentgym.policies.play`."""
        self._late = 0

    # -- for the agent ---------------------------------------------------------------------------

    @property
    def instruction(self) -> str:
        """First message for the agent: how to act, and the first observation."""
        return f"{tool_instructions(self.horizon)}\n\n{self.moments[0].observation}"

    @property
    def observation(self) -> str:
        """The last observation."""
        return self._last.observation

    @property
    def openai_tools(self) -> list[dict[str, Any]]:
        """The tools in the format of OpenAI's function calling, as new objects."""
        return openai_tools(self.specs)

    @property
    def mcp_tools(self) -> list[dict[str, Any]]:
        """The tools in the format of the Model Context Protocol, as new objects."""
        return mcp_tools(self.specs)

    @property
    def tools(self) -> list[Callable[..., str]]:
        """The tools as Python functions with signatures and docstrings.

        smolagents (``smolagents.tool``), LangChain and LangGraph read their schemas from these. A
        name that is a Python keyword gets the suffix ``_``.
        """
        return [tool_function(spec, self.call) for spec in self.specs]

    @property
    def async_tools(self) -> list[Callable[..., Coroutine[Any, Any, str]]]:
        """The same tools as coroutine functions, for frameworks that await tools.

        A call does not block the event loop while the environment runs.
        """
        return [make_async(tool) for tool in self.tools]

    def call(self, name: str, arguments: Mapping[str, Any] | str | None = None) -> str:
        """Take a turn.

        Args:
            name: Name of a tool.
            arguments: Its arguments by name, or as the JSON text of a model. Invalid arguments also
                take a turn, and the observation gives the reason.

        Returns:
            The observation; after the end, that the episode is over.

        Raises:
            EnvFailure: The environment failed, which ends the episode without a valid score.
            PolicyStopped: The episode has been over for ten calls.
        """
        return self.act(written_call(name, arguments, self.language))

    def act(self, action: str) -> str:
        """Take a turn with a text in the environment's grammar.

        Args:
            action: The text.

        Returns:
            The observation; after the end, that the episode is over.

        Raises:
            EnvFailure: The environment failed, which ends the episode without a valid score.
            PolicyStopped: The episode has been over for ten turns.
        """
        with self._lock:
            if self.over:
                self._late += 1
                if self._late > PATIENCE:
                    raise PolicyStopped(self.stop_reason)
                return self._ended()
            try:
                observation, reward, terminated, truncated, info = self._recorder.step(action)
            except EnvFailure as failure:
                self.moments.append(self._last._replace(action=action, reward=0.0, failure=failure))
                raise
            turn = (action, observation, float(reward), terminated, truncated, info)
            self.moments.append(Moment.after(*turn))
            reason = self._end_when(self._last) if self._end_when and not self.over else ""
            if reason:
                self.end(reason)
            return f"{observation}\n\n{self._ended()}" if self.over else observation

    def annotate(self, output: object = None, /, **fields: Any) -> None:
        """Report a response of the agent's model, before the resulting call.

        Records, reports and limits on tokens and cost count it. Responses after the end of the
        episode are not counted.

        Args:
            output: The usage of the response, as an object or mapping with ``prompt_tokens`` and
                ``completion_tokens`` (or ``input_tokens`` and ``output_tokens``), or a response
                with one under ``usage``; or an `agentgym.policies.ModelOutput`.
            **fields: Fields of ``ModelOutput``: ``model``, ``prompt_tokens``,
                ``completion_tokens``, ``cached_tokens``, ``reasoning_tokens``, ``text``,
                ``reasoning``, ``finish_reason``. They override those of ``output``.

        Raises:
            ConfigurationError: ``output`` has none of these formats, or a field has an unknown name
                or a wrong type.
        """
        output = read_output(output, **fields)
        with self._lock:
            if self.over:
                return
            if self._on_output is not None:
                self._on_output(output)
                return
            self._recorder.annotate_output(output)

    def served(self, output: ModelOutput) -> None:
        """Record a response that the agent received from ``base_url``.

        Args:
            output: The response.
        """
        with self._lock:
            if not self.over:
                self._recorder.note_call(output)
                self.annotate(output)

    def end(self, stop_reason: str = StopReason.STOPPED.value, words: str = "") -> None:
        """End the episode, from any thread; no effect if it is over.

        Args:
            stop_reason: Reason of the end.
            words: Further information.
        """
        with self._lock:
            if not self.over:
                self._recorder.end(stop_reason, words)
                self.moments.append(self._last.cut(stop_reason, words))

    def fail(self, failure: PolicyFailure) -> None:
        """End the episode with an error: without a valid score, except for a `PolicyStopped`."""
        with self._lock:
            if isinstance(failure, PolicyStopped):
                self.end(failure.stop_reason, failure.words)
            elif not self.over:
                self._recorder.end(StopReason.ERROR.value, str(failure))
                self.moments.append(self._last._replace(action=None, reward=0.0, failure=failure))

    # -- result of the episode -------------------------------------------------------------------

    @property
    def over(self) -> bool:
        """Whether the episode has ended."""
        return self._last.over

    @property
    def turns(self) -> int:
        """Number of turns taken."""
        return int(self._last.info["turn"])

    @property
    def horizon(self) -> int:
        """Turn budget of the episode."""
        return int(self._last.info["horizon"])

    @property
    def score(self) -> float:
        """Progress in [0, 1]."""
        return float(self._last.info["score"])

    @property
    def success(self) -> bool:
        """Whether the task is solved."""
        return bool(self._last.info["success"])

    @property
    def reward(self) -> float:
        """Sum of the rewards."""
        return sum(moment.reward for moment in self.moments)

    @property
    def stop_reason(self) -> str:
        """Why the episode ended; ``stopped`` if the agent ended it, empty while it runs."""
        failed = self._last.failure is not None
        return StopReason.ERROR.value if failed else str(self._last.info["stop_reason"])

    @property
    def failure(self) -> EnvFailure | PolicyFailure | None:
        """The failure, if any; then there is no valid score."""
        return self._last.failure

    @property
    def episode(self) -> Episode | None:
        """The record of the episode once it is over."""
        return self._recorder.last if self.over else None

    @property
    def _last(self) -> Moment:
        return self.moments[-1]

    def _ended(self) -> str:
        """Return that the episode is over, without the score, which an agent must not see."""
        return f"The episode is over ({self.stop_reason}): further calls change nothing."

    def __enter__(self) -> Session:
        """Return itself; the episode began when it was made."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        """End the episode; `agentgym.policies.failures` classifies the agent's error.

        An agent that stops by itself, with `PolicyStopped`, has said all there is to say.
        """
        if isinstance(error, Exception) and not isinstance(error, SET_UP):
            self.fail(policy_end(error, "the agent"))
        else:
            self.end()
        return isinstance(error, PolicyStopped)


def check_grammar(env: gymnasium.Env[str, str]) -> None:
    """Check that tool calls are the turns of an environment.

    Raises:
        ConfigurationError: The environment has another grammar.
    """
    language: Language = env.unwrapped.spoken  # type: ignore[attr-defined]  # of text environments
    if language.grammar != GRAMMAR:
        raise ConfigurationError(
            f"expected an environment with grammar={GRAMMAR!r} for an agent, which plays with tool "
            f"calls, got {language.grammar!r}: make it with grammar={GRAMMAR!r}, or give its "
            f"name and no grammar (at the terminal leave out --grammar)"
        )


def takes_any_grammar(agent: Callable[[Session], object]) -> bool:
    """Return whether an agent plays in any grammar."""
    return bool(getattr(agent, "any_grammar", False))


def play_agent(
    agent: Callable[[Session], object],
    env: gymnasium.Env[str, str],
    *,
    seed: int | None = None,
    options: dict[str, Any] | None = None,
    on_output: Callable[[ModelOutput], None] | None = None,
    end_when: Callable[[Moment], str] | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> list[Moment]:
    """Let an agent with its own loop play an episode, like `agentgym.policies.play` for policies.

    Args:
        agent: A function of a `Session`; its return value is ignored. Async agents of a process run
            on one event loop. An agent with ``any_grammar`` accepts any grammar.
        env: A text environment with ``grammar="tool_call"``, wrapped or not.
        seed: Seed of the reset.
        options: Options of the reset.
        on_output: Called with the outputs passed to `Session.annotate`.
        end_when: Called with the last moment after each call; a non-empty text ends the episode.
        cancelled: Called while an async agent runs; True cancels it at its next wait.

    Returns:
        The episode after its reset and after each turn. The last moment is the end of the episode:
        by the environment; with stop reason ``stopped`` if the agent returned or raised first; with
        the reason of ``end_when`` or a `PolicyStopped`; or with a failure of the environment or of
        the agent's infrastructure, see `agentgym.policies.failures`.

    Raises:
        ConfigurationError: The environment has another grammar, an option is invalid, or the agent
            raises this error.
    """
    free = takes_any_grammar(agent)
    start = partial(Session, env, seed=seed, options=options, any_grammar=free)
    try:
        session = start(on_output=on_output, end_when=end_when)
    except EnvFailure as failure:
        return [Moment("", {}, failure=failure)]
    try:
        returned = agent(session)
        if inspect.iscoroutine(returned):
            shared_event_loop().run_episode(returned, cancelled)
    except SET_UP:
        session.end()
        raise
    except Exception as error:
        # An exception caused by cancelling the agent's wait is not a failure.
        if cancelled is None or not cancelled():
            session.fail(policy_end(error, "the agent"))
    session.end()
    return session.moments


def call_text(name: str, arguments: Mapping[str, Any] | str | None) -> str:
    """Write a call in the format of models; the environment reports any errors.

    Args:
        name: Name of the action.
        arguments: Its arguments by name, or as JSON text.

    Returns:
        An action in the grammar ``tool_call``.
    """
    if not isinstance(arguments, str):
        # Frameworks pass None for arguments that the model left out.
        present = {key: value for key, value in (arguments or {}).items() if value is not None}
        arguments = json.dumps(present, default=str)
    payload = f'{{"name": {json.dumps(str(name))}, "arguments": {arguments or "{}"}}}'
    # Escape "<", so that the parser finds no thinking and no end of the call inside the JSON.
    return f"<tool_call>{payload.replace('<', chr(92) + 'u003c')}</tool_call>"


def written_call(name: str, arguments: Mapping[str, Any] | str | None, language: Language) -> str:
    """Write a call in an environment's grammar; invalid calls are written unchanged.

    Args:
        name: Name of the action.
        arguments: Its arguments by name, or as JSON text.
        language: The actions and the grammar.
    """
    text = call_text(name, arguments)
    if language.grammar == GRAMMAR:
        return text
    parsed = parse(text, language.specs, GRAMMAR)
    return language.write(parsed.native) if parsed.call else text

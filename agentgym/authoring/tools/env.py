"""An environment with Python functions as actions."""

from __future__ import annotations

import copy
import inspect
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from agentgym.actions import ActionSpec, parse, render
from agentgym.actions.specs import MAX_ACTION_CHARS, ActionCall
from agentgym.actions.templates import find_native
from agentgym.actions.values import Fault, build_call
from agentgym.authoring.tools.calling import Caller
from agentgym.authoring.tools.episode import Expert, Reward, ToolEpisode
from agentgym.authoring.tools.tasks import tool_tasks
from agentgym.authoring.tools.tool_actions import BadArgument, CallRecord, make_tool
from agentgym.authoring.tools.tool_set import ToolSet, ToolSource
from agentgym.core.attribution import (
    NEUTRAL_TEXTS,
    ActionFailed,
    Trials,
    action_error,
    attribute_failure,
)
from agentgym.core.env import TextEnv
from agentgym.core.guard import as_env_failure
from agentgym.core.hooks import finite
from agentgym.core.later import Later
from agentgym.core.outcome import Outcome
from agentgym.core.tasks import Task, TaskSet, canonical_json
from agentgym.errors import ConfigurationError, EnvFailure, NotSupported

ANSWER = "answer"
ANSWER_DESCRIPTION = "Give the final answer, which ends the episode."
TIMEOUT = 30.0
"""Seconds that a call may take."""
HORIZON = 20
RUNNING = "invalid: an earlier call still runs, behind its time limit; wait, or answer"


class ToolEnv(TextEnv[ToolSet]):
    """Solve tasks by calls of Python functions.

    Args:
        tools: Stateless functions; or a class: each episode makes an object, and its public
            methods are the tools; or a function that returns such an object (or functions). Class
            and function may take the task's row and a random generator seeded by the episode.
        tasks: The data set, see `tool_tasks`.
        reward: Returns the reward of an episode, see `agentgym.authoring.tools.episode.Reward`.
        answer: Whether there is an action ``answer``, which ends the episode; or its name.
        expert: Yields the calls that solve a task, given its row; the last is the answer.
        timeout: Time limit of a call, in seconds; None: no limit.
        horizon: Turn budget of an episode.
        solved_at: Reward at which a task counts as solved.
        **kwargs: Arguments of :class:`~agentgym.core.TextEnv`.

    Raises:
        ConfigurationError: A function cannot be a tool, or a value is out of range.

    If a tool raises, the agent sees the error and the turn counts. Bad arguments are refused, with
    the expected type. If the reward raises on an answer, the episode ends with the stop reason
    ``action_error`` and counts, unless the reward raises on other answers, too
    (`agentgym.core.attribution`). The episode is broken then, or if a tool or the reward raises
    `agentgym.errors.EnvFailure`, or if the expert or the creation of the tools raises.
    """

    action_length = MAX_ACTION_CHARS
    answer_description: str = ANSWER_DESCRIPTION
    """What prompts say of the action that answers: a family says here what form it pays."""

    def __init__(
        self,
        tools: Any,
        tasks: Any,
        reward: Reward,
        *,
        answer: bool | str = True,
        expert: Expert | None = None,
        timeout: float | None = TIMEOUT,
        horizon: int = HORIZON,
        solved_at: float = 1.0,
        **kwargs: Any,
    ) -> None:
        check_parts(reward, answer, expert, timeout, solved_at)
        task_set: TaskSet = tool_tasks(tasks)
        self._source = ToolSource(tools, lambda: task_set.task(task_set.splits[0], 0).content)
        self._tools = {tool.spec.name: tool for tool in self._source.typed}
        specs = [tool.spec for tool in self._source.typed]
        self._answer = answer_spec(answer, specs, self.answer_description)
        # Other environments of this class have other actions.
        self.action_specs = (*specs, *self._answer)  # type: ignore[misc]  # of the class in families
        self._reward, self._expert, self._solved_at = reward, expert, float(solved_at)
        self._caller = Caller(timeout)
        self._calls: tuple[CallRecord, ...] = ()
        self._call_keys: tuple[str, ...] = ()
        self._solution: tuple[tuple[str, str], ...] | None = None
        self._offered = [
            render(ActionCall(tool.spec.name, arguments), self.action_specs, "native")
            for tool in self._source.typed
            for arguments in tool.tool.offered()
        ]
        super().__init__(task_set, horizon=horizon, **kwargs)

    def close(self) -> None:
        """Release the tools; may be called twice."""
        self._running = False
        self._free()
        self._caller.close()
        super().close()

    # -- the contract of a family ---------------------------------------------------------------

    def _start(self, task: Task, rng: np.random.Generator) -> str:
        self._free()
        self._calls, self._call_keys, self._solution = (), (), None
        # A generator of its own: forks copy it with the tools that hold it.
        generator = np.random.Generator(np.random.PCG64(int(rng.integers(2**63))))
        with as_env_failure():
            self._session = self._source.make(task.content, generator)
        return task.goal

    def _act(self, action: str) -> Outcome:
        call = parse(action, self.action_specs).call
        if call is None:
            return self._misread(action, f"invalid: {problem(action, self.action_specs)}")
        key = _key(call)
        if call.name not in self._tools:
            self._call_keys += (key,)
            outcome = self._finished(call.arguments["text"], "")
            assert outcome is not None  # an answer has a worth
            return outcome
        tool = self._tools[call.name]
        try:
            arguments = tool.arguments(call)
        except BadArgument as refusal:
            return self._misread(action, str(refusal))
        if self._caller.busy:
            return self._misread(action, RUNNING)
        text, failed = self._caller.call(
            self.session.functions[tool.name], copy.deepcopy(arguments)
        )
        self._calls += (CallRecord(tool.name, arguments, text, failed),)
        self._call_keys += (key,)
        outcome = None if self._answer else self._finished(None, text)
        if outcome is not None:
            return outcome
        return Outcome(text, details={"reason": text if failed else "", "failed": failed})

    def _misread(self, action: str, problem: str) -> Outcome:
        return Outcome(problem, valid=False, details={"reason": problem, "failed": False})

    def reported_details(self) -> tuple[str, ...]:
        """Return the keys that are in ``info["details"]`` at every step."""
        return ("reason", "failed")

    def _admissible(self) -> Sequence[str]:
        return self._offered

    def _state(self) -> str:
        calls = [[call.tool, call.arguments, call.answer] for call in self._calls]
        return canonical_json([self.task.id, calls])

    def _oracle_turns(self) -> int | Later[int | None] | None:
        return None if self._expert is None else len(self._calls_left())

    def _oracle_action(self) -> str | None:
        calls_left = self._calls_left()
        return calls_left[0] if calls_left else None

    def _snapshot(self) -> Any:
        if self._caller.busy:
            raise NotSupported(
                "expected no call to be running when an episode is forked, got one that is behind "
                "its time limit and cannot be ended"
            )
        return self.session.snapshot(), self._calls, self._call_keys

    def _restore(self, state: Any) -> None:
        tool_state, calls, keys = state
        with as_env_failure((NotSupported,)):
            fresh = self._source.restored(tool_state, self.task.content)
        self._free()
        self._session, self._calls, self._call_keys = fresh, calls, keys
        self._solution = None

    # -- parts ----------------------------------------------------------------------------------

    def _free(self) -> None:
        """Let go of the tools of the last episode, and of a call that still runs."""
        self._caller.forget()
        session, self._session = self._session, None
        if session is not None:
            with as_env_failure():
                session.close()

    def _finished(self, answer: str | None, text: str) -> Outcome | None:
        """End the episode if the reward does, or raises on what the policy did; None: it goes on.

        Args:
            answer: The policy's answer; None: it called a tool.
            text: What the tool answered.
        """
        try:
            worth = self._worth(answer, self._calls, self.session.holder)
        except BaseException as failure:
            if isinstance(failure, EnvFailure) and not isinstance(failure, ActionFailed):
                raise  # the reward says itself whose doing it is
            reason = attribute_failure(failure, lambda: self._other_episodes(answer))
            return action_error(reason, failed=False)
        return None if worth is None else self._ended(worth, text)

    def _other_episodes(self, answer: str | None) -> Trials:
        """Return rewards to ask for: of other answers, of fewer calls, and of no calls."""
        texts = [None] if answer is None else NEUTRAL_TEXTS
        calls = self._calls if answer is not None else self._calls[:-1]
        holder = self.session.holder
        trials = [partial(self._worth, text, calls, holder) for text in texts]
        return Trials([*trials, partial(self._worth_of_nothing, texts[0])], known_good=False)

    def _worth_of_nothing(self, answer: str | None) -> None:
        """Ask for the reward of an episode without a call."""
        rng = np.random.Generator(np.random.PCG64(0))
        untouched = self._source.make(self.task.content, rng)
        try:
            self._worth(answer, (), untouched.holder)
        finally:
            untouched.close()

    def _worth(
        self, answer: str | None, calls: tuple[CallRecord, ...], holder: object
    ) -> float | None:
        """Ask what an episode is worth; None: it goes on."""
        row = copy.deepcopy(dict(self.task.content))
        worth: Any = self._reward(ToolEpisode(row, self.task.goal, answer, calls, holder))
        if inspect.isawaitable(worth):
            worth = self._caller.wait(worth)
        if worth is None and answer is None:
            return None
        if not (finite(worth) or isinstance(worth, bool)):
            raise ActionFailed(
                f"expected reward(episode) of {self.task.id} to return a finite number, got "
                f"{worth!r:.80}"
            )
        return float(worth)

    def _ended(self, worth: float, text: str) -> Outcome:
        """End the episode with its reward."""
        score = min(1.0, max(0.0, worth / self._solved_at))
        solved = worth >= self._solved_at
        feedback = text or ("correct" if solved else "answered")
        return Outcome(
            feedback,
            reward=worth,
            terminated=True,
            success=solved,
            score=score,
            details={"reason": "", "failed": False},
        )

    def _calls_left(self) -> tuple[str, ...]:
        """Return the expert's calls that have not been made, in their order, as native text."""
        if self._expert is None:
            return ()
        if self._solution is None:
            with as_env_failure():
                row = copy.deepcopy(dict(self.task.content))
                self._solution = tuple(self._write_call(*call) for call in self._expert(row))
        matched = 0
        for key in self._call_keys:
            matched += matched < len(self._solution) and key == self._solution[matched][1]
        return tuple(native for native, _ in self._solution[matched:])

    def _write_call(self, name: str, arguments: Mapping[str, Any]) -> tuple[str, str]:
        """Write a call of the expert; return it as native text and as its key."""
        text = json.dumps({"name": name, "arguments": dict(arguments)})
        parsed = parse(text, self.action_specs, "tool_call")
        if parsed.call is None:
            raise EnvFailure(
                f"expected calls of the expert that fit, got {text:.200}: {parsed.error}"
            )
        return parsed.native, _key(parsed.call)


def _key(call: ActionCall) -> str:
    """Name a call, so that two ways to write it are one."""
    return canonical_json([call.name, call.arguments])


def check_parts(
    reward: object, answer: object, expert: object, timeout: object, solved_at: object
) -> None:
    """Refuse arguments of `ToolEnv` that are out of their domains.

    Raises:
        ConfigurationError: One is.
    """
    if not callable(reward):
        raise ConfigurationError(f"expected reward to be a function of the episode, got {reward!r}")
    if not (expert is None or callable(expert)):
        raise ConfigurationError(f"expected expert to be a function of the row, got {expert!r}")
    if not isinstance(answer, bool | str):
        raise ConfigurationError(f"expected answer to be True, False or a name, got {answer!r}")
    if timeout is not None and not (finite(timeout) and float(str(timeout)) > 0):
        raise ConfigurationError(f"expected timeout to be seconds above 0 or None, got {timeout!r}")
    if not (finite(solved_at) and float(str(solved_at)) > 0):
        raise ConfigurationError(
            f"expected solved_at to be a finite number above 0, got {solved_at!r}"
        )


def answer_spec(
    answer: bool | str, specs: Sequence[ActionSpec], description: str = ANSWER_DESCRIPTION
) -> tuple[ActionSpec, ...]:
    """Return the action that answers, if there is one.

    Raises:
        ConfigurationError: A tool has its name.
    """
    if answer is False:
        return ()
    name = ANSWER if answer is True else answer
    if name.lower() in [spec.name.lower() for spec in specs]:
        raise ConfigurationError(
            f"expected no tool of the name {name!r}, which gives the final answer: pass another "
            "name as answer=NAME, or answer=False"
        )
    schema = {"properties": {"text": {"type": "string"}}, "required": ["text"]}
    return (replace(make_tool(name, description, schema).spec, terminal=True),)


def problem(text: str, specs: tuple[ActionSpec, ...]) -> str:
    """Say why a native text is no call."""
    match = find_native(text, specs)
    if match is not None:
        try:
            build_call(match.spec, dict(match.values))
        except Fault as fault:
            return str(fault)
    return f"expected one of {', '.join(spec.templates[0] for spec in specs)}"

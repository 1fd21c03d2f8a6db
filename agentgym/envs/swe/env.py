"""SWE as a Gymnasium environment."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from agentgym.actions import MAX_ACTION_CHARS
from agentgym.core.env import OBSERVATION_LENGTH
from agentgym.core.later import Later
from agentgym.core.options import choice, flag, integer, text
from agentgym.core.outcome import Outcome, StopReason
from agentgym.core.tasks import Task
from agentgym.envs.session_env import SessionEnv
from agentgym.envs.swe.baselines import BlindMutation, IssueSearch
from agentgym.envs.swe.engine.admissible import admissible
from agentgym.envs.swe.engine.commands import SPECS, CommandFault, SWELanguage
from agentgym.envs.swe.engine.session import ALWAYS, Rules, SWESession, SWEState, SWETurn
from agentgym.envs.swe.experts import EXPERTS
from agentgym.envs.swe.experts.base import Expert
from agentgym.envs.swe.grading import Grader
from agentgym.envs.swe.instance import DIFFICULTIES, Instance
from agentgym.envs.swe.instance_boxes import PULLS, Boxes
from agentgym.envs.swe.tasks import (
    TURNS,
    InstanceSet,
    InstanceTasks,
    Source,
    open_instances,
)
from agentgym.errors import ConfigurationError
from agentgym.sandbox.registry import check_name

REWARDS = ("sparse", "dense")
"""Rewards: only for a FULL submission, or also for every test that is fixed on the way."""
LARGEST_SHOWN = OBSERVATION_LENGTH - 4096
"""Maximum number of characters of an output; the rest is for line numbers and notices."""
LONGEST = 3600
"""Maximum timeout of a command or of the tests, in seconds."""


class SWEEnv(SessionEnv[SWESession]):
    """Repair a repository so that its failing tests pass.

    Args:
        data: ``"bundled"``; ``"bundled-tokens"``, one token each; a folder that ``agentgym swe
            build`` has written; a file or folder of rows of a published set; the name or hub id
            of one; or an :class:`~agentgym.envs.swe.tasks.InstanceSet`.
        hidden_tests: Whether the deciding tests are removed from the repository and used only for
            grading, as in published sets. None: hidden, except in ``bundled-tokens``. False keeps
            them visible, for a curriculum.
        difficulty: Level of bundled and built tasks: ``easy``, ``medium`` or ``hard``.
            None: all tasks.
        sandbox: Where commands run: ``auto``, or a back end of :mod:`agentgym.sandbox`, or
            ``MODULE:CLASS`` of your own.
        reward: ``sparse``: 1 for a submission with verdict FULL. ``dense``: the increase in the
            share of fixed tests; the share is 0 as soon as a passing test breaks.
        horizon: Turn budget; None: 20 for bundled, 12 for ``bundled-tokens``, 15 for
            built and 50 for published tasks.
        command_timeout: Time limit of a command, in seconds; an action can set a shorter one.
        max_observation_chars: Maximum number of displayed characters of output.
        grading_timeout: Time limit of the tests, in seconds; None: 60, or 1800 in images.
        allow_unsafe: Whether commands may run without isolation if no isolating back end is
            available. Models then act with your permissions.
        expert: The demonstrator: ``oracle`` applies the solution, ``developer`` first runs tests
            and reads files.
        image_mirror: Registry and namespace to pull images from.
        pull: When to pull images: ``missing``, ``always`` or ``never``.
        skip_broken_rows: Play a published set without the rows that cannot be used, such as those
            without an issue. The report and ``info["details"]["rows_left_out"]`` say how many.
        **kwargs: See :class:`~agentgym.core.TextEnv`.

    Raises:
        ConfigurationError: A value is of the wrong type, out of range, or contradicts another.
        DataError: The data cannot be read.
        DependencyNotInstalled: pytest is missing.

    Further reset option: ``instance_id`` selects a task by its name in its set.
    """

    action_specs = SPECS
    action_length = MAX_ACTION_CHARS
    repeatable = False
    language: SWELanguage
    tasks: InstanceTasks
    blind_policies: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "blind-mutation": lambda env: BlindMutation(env.language.write, env.rules.command_timeout)
    }
    reading_policies: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "issue-search": lambda env: IssueSearch(env.language.write, env.rules.command_timeout),
        "issue-repairs": lambda env: IssueSearch(
            env.language.write, env.rules.command_timeout, repairs=True
        ),
    }
    reset_options: ClassVar[Mapping[str, Callable[[Any, str], Any]]] = {"instance_id": text}

    def __init__(
        self,
        *,
        data: str | os.PathLike[str] | InstanceSet = "bundled",
        hidden_tests: bool | None = None,
        difficulty: str | None = None,
        sandbox: str = "auto",
        reward: str = "sparse",
        horizon: int | None = None,
        command_timeout: int = 30,
        max_observation_chars: int = 8000,
        grading_timeout: int | None = None,
        allow_unsafe: bool = False,
        expert: str = "oracle",
        image_mirror: str | None = None,
        pull: str = "missing",
        skip_broken_rows: bool = False,
        **kwargs: Any,
    ) -> None:
        if sandbox == "subprocess" and not flag(allow_unsafe, "allow_unsafe"):
            raise ConfigurationError(
                "expected a sandbox that keeps commands apart from this machine, got "
                "'subprocess', which does not; use another, or set allow_unsafe=True, and a model "
                "acts with your rights"
            )
        self._source = Source(
            data,
            text(image_mirror or "", "image_mirror"),
            None if hidden_tests is None else flag(hidden_tests, "hidden_tests"),
            None if difficulty is None else choice(difficulty, "difficulty", DIFFICULTIES),
            flag(skip_broken_rows, "skip_broken_rows"),
        )
        kind = self._source.kind
        self._boxes = Boxes(
            check_name(text(sandbox, "sandbox")),
            flag(allow_unsafe, "allow_unsafe"),
            choice(pull, "pull", PULLS),
        )
        self.reward = choice(reward, "reward", REWARDS)
        self._expert_name = choice(expert, "expert", EXPERTS)
        if grading_timeout is None:
            grading_timeout = 1800 if kind == "official" else 60
        self._grader = Grader(self._boxes, integer(grading_timeout, "grading_timeout", 1, LONGEST))
        seconds = integer(command_timeout, "command_timeout", 1, LONGEST)
        max_chars = integer(max_observation_chars, "max_observation_chars", 100, LARGEST_SHOWN)
        super().__init__(
            self._make_tasks(), horizon=TURNS[kind] if horizon is None else horizon, **kwargs
        )
        self.language = SWELanguage(self.language.grammar)
        # Run tests during the episode only if a reward or a hook reads the result.
        progress = self.reward == "dense" or self.hooks.reads_potential
        self.rules = Rules(seconds, max_chars, progress)

    # -- the contract of a family ---------------------------------------------------------------

    def reported_details(self) -> Collection[str]:
        """Return the keys that ``info["details"]`` has at every turn."""
        return {*ALWAYS, "rows_left_out"}

    def _start(self, task: Task, rng: np.random.Generator) -> str:
        if self._session is None:  # report a missing back end now, not at the first command
            self._boxes.check(self.tasks.problem(task).source)
        self._session = self._renewed(task)
        return self._session.start(self.turns_left)

    def _act(self, action: str) -> Outcome:
        session, old_potential = self.session, self.session.state.potential
        try:
            command = self.language.command(action)
        except CommandFault as fault:
            return self._misread(action, f"invalid: {fault}")
        turn = session.act(command, self.turns_left - 1)
        return self._outcome(turn, old_potential)

    def _misread(self, action: str, problem: str) -> Outcome:
        session = self.session
        turn = session.refuse(problem, self.turns_left - 1)
        return self._outcome(turn, session.state.potential)

    def _idle(self, observation: str, valid: bool) -> Outcome:
        return self._outcome(SWETurn(observation, valid), self.session.state.potential)

    def _admissible(self) -> Later[Sequence[str]]:
        return Later(_admissible_texts, self.session.instance, self.turns_left)

    def _state(self) -> str:
        state = self.session.state
        return f"{self.task.id} {state.digest} {state.edits.ignored!r} {state.over}"

    def _oracle_turns(self) -> int | Later[int | None]:
        session = self.session
        if session.state.over:
            return 0
        return Later(_plan_length, self._expert, session.instance, session.state)

    def _oracle_action(self) -> str | None:
        return self._action_of(self._oracle)

    def _demonstrator_action(self) -> str | None:
        return self._action_of(self._expert)

    def _action_of(self, expert: Expert) -> str | None:
        """Return an expert's next action, or None if it has no plan or the episode is over."""
        session = self.session
        if session.state.over:
            return None
        plan = expert.plan(session.instance, session.state)
        return None if plan is None else plan[0].write()

    def _potential(self) -> float:
        return self.session.state.potential

    def _snapshot(self) -> Any:
        return self.session.snapshot()

    def _restore(self, state: Any) -> None:
        session = self._session
        if session is None or session.instance.id != self.tasks.problem(self.task).id:
            session = self._renewed(self.task)
        session.restore(state)
        self._session = session

    def close(self) -> None:
        """Close the sandbox of the running episode; may be called twice."""
        if self._session is not None:
            self._running = False
            self._session.close()
        super().close()

    # -- parts ----------------------------------------------------------------------------------

    def _make_tasks(self) -> InstanceTasks:
        self._expert, self._oracle = EXPERTS[self._expert_name](), EXPERTS["oracle"]()
        instances = open_instances(self._source)
        return InstanceTasks(self._source.name, instances, self._source.kind, self._plan_length)

    def _plan_length(self, instance: Instance) -> int | None:
        """Return the number of turns that the expert needs from the start."""
        plan = self._expert.plan(instance, SWEState())
        return None if plan is None else len(plan)

    def _renewed(self, task: Task) -> SWESession:
        """Return a new session, and close the sandbox of the previous one."""
        if self._session is not None:
            self._session.close()
        return SWESession(self.tasks.problem(task), self._boxes, self._grader, self.rules)

    def _outcome(self, turn: SWETurn, old_potential: float) -> Outcome:
        """Return the outcome of a turn, with its reward."""
        session = self.session
        over, success, potential = session.state.over, session.solved, session.state.potential
        reward = potential - old_potential if self.reward == "dense" else float(success)
        score = float(success) if over and success else potential
        reason = StopReason.SUCCESS if success else StopReason.FAILURE
        return Outcome(
            turn.observation,
            reward=reward,
            terminated=over,
            valid=turn.valid,
            success=success,
            score=score if over or self.rules.progress else None,
            stop_reason=StopReason.SANDBOX if session.state.died else reason,
            details={**session.details(turn), "rows_left_out": len(self.tasks.left_out)},
        )

    def __getstate__(self) -> dict[str, Any]:
        """Leave out data that each process shares, and pickle the sandbox as a snapshot."""
        state = super().__getstate__()
        for name in ("tasks", "_expert", "_oracle"):
            del state[name]
        return state

    def _find_again(self) -> None:
        # The sandbox is opened when it is needed.
        self.tasks = self._make_tasks()


def _admissible_texts(instance: Instance, turns_left: int) -> list[str]:
    """Return the admissible commands of an instance as text."""
    return [command.write() for command in admissible(instance, turns_left)]


def _plan_length(expert: Expert, instance: Instance, state: SWEState) -> int | None:
    """Return the number of an expert's remaining commands; None if it cannot solve the task."""
    plan = expert.plan(instance, state)
    return None if plan is None else len(plan)

"""Shell as a Gymnasium environment."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from typing import Any

from agentgym.actions import ActionSpec, Param, parse
from agentgym.core.later import Later
from agentgym.core.options import choice, integer, text
from agentgym.core.outcome import Outcome, StopReason
from agentgym.core.tasks import Task
from agentgym.envs.problem_tasks import expert_for
from agentgym.envs.session_env import OpenedSessionEnv
from agentgym.envs.shell.engine.session import ANSWER, RUN, Problem, ShellSession, ShellStep
from agentgym.envs.shell.experts import EXPERTS
from agentgym.envs.shell.experts.base import Expert
from agentgym.envs.shell.experts.reader import LOOK
from agentgym.envs.shell.generator.config import GeneratorConfig
from agentgym.envs.shell.tasks import open_tasks
from agentgym.sandbox.registry import check_isolated

REWARDS = ("sparse",)
"""Rewards: 1 for a solved task, else 0."""
LONGEST = 30_000
EXPECTED = "invalid: expected run[{command}] or answer[{value}]"
LISTED = 4
"""Maximum number of words of the last output that are offered as answers."""
SPECS = (
    ActionSpec(
        name=RUN,
        description="Run a command in bash, in the folder of the files. The files stay, all else "
        "ends with the command.",
        params=(Param("command", verbatim=True, description="The command."),),
        native=("run[{command}]", "```bash\n{command}\n```"),
        examples=("run[ls -R]",),
    ),
    ActionSpec(
        name=ANSWER,
        description="Give the answer, which ends the episode; after a change any answer will do, "
        "and no further file may be left in the folder.",
        params=(Param("value", description="The answer."),),
        native="answer[{value}]",
        terminal=True,
        examples=("answer[42]", "answer[done]"),
    ),
)


class ShellEnv(OpenedSessionEnv[ShellSession]):
    """Answer a question about files, or make a change to them, by commands in a sandbox.

    Args:
        data: A file of AgentBench's os_interaction; each row is a task. None: generated tasks.
        image: The container image of the sandboxes for ``data``; empty for none.
        difficulty: Number of files and kinds of tasks: ``easy``, ``medium``, ``hard``, or a
            :class:`~agentgym.envs.shell.generator.config.GeneratorConfig`.
        generator_seed: Seed of the generated tasks.
        sandbox: Where commands run: ``auto``, or an isolating back end of :mod:`agentgym.sandbox`.
        command_timeout: Maximum duration of a command, in seconds.
        max_observation_chars: Maximum length of an observation, in characters.
        horizon: Turn budget of an episode.
        reward: ``sparse``: 1 for a right answer, or for exactly the requested change.
        expert: The demonstrator: ``reader`` looks up where files are,
            ``guessing`` mostly guesses, ``oracle`` knows the solution and is the only one for
            ``data``. None: ``reader``, or ``oracle`` with ``data``.
        **kwargs: See :class:`~agentgym.core.TextEnv`.

    Raises:
        ConfigurationError: A value is of the wrong type, out of range, or contradicts another.
        DataError: The file is missing or damaged.
    """

    action_specs = SPECS
    repeatable = False

    def __init__(
        self,
        *,
        data: str | os.PathLike[str] | None = None,
        image: str = "",
        difficulty: str | GeneratorConfig = "medium",
        generator_seed: int = 0,
        sandbox: str = "auto",
        command_timeout: int = 10,
        max_observation_chars: int = 2400,
        horizon: int = 10,
        reward: str = "sparse",
        expert: str | None = None,
        **kwargs: Any,
    ) -> None:
        choice(reward, "reward", REWARDS)
        name = expert_for(expert, data is not None, EXPERTS)
        self._expert, self._oracle = EXPERTS[name](), EXPERTS["oracle"]()
        self._sandbox = check_isolated(text(sandbox, "sandbox"))
        self._seconds = integer(command_timeout, "command_timeout", 1, 3600)
        self._max_chars = integer(max_observation_chars, "max_observation_chars", 80, LONGEST)
        self._tasks = open_tasks(data, text(image, "image"), difficulty, generator_seed, name)
        super().__init__(self._tasks, horizon=horizon, **kwargs)

    # -- the contract of a family ---------------------------------------------------------------

    def reported_details(self) -> Collection[str]:
        """Return the keys that are in ``info["details"]`` at every step."""
        return ("reason",)

    def _act(self, action: str) -> Outcome:
        call = parse(action, self.action_specs).call
        if call is None:
            return self._misread(action, EXPECTED)
        session, value = self.session, next(iter(call.arguments.values()), "")
        observation = session.run(value) if call.name == RUN else session.answer(value)
        reason = StopReason.SANDBOX if session.died else StopReason.ANSWER
        return Outcome(
            observation,
            reward=float(session.solved),
            terminated=session.over,
            success=session.solved,
            score=float(session.solved) if session.over else None,
            stop_reason=StopReason.SUCCESS if session.solved else reason,
            details={"reason": ""},
        )

    def _misread(self, action: str, problem: str) -> Outcome:
        return Outcome(problem, valid=False, details={"reason": problem})

    def _idle(self, observation: str, valid: bool) -> Outcome:
        return Outcome(observation, valid=valid, details={"reason": ""})

    def _admissible(self) -> Sequence[str]:
        steps = self.session.steps
        if self.session.over:
            return ()
        offered = [f"{RUN}[{command}]" for command in ("ls", LOOK, "find . -type d | sort")]
        # A single command has not revealed anything yet.
        words = steps[-1].observation.split() if len(steps) > 1 else []
        if len(words) <= LISTED:
            offered += dict.fromkeys(f"{ANSWER}[{word}]" for word in words if "]" not in word)
        return offered

    def _state(self) -> str:
        # The executed actions only: hidden facts must not enter the state key.
        return f"{self.task.id} {[step.command for step in self.session.steps]!r}"

    def _oracle_turns(self) -> int | Later[int | None]:
        session = self.session
        return 0 if session.over else Later(self._turns, session.problem, session.steps)

    def _oracle_action(self) -> str | None:
        return self._action_of(self._oracle)

    def _demonstrator_action(self) -> str | None:
        return self._action_of(self._expert)

    def _action_of(self, expert: Expert) -> str | None:
        """Return an expert's next action; None if it knows none."""
        session = self.session
        plan = [] if session.over else expert.plan(session.problem, session.steps)
        return f"{plan[0][0]}[{plan[0][1]}]" if plan else None

    # -- parts ----------------------------------------------------------------------------------

    def _turns(self, problem: Problem, steps: Sequence[ShellStep]) -> int | None:
        return len(self._expert.plan(problem, steps)) or None

    def _open_session(self, task: Task) -> ShellSession:
        problem = self._tasks.problem(task)
        return ShellSession(problem, self._sandbox, float(self._seconds), self._max_chars)

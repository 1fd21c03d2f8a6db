"""Database as a Gymnasium environment."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from typing import Any

from agentgym.actions import ActionSpec, Param, parse
from agentgym.core.later import Later
from agentgym.core.options import choice, integer
from agentgym.core.outcome import Outcome, StopReason
from agentgym.core.tasks import Task
from agentgym.envs.database.engine.session import ANSWER, SCHEMA, SQL, DatabaseSession, write_cell
from agentgym.envs.database.engine.tables import quoted
from agentgym.envs.database.experts import EXPERTS
from agentgym.envs.database.experts.base import Expert
from agentgym.envs.database.generator.config import GeneratorConfig
from agentgym.envs.database.own.tables import Tables
from agentgym.envs.database.tasks import open_tasks
from agentgym.envs.problem_tasks import expert_for
from agentgym.envs.session_env import OpenedSessionEnv

REWARDS = ("sparse",)
"""Rewards: 1 for a solved task, else 0."""
LONGEST = 30_000
LISTING = "sql[SELECT name FROM sqlite_master]"
OFFERED = 3
"""Maximum number of values of a result that are offered as answers."""
EXPECTED = "invalid: expected schema, sql[{statement}] or answer[{value}]"
SPECS = (
    ActionSpec(
        name=SCHEMA,
        description="Show the tables and their columns.",
        native=SCHEMA,
        examples=(SCHEMA,),
    ),
    ActionSpec(
        name=SQL,
        description="Carry out one statement in SQLite's SQL: SELECT, INSERT, UPDATE or DELETE.",
        params=(Param("statement", verbatim=True, description="The statement."),),
        native=("sql[{statement}]", "```sql\n{statement}\n```"),
        examples=("sql[SELECT name FROM book WHERE price > 20]",),
    ),
    ActionSpec(
        name=ANSWER,
        description="Give the answer, several values between commas, which ends the episode; after "
        "a change any answer will do.",
        params=(Param("value", description="The answer."),),
        native="answer[{value}]",
        terminal=True,
        examples=("answer[42]", "answer[done]"),
    ),
)


class DatabaseEnv(OpenedSessionEnv[DatabaseSession]):
    """Answer a question about a database, or make a change to it, by SQL.

    Args:
        data: Your own tables: a CSV or TSV file, a folder or list of such files, or an SQLite file.
            Or a file of AgentBench's dbbench, with one task per row. None: generated tasks.
        questions: File of questions about your tables; rows have ``question``, and ``answer``,
            ``sql`` or both; see :mod:`agentgym.envs.database.own.questions`.
        difficulty: Size and difficulty of generated tasks: ``easy``, ``medium``, ``hard``, or a
            :class:`~agentgym.envs.database.generator.config.GeneratorConfig`.
        generator_seed: Seed of the generated tasks.
        max_rows: Maximum number of displayed rows of a result.
        max_observation_chars: Maximum length of an observation, in characters.
        horizon: Turn budget of an episode.
        reward: ``sparse``: 1 for a right answer, or for exactly the requested change.
        expert: The demonstrator: ``reader`` reads the schema before its
            query, ``guessing`` mostly guesses the names of columns, ``oracle`` knows the solution
            and is the only one for your own questions. None: ``reader``, or ``oracle`` with data.
        **kwargs: See :class:`~agentgym.core.TextEnv`.

    Raises:
        ConfigurationError: A value is of the wrong type, out of range, or contradicts another.
        DataError: The file is missing or damaged.
    """

    action_specs = SPECS

    def __init__(
        self,
        *,
        data: Tables | None = None,
        questions: str | os.PathLike[str] | None = None,
        difficulty: str | GeneratorConfig = "medium",
        generator_seed: int = 0,
        max_rows: int = 20,
        max_observation_chars: int = 2400,
        horizon: int = 10,
        reward: str = "sparse",
        expert: str | None = None,
        **kwargs: Any,
    ) -> None:
        choice(reward, "reward", REWARDS)
        name = expert_for(expert, data is not None, EXPERTS)
        self._expert, self._oracle = EXPERTS[name](), EXPERTS["oracle"]()
        self._max_rows = integer(max_rows, "max_rows", 1, 1000)
        self._max_chars = integer(max_observation_chars, "max_observation_chars", 80, LONGEST)
        self._tasks = open_tasks(data, questions, difficulty, generator_seed, name)
        super().__init__(self._tasks, horizon=horizon, **kwargs)

    # -- the contract of a family ---------------------------------------------------------------

    def reported_details(self) -> Collection[str]:
        """Return the keys that are in ``info["details"]`` at every step."""
        return ("reason", "failed")

    def _act(self, action: str) -> Outcome:
        call = parse(action, self.action_specs).call
        if call is None:
            return self._misread(action, EXPECTED)
        session = self.session
        turn = session.act(call.name, next(iter(call.arguments.values()), ""))
        is_answered = session.answered is not None
        return Outcome(
            turn.observation,
            reward=float(session.solved),
            terminated=is_answered,
            success=session.solved,
            score=float(session.solved) if is_answered else None,
            stop_reason=StopReason.SUCCESS if session.solved else StopReason.ANSWER,
            details={"reason": turn.observation if turn.failed else "", "failed": turn.failed},
        )

    def _misread(self, action: str, problem: str) -> Outcome:
        return Outcome(problem, valid=False, details={"reason": problem, "failed": False})

    def _idle(self, observation: str, valid: bool) -> Outcome:
        return Outcome(observation, valid=valid, details={"reason": "", "failed": False})

    def _admissible(self) -> Sequence[str]:
        session = self.session
        if session.answered is not None:
            return ()
        names = [quoted(table.name) for table in session.problem.tables]
        offered = [SCHEMA, LISTING]
        offered += (
            f"sql[SELECT {selection} FROM {name}]"
            for name in names
            for selection in ("*", "count(*)")
        )
        rows = session.result.rows if session.result else ()
        cells = [write_cell(cell) for row in rows[: OFFERED + 1] for cell in row]
        # A single query has not revealed anything yet.
        if len(session.steps) > 1 and len(cells) <= OFFERED:
            offered += dict.fromkeys(
                f"answer[{cell}]" for cell in cells if cell.strip() and "]" not in cell
            )
        return offered

    def _state(self) -> str:
        # The executed actions only: hidden facts must not enter the state key.
        steps = [[step.action, step.argument] for step in self.session.steps]
        return f"{self.task.id} {steps!r}"

    def _oracle_turns(self) -> int | Later[int | None] | None:
        session = self.session
        if session.answered is not None:
            return 0
        if session.changed:  # Only the database knows how, and not after the next statement.
            return self._turns(session)
        return Later(self._turns, session.unchanged())

    def _oracle_action(self) -> str | None:
        return self._action_of(self._oracle)

    def _demonstrator_action(self) -> str | None:
        return self._action_of(self._expert)

    def _turns(self, session: DatabaseSession) -> int | None:
        return len(self._expert.plan(session)) or None

    def _action_of(self, expert: Expert) -> str | None:
        """Return an expert's next action; None if it knows none."""
        plan = [] if self.session.answered is not None else expert.plan(self.session)
        if not plan:
            return None
        name, argument = plan[0]
        return name if name == SCHEMA else f"{name}[{argument}]"

    # -- parts ----------------------------------------------------------------------------------

    def _open_session(self, task: Task) -> DatabaseSession:
        return DatabaseSession(self._tasks.problem(task), self._max_rows, self._max_chars)

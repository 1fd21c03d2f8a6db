"""Mathematics with tools as a Gymnasium environment."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Sequence
from functools import partial
from typing import Any

from agentgym.authoring import ToolEnv, ToolEpisode
from agentgym.core.later import Later
from agentgym.core.options import choice, integer, text
from agentgym.core.tasks import NumberedTasks
from agentgym.envs.mathpython.engine.equivalence import equivalent
from agentgym.envs.mathpython.experts import EXPERTS
from agentgym.envs.mathpython.experts.base import ANSWER, ARGUMENTS, CALCULATOR, Expert
from agentgym.envs.mathpython.generator import GeneratorConfig
from agentgym.envs.mathpython.problem import Problem
from agentgym.envs.mathpython.tasks import problem_tasks
from agentgym.envs.mathpython.tools import MathTools
from agentgym.errors import require
from agentgym.sandbox.registry import check_isolated

REWARDS = ("sparse",)
"""Rewards: 1 for a right answer, else 0."""
LONGEST_SHOWN = 20_000
MOST_SECONDS = 600
CALCULATED = (
    "Give the final answer, which ends the episode: a calculated value such as 42, -7/3 or 0.25, "
    "or several with commas between them; no formula, and fractions in lowest terms."
)
"""Form of the answer to a generated problem, for prompts."""
MOST_OFFERED = 4
"""Maximum number of the question's numbers that the admissible calls use."""
_NUMBER = re.compile(r"(?<![\w.])-?\d{1,12}(?:/\d{1,12})?(?![\w/]|\.\d)")


class MathPythonEnv(ToolEnv):
    """Solve a math problem with a calculator and Python in a sandbox.

    Args:
        data: A file or folder of problems in the form of GSM8K, MATH or AIME; None generates them.
        difficulty: Difficulty of generated problems: ``easy``, ``medium``, ``hard``, or a
            :class:`~agentgym.envs.mathpython.generator.config.GeneratorConfig`.
        generator_seed: Seed of the generator.
        reward: Reward of the answer: ``sparse``, 1 if it is equivalent to the right one. A
            generated problem pays only a calculated value: digits, a decimal, a fraction in lowest
            terms, or a set of these.
        expert: The demonstrator: ``calculating`` uses the calculator if
            one line suffices and writes Python otherwise, ``programmer`` always writes Python,
            ``oracle`` knows the answer, ``lazy`` mostly omits a number. With data sets, all of them
            act as ``oracle``.
        sandbox: Where Python runs: ``auto``, or an isolating back end of `agentgym.sandbox` with
            ``python3``.
        seconds: Maximum CPU time of each process of a script, in seconds, see
            `agentgym.authoring.PythonTool`.
        max_observation_chars: Maximum number of displayed characters of a script's output.
        horizon: Turn budget of an episode, including the answer.
        **kwargs: See :class:`~agentgym.core.TextEnv`.

    Raises:
        ConfigurationError: A value is of the wrong type or out of range.
        DataError: The data cannot be read.
        DependencyNotInstalled: ``data`` needs sympy to compare answers, and it is missing.

    Every script is a new process: its variables are lost, its files remain until the episode ends.
    """

    tasks: NumberedTasks[Problem]

    def __init__(
        self,
        *,
        data: str | os.PathLike[str] | None = None,
        difficulty: str | GeneratorConfig = "medium",
        generator_seed: int = 0,
        reward: str = "sparse",
        expert: str = "calculating",
        sandbox: str = "auto",
        seconds: int = 10,
        max_observation_chars: int = 2000,
        horizon: int = 5,
        **kwargs: Any,
    ) -> None:
        if data is not None:
            require("sympy", "math")
        self.reward = choice(reward, "reward", REWARDS)
        self._demonstrator = EXPERTS[choice(expert, "expert", EXPERTS)]()
        self._oracle = EXPERTS["oracle"]()
        self._sandbox = check_isolated(text(sandbox, "sandbox"))
        self._seconds = integer(seconds, "seconds", 1, MOST_SECONDS)
        self._longest = integer(max_observation_chars, "max_observation_chars", 100, LONGEST_SHOWN)
        tasks = problem_tasks(
            data,
            GeneratorConfig.of(difficulty),
            integer(generator_seed, "generator_seed", 0),
            self._demonstrator.turns,
        )
        generated = data is None
        if generated:
            self.answer_description = CALCULATED
        worth = partial(_worth, lowest_form=generated)
        # No time limit per tool: the sandbox limits Python, and the calculator is bounded.
        super().__init__(self._make_tools, tasks, worth, timeout=None, horizon=horizon, **kwargs)

    def _make_tools(self) -> MathTools:
        return MathTools(sandbox=self._sandbox, seconds=self._seconds, longest=self._longest)

    # -- the contract of a family ---------------------------------------------------------------

    def _admissible(self) -> Sequence[str]:
        """Return a sample: calls with numbers that stand next to each other, and answers."""
        if self._answered:
            return ()
        numbers = list(dict.fromkeys(_NUMBER.findall(self.task.goal)))[:MOST_OFFERED]
        calls = [
            f"{CALCULATOR}[{smaller} {sign} {larger.strip('-')}]"
            for smaller, larger in itertools.pairwise(numbers)
            for sign in "+-*"
        ]
        results = _NUMBER.findall(self._calls[-1].answer)[-1:] if self._calls else []
        return [*calls, *(f"{ANSWER}[{number}]" for number in dict.fromkeys([*results, *numbers]))]

    def _oracle_turns(self) -> int | Later[int | None]:
        if self._answered:
            return 0
        return Later(self._demonstrator.turns, self._problem, self._calls)

    def _oracle_action(self) -> str | None:
        return self._action_of(self._oracle)

    def _demonstrator_action(self) -> str | None:
        return self._action_of(self._demonstrator)

    def _action_of(self, expert: Expert) -> str | None:
        """Return an expert's next action; None once the problem is answered."""
        if self._answered:
            return None
        name, argument = expert.step(self._problem, self._calls)
        return self._write_call(name, {ARGUMENTS[name]: argument})[0]

    # -- parts ----------------------------------------------------------------------------------

    @property
    def _answered(self) -> bool:
        """Whether the episode has its answer."""
        return len(self._call_keys) > len(self._calls)

    @property
    def _problem(self) -> Problem:
        return self.tasks.problem(self.task)


def _worth(episode: ToolEpisode, *, lowest_form: bool) -> float:
    """Pay for the right answer."""
    answer = episode.answer or ""
    return float(equivalent(episode.task["answer"], answer, lowest_form=lowest_form))

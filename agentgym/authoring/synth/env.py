"""A specification as a Gymnasium environment."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from agentgym.authoring.synth.specification import Specification
from agentgym.authoring.synth.tasks import SIZES, Problem, expected, open_tasks
from agentgym.authoring.synth.world import State
from agentgym.core.env import TextEnv
from agentgym.core.options import choice, integer
from agentgym.core.outcome import Outcome
from agentgym.core.tasks import Task
from agentgym.errors import ConfigurationError

REWARDS = ("sparse", "dense")
ECHO = 100
"""Most characters of an action that an answer repeats."""


class SynthTurn(NamedTuple):
    """The result of an action."""

    text: str
    """What is said."""
    valid: bool
    """Whether it was one that can be tried here."""


class SynthSession:
    """One episode: a problem and the current state of its world.

    Args:
        problem: The problem.

    Attributes:
        problem: The problem.
        state: The present state.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.state: State = problem.begin

    def opening(self) -> str:
        """Return the first observation."""
        world = self.problem.world
        sentences = world.describe(world.spec.start, self.state)
        lines = [
            world.spec.opening,
            *sentences,
            *self._describe_turn(),
            f"Goal: {self.problem.words}",
        ]
        return "\n".join(lines)

    def step(self, text: str, rng: np.random.Generator) -> SynthTurn:
        """Execute an action; any text is accepted, and only chance outcomes draw from `rng`."""
        world = self.problem.world
        action = world.by_text.get(" ".join(text.split()).casefold())
        if action is None:
            forms = ", ".join(tool.spec.templates[0] for tool in world.spec.tools)
            return SynthTurn(f"Expected one of: {forms}; got {text[:ECHO]!r}.", False)
        for needs, valid in ((action.needs, False), (action.hidden, True)):
            for test, otherwise in needs:
                if not test(self.state):
                    return SynthTurn("\n".join([otherwise, *self._describe_turn()]), valid)
        drawn = int(rng.integers(100)) if len(action.results) > 1 else 0
        passed = itertools.accumulate(percent for percent, _, _ in action.results)
        number = next(n for n, share in enumerate(passed) if drawn < share)
        _, change, says = action.results[number]
        self.state = change(self.state)
        return SynthTurn("\n".join([says(self.state), *self._describe_turn()]), True)

    def offered(self) -> list[str]:
        """Return the actions that can be tried, judging by visible facts."""
        return [action.text for action in self.problem.world.actions if action.offered(self.state)]

    def _describe_turn(self) -> list[str]:
        world = self.problem.world
        return world.describe(world.spec.turn, self.state)


class SynthEnv(TextEnv[SynthSession]):
    """Play the world of a specification.

    Args:
        spec: The specification.
        turns: Turns of the expert, on average if outcomes are random: a number or a range within
            the specification's; None: the specification's.
        generator_seed: Selects another set of tasks.
        sizes: Number of tasks of each split; default: 500 for training, 100 each for the others.
        reward: ``sparse``: 1 on the turn that reaches the goal, else 0. ``dense``: the change in
            the completed share of the expert's turns.
        horizon: Turn budget; None: the specification's.
        **kwargs: See :class:`~agentgym.core.TextEnv`.

    Raises:
        ConfigurationError: A value is of the wrong type or out of range.
        DataError: The specification makes no such tasks.

    Attributes:
        reward: The reward.
        synth_tasks: The tasks, with their problems and solutions.

    ``info["score"]`` is the completed share of the expert's turns, at least 0.
    """

    def __init__(
        self,
        spec: Specification,
        *,
        turns: int | tuple[int, int] | None = None,
        generator_seed: int = 0,
        sizes: Mapping[str, int] | None = None,
        reward: str = "sparse",
        horizon: int | None = None,
        **kwargs: Any,
    ) -> None:
        # Another specification has other actions.
        self.action_specs = tuple(tool.spec for tool in spec.tools)  # type: ignore[misc]
        self.reward = choice(reward, "reward", REWARDS)
        seed = integer(generator_seed, "generator_seed", 0)
        budget = spec.horizon if horizon is None else integer(horizon, "horizon", 1)
        # Which tasks there are must not depend on the budget of a stage of training.
        self.synth_tasks = open_tasks(
            spec, seed, _within(turns, spec.turns), spec.horizon, _sizes(sizes)
        )
        super().__init__(self.synth_tasks, horizon=budget, **kwargs)

    # -- the contract of a family ---------------------------------------------------------------

    def _start(self, task: Task, rng: np.random.Generator) -> str:
        self._session = SynthSession(self.synth_tasks.problem(task))
        return self._session.opening()

    def _act(self, action: str) -> Outcome:
        session = self.session
        old_potential = self._potential()
        answer = session.step(action, self.np_random)
        won = session.problem.reached(session.state)
        potential = self._potential()
        return Outcome(
            answer.text,
            reward=potential - old_potential if self.reward == "dense" else float(won),
            terminated=won,
            valid=answer.valid,
            success=won,
            score=max(0.0, potential),
        )

    def _admissible(self) -> Sequence[str]:
        return self.session.offered()

    def _state(self) -> str:
        return f"{self.task.id}\n{self.session.state.hex()}"

    def _oracle_turns(self) -> int | None:
        turns = self._turns()
        return None if turns is None else expected(turns)

    def _oracle_action(self) -> str | None:
        session = self.session
        best = session.problem.solution.best.get(session.state)
        return None if best is None else session.problem.world.actions[best].text

    def _potential(self) -> float:
        """Return the share of the expert's turns that is done; a lost state is beyond the worst."""
        solution = self.session.problem.solution
        turns = self._turns()
        if turns is None:
            turns = 1 + solution.worst
        return 1 - turns / solution.turns[solution.begin]

    def _snapshot(self) -> State:
        return self.session.state

    def _restore(self, state: State) -> None:
        self._session = SynthSession(self.synth_tasks.problem(self.task))
        self._session.state = state

    # -- parts ----------------------------------------------------------------------------------

    def _turns(self) -> float | None:
        """Return the expert's turns to the goal, on average; None if it is out of reach."""
        return self.session.problem.solution.turns.get(self.session.state)


def _sizes(overrides: Any) -> tuple[tuple[str, int], ...]:
    """Return the number of tasks of each split."""
    if not isinstance(overrides or {}, Mapping) or not set(overrides or {}) <= set(SIZES):
        raise ConfigurationError(
            f"expected sizes as numbers of tasks by {', '.join(SIZES)}, got {overrides!r:.80}"
        )
    sizes = {**SIZES, **(overrides or {})}
    return tuple((split, integer(sizes[split], f"sizes of {split}", 1, 10**6)) for split in SIZES)


def _within(turns: Any, of: tuple[int, int]) -> tuple[int, int]:
    """Return a range of turns within that of a specification."""
    if turns is None:
        return of
    pair = list(turns) if isinstance(turns, list | tuple) else [turns, turns]
    if len(pair) != 2:
        raise ConfigurationError(f"expected turns to be a number or a range of two, got {turns!r}")
    low = integer(pair[0], "turns", *of)
    return low, integer(pair[1], "turns", low, of[1])

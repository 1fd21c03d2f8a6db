"""Tasks of a specification: entities, facts and a goal drawn by a seed, and solved."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, TypeAlias

from agentgym.authoring.synth.facts import NO, Application, Equation
from agentgym.authoring.synth.search import MOST_STATES, Solution, TooManyStates, solve
from agentgym.authoring.synth.specification import Goal, Specification
from agentgym.authoring.synth.world import State, SynthWorld
from agentgym.core.tasks import NumberedTasks, canonical_json
from agentgym.errors import DataError
from agentgym.support.random_stream import Stream

SIZES: Mapping[str, int] = {"train": 500, "valid": 100, "test": 100}
"""Numbers of tasks, unless others are asked for."""
Sizes: TypeAlias = tuple[tuple[str, int], ...]
"""Splits with their numbers of tasks."""
PARTS = {"train": range(80), "valid": range(80, 90), "test": range(90, 100)}
"""Hundredths of all hashes of tasks that belong to each split."""
DRAWS = 20_000
"""Most draws for one task."""
TRIED = 24
"""Draws by which a specification is judged."""
FITTING = 4
"""How many of them have to be tasks."""
SURE = 0.99
"""How likely the expert has to reach the goal within the horizon."""


@dataclass(frozen=True)
class DrawnGoal:
    """A goal with its entities."""

    goal: Goal
    """The goal."""
    bindings: Mapping[str, str]
    """Entities by the names of its variables."""


@dataclass(frozen=True)
class Problem:
    """One task: where it begins and what is asked."""

    world: SynthWorld
    """The world."""
    begin: State
    """Its facts at the beginning."""
    goals: tuple[DrawnGoal, ...]
    """What has to hold together in the end."""

    @cached_property
    def words(self) -> str:
        """The instruction."""
        sentences = [
            self.world.says(drawn.goal.words, drawn.bindings)(self.begin) for drawn in self.goals
        ]
        return " ".join(sentences)

    @cached_property
    def solution(self) -> Solution:
        """What the expert knows.

        Raises:
            TooManyStates: The search is too large.
        """
        return solve(self.world, self.begin, self.reached)

    @cached_property
    def content(self) -> Mapping[str, Any]:
        """All that decides the task, as data."""
        world = self.world
        return {
            "specification": world.spec.digest,
            "task_type": " + ".join(sorted({drawn.goal.label for drawn in self.goals})),
            "entities": {kind: list(names) for kind, names in world.entities.items()},
            "begin": [
                f"{fact.name}({', '.join(of)}) = {world.values[value]}"
                for (fact, of), value in zip(world.cells, self.begin, strict=True)
            ],
            "wanted": [[drawn.goal.label, dict(drawn.bindings)] for drawn in self.goals],
        }

    def reached(self, state: State) -> bool:
        """Return whether the goal holds in a state."""
        return all(test(state) for test in self._tests)

    @cached_property
    def _tests(self) -> tuple[Any, ...]:
        return tuple(
            self.world.test(fact, drawn.bindings)
            for drawn in self.goals
            for fact in drawn.goal.want
        )

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is made of the rest: some of it are functions."""
        return {name: getattr(self, name) for name in ("world", "begin", "wanted")}


class SynthTasks(NumberedTasks[Problem]):
    """Tasks that a seed draws from a specification.

    A hash of a task says to which split it belongs, so no task is in two. Ids read
    ``synth/<name>[-<seed>][-<turns>]/<split>/<number>``.

    Args:
        spec: The specification.
        seed: Names a set of tasks.
        turns: Fewest and most turns of the expert.
        horizon: Turn budget.
        sizes: Tasks of each split.

    Raises:
        DataError: The specification makes no such tasks, or its search is too large.
    """

    remedy = "make the environment with the specification, seed and turns that the id names"

    def __init__(
        self, spec: Specification, seed: int, turns: tuple[int, int], horizon: int, sizes: Sizes
    ) -> None:
        self.spec, self._seed, self._turns_asked, self._horizon = spec, seed, turns, horizon
        self._sizes = dict(sizes)
        marked = f"-{turns[0]}to{turns[1]}" if turns != spec.turns else ""
        name = f"synth/{spec.name}" + (f"-{seed}" if seed else "") + marked
        super().__init__(name, plan_length=self._length)
        self._check_largest()
        self._check_yield()

    def len(self, split: str) -> int:
        """Return the number of tasks in ``split``."""
        return self._sizes[self.check(split)]

    def _describe(self, split: str, number: int, problem: Problem) -> tuple[str, Mapping[str, Any]]:
        return problem.words, problem.content

    def _length(self, problem: Problem) -> int:
        return expected(problem.solution.turns[problem.begin])

    def _problem(self, split: str, number: int) -> Problem:
        for draw in range(DRAWS):
            problem, why = self._try_draw(split, number, draw)
            if problem is not None and not why:
                return problem
        raise DataError(
            f"expected {self.spec.name} to have more tasks for {split}, got none in {DRAWS:,} "
            "draws: add names, or let more goals and turns pass"
        )

    def _try_draw(self, split: str, number: int, draw: int) -> tuple[Problem | None, str]:
        """Draw a task once; returns also why it is none of the set, or an empty text."""
        stream = Stream("synth", self.spec.digest, self._seed, split, number, draw)
        problem = self._drawn(stream)
        if problem is None:
            return None, "goals contradict one another, or lack entities"
        if problem.reached(problem.begin):
            return problem, "the goal holds at the beginning"
        dealt = Stream("deal", canonical_json(problem.content)).below(100)
        if split in PARTS and dealt not in PARTS[split]:
            return problem, "it is of another split"
        return problem, self._obstacle(problem)

    def _check_yield(self) -> None:
        """Refuse a specification most of whose draws are no tasks, so that none is looked for long.

        Raises:
            DataError: Too few are.
        """
        why = [self._try_draw("any", 0, draw)[1] for draw in range(TRIED)]
        if why.count("") < FITTING:
            counts = {reason: why.count(reason) for reason in dict.fromkeys(why) if reason}
            reasons = "; ".join(f"{count} times {reason}" for reason, count in counts.items())
            low, high = self._turns_asked
            raise DataError(
                f"expected {self.spec.name} to have tasks of {low} to {high} turns, at least "
                f"{FITTING} among {TRIED} draws, got {why.count('')}: {reasons}; change goals, "
                "tools or turns"
            )

    def _drawn(self, stream: Stream) -> Problem | None:
        """Draw a task; None if its goals contradict one another."""
        spec = self.spec
        entities = {
            kind: tuple(stream.sample(of.names, stream.between(*of.count)))
            for kind, of in spec.kinds.items()
        }
        world = _world(spec, tuple(entities.items()))
        begin = self._begin(world, stream)
        goals: list[DrawnGoal] = []
        for _ in range(stream.between(*spec.goal_count)):
            drawn = _draw_goal(stream.choice(spec.goals), entities, stream)
            if drawn is not None and drawn not in goals:
                goals.append(drawn)
        if begin is None or not goals or _contradict(goals):
            return None
        return Problem(world, begin, tuple(goals))

    def _begin(self, world: SynthWorld, stream: Stream) -> State | None:
        state = bytearray()
        used: dict[str, set[int]] = {}
        for fact, _ in world.cells:
            free_values = [
                v for v in world.domain(fact) if v not in used.setdefault(fact.name, set())
            ]
            if not free_values:
                return None
            state.append(stream.choice(free_values))
            if fact.distinct:
                used[fact.name].add(state[-1])
        return bytes(state)

    def _obstacle(self, problem: Problem) -> str:
        """Return why a task is none of this set, or an empty text."""
        try:
            solution = problem.solution
        except TooManyStates as error:
            return f"the search finds {error}"
        turns = solution.turns.get(problem.begin)
        if turns is None:
            return "the goal cannot be reached for sure"
        low, high = self._turns_asked
        if not low <= expected(turns) <= high:
            return f"the expert needs other than {low} to {high} turns"
        if self.spec.chancy and solution.success(self._horizon) < SURE:
            return f"the expert needs more than {self._horizon} turns too often"
        return "" if expected(turns) <= self._horizon else "the horizon is too short"

    def _check_largest(self) -> None:
        """Refuse a specification whose largest worlds are too large to be searched."""
        spec = self.spec
        entities = {kind: of.names[: of.count[1]] for kind, of in spec.kinds.items()}
        world = _world(spec, tuple(entities.items()))
        begin = self._begin(world, Stream("largest", spec.digest))
        if begin is None:
            raise DataError(
                f"expected {spec.name} to have as many values as entities for each fact that is "
                "`distinct`, got fewer: add names, or lower a count"
            )
        try:
            solve(world, begin, lambda state: False)
        except TooManyStates:
            raise DataError(
                f"expected at most {MOST_STATES:,} states that can be reached in {spec.name}, got "
                f"more with {', '.join(f'{len(of)} of {kind}' for kind, of in entities.items())}: "
                "lower a count, or leave out a fact"
            ) from None


@lru_cache(maxsize=32)
def open_tasks(
    spec: Specification, seed: int, turns: tuple[int, int], horizon: int, sizes: Sizes
) -> SynthTasks:
    """Return the tasks of a specification, which environments of a process share.

    Raises:
        DataError: It makes no such tasks, or its search is too large.
    """
    return SynthTasks(spec, seed, turns, horizon, sizes)


def expected(turns: float) -> int:
    """Return turns on average as a whole number, rounded up."""
    return math.ceil(turns - 1e-4)


@lru_cache(maxsize=512)
def _world(spec: Specification, entities: tuple[tuple[str, tuple[str, ...]], ...]) -> SynthWorld:
    return SynthWorld(spec, dict(entities))


def _draw_goal(
    goal: Goal, entities: Mapping[str, tuple[str, ...]], stream: Stream
) -> DrawnGoal | None:
    """Draw the entities of a goal; None if there are too few."""
    bindings: dict[str, str] = {}
    for name, kind in goal.variables.items():
        free_entities = [entity for entity in entities[kind] if entity not in bindings.values()]
        if not free_entities:
            return None
        bindings[name] = stream.choice(free_entities)
    return DrawnGoal(goal, bindings)


def _contradict(goals: list[DrawnGoal]) -> bool:
    """Return whether two goals plainly want different values of one fact."""
    values: dict[tuple[str, ...], str] = {}
    for drawn in goals:
        for fact in drawn.goal.want:
            place, value = _plain_fact(fact, drawn.bindings)
            if place and values.setdefault(place, value) != value:
                return True
    return False


def _plain_fact(fact: Equation, bindings: Mapping[str, str]) -> tuple[tuple[str, ...], str]:
    """Return which fact is to have which value, with an empty first part if that is not plain."""
    terms = (*fact.left.of, fact.right)
    if not fact.equal or any(isinstance(term, Application) for term in terms):
        return (), NO
    named = [
        bindings.get(term.name, term.name) for term in terms if not isinstance(term, Application)
    ]
    return (fact.left.fact, *named[:-1]), named[-1]

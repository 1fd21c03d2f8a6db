"""``reasoning-gym:NAME``: generated questions of reasoning-gym, scored by its own rules.

A question is one episode of one turn; its data set's own answer is the expert.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from agentgym.core.tasks import SPLITS, Task, canonical_json
from agentgym.errors import DataError, require
from agentgym.interop.global_randomness import GlobalRandomness
from agentgym.interop.imported_env import SINGLE_ANSWER, ImportedEnv, share
from agentgym.interop.request import ImportRequest
from agentgym.interop.seeded_tasks import SIZES, SeededTasks
from agentgym.interop.world import World, WorldTurn

BY_HASH_SEED = frozenset(
    {
        "isomorphic_strings",
        "knight_swap",
        "polynomial_multiplication",
        "ransom_note",
        "word_ladder",
    }
)
"""Data sets of 0.1.25 whose questions depend on Python's hash seed, by comparing processes."""
MADE_AT_ONCE = frozenset({"acre", "word_ladder"})
"""Data sets that make all of their questions when they are opened, or can make few."""
FEW: Mapping[str, int] = {"train": 160, "valid": 160, "test": 160}
"""Questions of these, if nothing else is asked for."""
HASHED = (
    "its questions depend on PYTHONHASHSEED: set it to one number in all processes, else a task id "
    "stands for other questions in each"
)
"""Limit of those data sets."""


def make(reference: str, *, sizes: Mapping[str, int] | None = None, **options: Any) -> ImportedEnv:
    """Make an environment of a data set.

    Args:
        reference: Name of the data set.
        sizes: Questions of each split.
        **options: Arguments of :class:`~agentgym.interop.imported_env.ImportedEnv`, and of the
            configuration of the data set.

    Raises:
        DependencyNotInstalled: reasoning-gym is missing.
        ConfigurationError: There is no such data set, or an argument is wrong.
    """
    env_options, peer_options = share(options)
    request = ImportRequest("reasoning-gym", reference, peer_options)
    request.check(names())
    sizes = {**(FEW if reference in MADE_AT_ONCE else SIZES), **(sizes or {})}
    config = {"seed": 0, "size": len(SPLITS) * max(sizes.values()), **peer_options}
    with request.opening(), GlobalRandomness().in_place():
        data = require("reasoning_gym", "reasoning-gym").create_dataset(reference, **config)
    tasks = ReasoningTasks(request, data, sizes)
    limits = (HASHED,) if reference in BY_HASH_SEED else ()
    answered = tasks.entry(tasks.task("test", 0)).get("answer") is not None
    return ImportedEnv(
        QuestionWorld(tasks, data),
        tasks,
        specs=SINGLE_ANSWER,
        limits=limits,
        has_expert=answered,
        **{"horizon": 1, **env_options},
    )


def names() -> list[str]:
    """Return the names of the data sets.

    Raises:
        DependencyNotInstalled: reasoning-gym is missing.
    """
    require("reasoning_gym", "reasoning-gym")
    return sorted(require("reasoning_gym.factory", "reasoning-gym").DATASETS)


class ReasoningTasks(SeededTasks):
    """Questions of a data set, each made from its own seed.

    Args:
        request: The data set's name, and what was asked of its configuration.
        data: The data set.
        sizes: Questions of each split.
    """

    def __init__(self, request: ImportRequest, data: Any, sizes: Mapping[str, int]) -> None:
        super().__init__(request.name, "", request.facts("reasoning_gym"), sizes)
        self._data = data

    def entry(self, task: Task) -> Mapping[str, Any]:
        """Return a question with its answer, as reasoning-gym keeps it.

        Raises:
            DataError: The data set cannot make it.
        """
        return self._entry(task.content["seed"])

    def _entry(self, index: int) -> Mapping[str, Any]:
        # Some data sets draw from the global generators.
        with GlobalRandomness(index).in_place():
            try:
                entry: Mapping[str, Any] = self._data[index]
            except Exception as error:
                raise DataError(
                    f"expected question {index} of {self.name}, but: {type(error).__name__}: "
                    f"{error}; the other project cannot make it"
                ) from error
        return entry

    def _describe(self, split: str, number: int, problem: int) -> tuple[str, Mapping[str, Any]]:
        content = super()._describe(split, number, problem)[1]
        entry = self._entry(problem)
        answer = canonical_json(str(entry.get("answer")))
        digest = hashlib.sha256(answer.encode()).hexdigest()
        return str(entry["question"]), {**content, "answer_sha256": digest}


class QuestionWorld(World):
    """One question and its scorer.

    Args:
        tasks: The questions.
        data: The data set.
    """

    def __init__(self, tasks: ReasoningTasks, data: Any) -> None:
        self._tasks, self._data = tasks, data
        self._entry: Mapping[str, Any] = {}
        self._randomness = GlobalRandomness()

    def reset(self, task: Task, seed: int) -> str:
        """Return the question."""
        self._entry = self._tasks.entry(task)
        self._randomness.seed(seed)
        return str(self._entry["question"])

    def step(self, text: str) -> WorldTurn:
        """Score the answer, which ends the episode."""
        with self._randomness.in_place():
            score = self._data.score_answer(text, self._entry)
        return WorldTurn(f"scored {score:g}", score, done=True)

    def expert(self) -> str | None:
        """Return the data set's own answer."""
        answer = self._entry.get("answer")
        return None if answer is None else str(answer)

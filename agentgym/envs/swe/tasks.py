"""SWE instances as tasks of the environment, and the sources that instances are loaded from."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np

from agentgym.core.tasks import KEPT_TASKS, NumberedTasks, Task
from agentgym.envs.swe.instance import Instance
from agentgym.errors import ConfigurationError, TaskNotFound

BUNDLED = "bundled"
"""Name of the bundled set."""
TOKENS = "bundled-tokens"
"""Name of the bundled set of faults in a single token, with visible tests: the first stage of a
curriculum."""
INDEX = "instances.jsonl"
"""File that marks a folder as written by ``agentgym swe build``."""
TURNS: Mapping[str, int] = {BUNDLED: 20, TOKENS: 12, "stored": 15, "official": 50}
"""Kind of set -> default turn budget of an episode."""


@runtime_checkable
class InstanceSet(Protocol):
    """Instances in splits: the interface of all sources."""

    @property
    def splits(self) -> tuple[str, ...]:
        """Names of the splits."""
        ...

    def len(self, split: str) -> int:
        """Return the number of instances in a split."""
        ...

    def instance(self, split: str, index: int) -> Instance:
        """Return the instance at an index, which callers have checked."""
        ...

    def find(self, instance_id: str) -> tuple[str, int] | None:
        """Return the split and index of the instance with this id, or None."""
        ...


class InstanceTasks(NumberedTasks[Instance]):
    """Instances as tasks.

    Task ids contain the index of an instance instead of its id, which may reveal the fault.

    Args:
        name: Short name of the set.
        instances: The instances.
        kind: Kind of the set: a key of :data:`TURNS`.
        plan_length: Returns the length of the expert's plan, in turns, or None.

    Raises:
        ConfigurationError: There are no instances.
    """

    remedy = "make the environment with the data that holds it"

    def __init__(
        self,
        name: str,
        instances: InstanceSet,
        kind: str,
        plan_length: Callable[[Instance], int | None] | None = None,
    ) -> None:
        super().__init__(f"swe/{name}", plan_length=plan_length, cache_size=KEPT_TASKS)
        self.instances = instances
        self.kind = kind
        self.left_out = tuple(getattr(instances, "left_out", ()))
        self.splits = tuple(split for split in instances.splits if instances.len(split))
        if not self.splits:
            raise ConfigurationError(f"expected instances in {name}, which has none")

    def len(self, split: str) -> int:
        """Return the number of tasks in ``split``."""
        return self.instances.len(self.check(split))

    def choose(self, options: Mapping[str, Any], rng: np.random.Generator, split: str) -> Task:
        """Return the task that reset options select, or draw one.

        Args:
            options: The options of every task set, and ``instance_id``: an instance by its id in
                the set.
            rng: Generator for the draw.
            split: Split to draw from if the options name none.

        Raises:
            ConfigurationError: Options contradict each other.
            TaskNotFound: The selected task does not exist.
        """
        choices = dict(options)
        if "instance_id" in choices:
            if {"task_id", "split", "index"} & set(choices):
                raise ConfigurationError(
                    "expected the reset option instance_id alone, got task_id, split or index too"
                )
            instance_id = choices.pop("instance_id")
            place = self.instances.find(instance_id)
            if place is None:
                raise TaskNotFound(
                    f"expected the id of an instance of {self.name}, got {instance_id!r:.200}"
                )
            choices["split"], choices["index"] = place
        return super().choose(choices, rng, split)

    def _problem(self, split: str, number: int) -> Instance:
        return self.instances.instance(split, number)

    def _describe(
        self, split: str, number: int, problem: Instance
    ) -> tuple[str, Mapping[str, Any]]:
        content = {
            "instance": problem.id,
            "repo": problem.repo,
            "patch": problem.patch,
            "fail_to_pass": list(problem.fail_to_pass),
            "pass_to_pass": len(problem.pass_to_pass),
            "test_patch": problem.test_patch,
            **{
                key: problem.details[key]
                for key in ("kind", "difficulty")
                if key in problem.details
            },
        }
        return problem.statement, content

    def __deepcopy__(self, memo: dict[int, Any]) -> InstanceTasks:
        """Share the instances between copies of an environment."""
        return self


@dataclass(frozen=True)
class Source:
    """Where instances come from; environments with equal sources share the instances.

    Raises:
        ConfigurationError: ``data`` has the wrong type, or an option does not apply to it.
    """

    data: str | os.PathLike[str] | InstanceSet
    """``bundled`` or ``bundled-tokens``; a folder that ``agentgym swe build`` has written; a file
    or folder with rows of a published set; the name or hub id of one; or an `InstanceSet`."""
    image_mirror: str = ""
    """Registry and namespace to pull images from; empty: those that the images' names contain."""
    hidden_tests: bool | None = None
    """Whether the deciding tests are added only for grading; None: the default of the set."""
    difficulty: str | None = None
    """Keep only tasks of this level; None: all levels."""
    skip_broken_rows: bool = False
    """Whether to skip rows of a published set that cannot be used, instead of raising."""

    def __post_init__(self) -> None:
        """Validate the source."""
        if isinstance(self.data, os.PathLike):
            object.__setattr__(self, "data", os.fspath(self.data))
        if not isinstance(self.data, str) and not isinstance(self.data, InstanceSet):
            raise ConfigurationError(
                "expected data to be 'bundled', a path, the name of a data set, or an object "
                f"with splits, len, instance and find; got {self.data!r:.80}"
            )
        is_built = isinstance(self.data, str) and self.kind != "official"
        if self.skip_broken_rows and (is_built or not isinstance(self.data, str)):
            raise ConfigurationError(
                f"expected skip_broken_rows=True only with rows of a published set, got data="
                f"{self.data!r:.80}"
            )
        if not is_built and (self.hidden_tests is False or self.difficulty is not None):
            raise ConfigurationError(
                "expected hidden_tests=False and difficulty only with bundled tasks and those of "
                f"agentgym swe build, got data={self.data!r:.80}; published sets bring their tests "
                "at grading, and say nothing of difficulty"
            )

    @property
    def path(self) -> Path:
        """The data as a path."""
        return Path(str(self.data)).expanduser()

    @property
    def name(self) -> str:
        """Short name of the set."""
        if not isinstance(self.data, str):
            return "own"
        return self.data if self.data in (BUNDLED, TOKENS) else self.path.stem

    @property
    def kind(self) -> str:
        """Kind of the set: a key of :data:`TURNS`."""
        if not isinstance(self.data, str):
            return "stored"
        if self.data in (BUNDLED, TOKENS):
            return self.data
        return "stored" if (self.path / INDEX).is_file() else "official"


@cache
def open_instances(source: Source) -> InstanceSet:
    """Return the instances of a source, which are read once per process.

    Raises:
        ConfigurationError: There is no such source.
        DataError: The source cannot be read.
    """
    if isinstance(source.data, InstanceSet):
        return source.data
    hidden = source.kind != TOKENS if source.hidden_tests is None else source.hidden_tests
    if source.kind in (BUNDLED, TOKENS):
        from agentgym.envs.swe.bundled import bundled_instances

        return bundled_instances(source.kind, hidden_tests=hidden, difficulty=source.difficulty)
    if source.kind == "stored":
        from agentgym.envs.swe.stored_instances import StoredInstances

        return StoredInstances(source.path, hidden_tests=hidden, difficulty=source.difficulty)
    from agentgym.envs.swe.official.instances import OfficialInstances

    return OfficialInstances(
        str(source.data),
        image_mirror=source.image_mirror,
        skip_broken_rows=source.skip_broken_rows,
    )

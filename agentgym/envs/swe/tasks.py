"""The tasks of SWE: instances in splits that are disjoint by repository."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from agentgym.envs.swe.instance import Instance
from agentgym.errors import ConfigurationError
from agentgym.options import text
from agentgym.tasks import KEPT_TASKS, NumberedTasks, Task

BUNDLED = "bundled"
"""The instances that come with the package."""
TURNS: Mapping[str, int] = {"bundled": 12, "stored": 15, "official": 50}
"""Turns that episodes have by the kind of their set, where nobody asks for others."""


class InstanceSet(Protocol):
    """Instances in splits, from wherever they come."""

    name: str
    """Short name, which begins the ids of tasks."""
    splits: tuple[str, ...]
    """Names of the splits."""

    def len(self, split: str) -> int:
        """Return the number of instances of a split."""
        ...

    def instance(self, split: str, index: int) -> Instance:
        """Return an instance; the index is valid."""
        ...

    def find(self, instance_id: str) -> tuple[str, int] | None:
        """Return split and index of the instance with this id; None if there is none."""
        ...


class InstanceTasks(NumberedTasks[Instance]):
    """Instances as tasks.

    Ids of tasks hold numbers, since those of instances may name what is at fault.

    Args:
        instances: The instances.
        kind: What kind of set it is: a key of :data:`TURNS`.
        plan_length: Gives the length of the expert's plan.
    """

    remedy = "make the environment with the source that holds it"

    def __init__(
        self,
        instances: InstanceSet,
        kind: str,
        plan_length: Callable[[Instance], int | None] | None = None,
    ) -> None:
        super().__init__(f"swe/{instances.name}", plan_length=plan_length, kept=KEPT_TASKS)
        self.instances = instances
        self.kind = kind
        self.splits = tuple(split for split in instances.splits if instances.len(split))
        if not self.splits:
            raise ConfigurationError(f"expected instances in {instances.name}, which has none")

    def len(self, split: str) -> int:
        """Return the number of tasks in ``split``."""
        return self.instances.len(self.check(split))

    def choose(self, options: Mapping[str, Any], rng: np.random.Generator, split: str) -> Task:
        """Return the task that reset options name, or draw one.

        Args:
            options: Besides those of every task set ``instance_id``, an instance by the name that
                it has in its set.
            rng: Generator for the draw.
            split: Split to draw from if the options name none.

        Raises:
            ConfigurationError: Options contradict each other.
            TaskNotFound: The named task does not exist.
        """
        known = dict(options)
        if "instance_id" in known:
            if {"task_id", "split", "index"} & set(known):
                raise ConfigurationError(
                    "expected the reset option instance_id alone, got task_id, split or index too"
                )
            wanted = known.pop("instance_id")
            place = self.instances.find(wanted)
            known["task_id"] = wanted if place is None else self.task(*place).id
        return super().choose(known, rng, split)

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
        }
        return problem.statement, content

    def __deepcopy__(self, memo: dict[int, Any]) -> InstanceTasks:
        """Share the instances between copies of an environment."""
        return self


def check_source(value: Any) -> str:
    """Return where instances come from, as text.

    Raises:
        ConfigurationError: It is neither text nor a path.
    """
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    return text(value, "source")


@cache
def open_instances(source: str) -> tuple[InstanceSet, str]:
    """Return the instances of a source, and what kind of set they are; once for a process.

    Args:
        source: ``bundled``; a folder that ``agentgym swe build`` has written; a file of rows
            (``.jsonl``, ``.json``, ``.parquet``); or the name of a published data set.

    Raises:
        ConfigurationError: There is no such source.
        DataError: It cannot be read.
    """
    if source == BUNDLED:
        from agentgym.envs.swe.generator.bundled import bundled_instances

        return bundled_instances(), "bundled"
    path = Path(source).expanduser()
    if path.is_dir():
        from agentgym.envs.swe.generator.stored import StoredInstances

        return StoredInstances(path), "stored"
    from agentgym.envs.swe.official import open_official

    return open_official(source), "official"

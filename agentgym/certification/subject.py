"""The environment under test: its tasks, its played episodes and the time that is left."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agentgym.certification.result import NotApplicable, NotRun
from agentgym.core.env import TextEnv
from agentgym.evaluation.episode_result import EpisodeResult
from agentgym.evaluation.reports.report import Report
from agentgym.evaluation.runner import evaluate
from agentgym.interop.imported_env import ImportedEnv
from agentgym.policies.base import Policy
from agentgym.registration.making import make_named

Rows = Sequence[EpisodeResult]
MakePolicy = Callable[[], Policy]


class Budget:
    """Time for a check or for several.

    Args:
        seconds: The time.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    @property
    def left(self) -> float:
        """Seconds left, not below 0."""
        return max(0.0, self._end - time.monotonic())

    def check(self, *ignored: object) -> None:
        """Raise if the time is over; a callback for everything that reports progress.

        Raises:
            NotRun: The time is over.
        """
        if not self.left:
            raise NotRun(f"not finished within its {self.seconds:.0f} s; raise `seconds`")


@dataclass
class Subject:
    """The environment under test, as every check sees it."""

    name: str
    """Its name, as given by the user."""
    kwargs: Mapping[str, Any]
    """Its arguments."""
    env: TextEnv
    """An open environment, without wrappers."""
    counts: Mapping[str, int]
    """Number of tasks of each split that are played."""
    seed: int = 0
    """Seed of the panels and episodes."""
    horizon: int | None = None
    """Turn budget of an episode; None: the environment's own."""
    limit: float = 0.25
    """Share of the tasks that a policy which does not do the task may solve."""
    pythons: tuple[str, ...] = ()
    """Other Python interpreters."""
    reports: tuple[Report, ...] = ()
    """Evaluations of policies on this environment."""
    training: Path | None = None
    """Folder of a training in this environment."""
    earlier: Mapping[str, Any] | None = None
    """An earlier certificate, as JSON."""
    budget: Budget = field(default_factory=lambda: Budget(float("inf")))
    """Time for the running check."""
    cache: dict[object, Any] = field(default_factory=dict)
    """What several checks use, such as played episodes."""

    @property
    def n(self) -> int:
        """Number of tasks that are played."""
        return sum(self.counts.values())

    @property
    def task_ids(self) -> list[str]:
        """Ids of the tasks that are played, split by split."""
        panels = (self.env.tasks.panel(*entry, self.seed) for entry in self.counts.items())
        return [task_id for panel in panels for task_id in panel.ids]

    @property
    def panel_sha256(self) -> str:
        """Hash over the content of the tasks that are played."""
        tasks = map(self.env.tasks.find, self.task_ids)
        return hashlib.sha256("".join(task.digest() for task in tasks).encode()).hexdigest()

    def make(self) -> TextEnv:
        """Make another environment of the same name and arguments, without wrappers."""
        return make_named(self.name, self.kwargs, "env_kwargs")

    def release(self) -> None:
        """Leave the episode of ``env``; a server may have no session for another."""
        if isinstance(self.env, ImportedEnv):
            self.env.release()

    def remember(self, key: object, make: Callable[[], Any]) -> Any:
        """Return something that is made once for all checks."""
        if key not in self.cache:
            self.cache[key] = make()
        return self.cache[key]

    def rows(
        self, name: str, policy: MakePolicy, horizon: int | None = None, samples: int = 1
    ) -> Rows:
        """Play the tasks with a policy, once for all checks.

        Args:
            name: Name of the policy, under which its episodes are remembered.
            policy: Makes the policy.
            horizon: Turn budget; None: that of the certificate.
            samples: Episodes of each task.

        Raises:
            NotApplicable: The environment does not say whether a task is solved.
            NotRun: The time is over.
        """

        def play() -> Rows:
            reports = [
                evaluate(
                    policy, self.env, split, count, self.seed,
                    horizon=horizon or self.horizon, samples=samples,
                    on_episode=self.budget.check,
                )
                for split, count in self.counts.items()
            ]  # fmt: skip
            return [row for report in reports for row in report.rows]

        rows: Rows = self.remember((name, samples), play)
        if any(row.success_unknown for row in rows):
            raise NotApplicable("the environment does not say whether a task is solved")
        return rows

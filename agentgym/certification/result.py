"""The result of a check, and the two ways in which a check ends without a verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum


class Status(str, Enum):
    """The verdict of a check."""

    PASS = "pass"
    """The environment has the property, as far as these tasks show."""
    FAIL = "fail"
    """It does not; the evidence says where."""
    NOT_APPLICABLE = "not applicable"
    """The check means nothing here; the summary says why."""
    NOT_RUN = "not run"
    """The budget was spent, or something that the check needs is missing."""


@dataclass(frozen=True)
class Measured:
    """What a check returns, before its name, seed and time are added."""

    passed: bool
    """Whether the environment passed."""
    summary: str
    """What was done and measured, in a sentence."""
    n: int
    """Number of observations behind the verdict: episodes, tasks or texts, as the summary says."""
    evidence: Sequence[str] = ()
    """Failing tasks, texts or places."""


@dataclass(frozen=True)
class CheckResult:
    """The result of a check; fields of the same names are those of `Measured`."""

    check: str
    """Name of the check."""
    status: Status
    """The verdict."""
    summary: str
    n: int = 0
    seed: int = 0
    """Seed of the tasks and episodes."""
    evidence: tuple[str, ...] = ()
    seconds: float = 0.0
    """Time that it took."""


class NotApplicable(Exception):
    """The check means nothing for this environment; the message says why."""


class NotRun(Exception):
    """The check could not be finished here; the message says why."""

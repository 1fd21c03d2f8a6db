"""Replay or rescore the episodes of a file, and return the results as data.

An episode that cannot be replayed, because its task is missing or its environment fails, is counted
with the reason, and does not affect the others.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from agentgym.core.hooks import TurnReward
from agentgym.core.options import integer
from agentgym.episodes.environment_cache import EnvCache
from agentgym.episodes.exporter import new_path
from agentgym.episodes.records import Episode, read_episodes
from agentgym.episodes.replay import replay
from agentgym.episodes.rescorer import CourseChanged, Rescorer, RewardMeans
from agentgym.errors import (
    AgentGymError,
    ConfigurationError,
    DataError,
    DependencyNotInstalled,
    EnvFailure,
    TaskNotFound,
)
from agentgym.support.process_pool import in_order
from agentgym.trust import NotTrusted, granted, trusting, trusting_env

if TYPE_CHECKING:
    from typing_extensions import Self

_KINDS: tuple[tuple[type[AgentGymError], str], ...] = (
    (NotTrusted, "the record is not trusted"),
    (DependencyNotInstalled, "a package is missing"),
    (TaskNotFound, "the task is gone"),
    (DataError, "the record is damaged"),
    (EnvFailure, "the environment failed"),
    (ConfigurationError, "the environment cannot be made"),
    (AgentGymError, "the environment cannot do it"),
)
_NEVER_BEGAN = "the environment never began"


@dataclass(frozen=True)
class EpisodeChange:
    """An episode that replays differently."""

    episode: int
    """Number of the episode in the file, from 1."""
    task_id: str
    """Its task."""
    difference: str
    """The first difference from the record."""


@dataclass(frozen=True)
class Unplayed:
    """Episodes that could not be replayed for one reason."""

    reason: str
    """The kind of reason."""
    episodes: int
    """How many."""
    first: str
    """Message of the first of them; may be empty."""

    def __str__(self) -> str:
        """Return the count with an example."""
        return f"{self.reason}: {self.episodes}" + (f", first: {self.first}" if self.first else "")


@dataclass(frozen=True)
class FileReplay:
    """Whether the episodes of a file replay as recorded."""

    equal: int
    """Number of episodes that replay identically, or that were rescored."""
    changes: tuple[EpisodeChange, ...]
    """Episodes that replay differently."""
    unplayed: tuple[Unplayed, ...]
    """Episodes that cannot be replayed, by the kind of reason."""
    torn: tuple[int, ...]
    """Numbers of truncated lines, as left by a killed process."""

    @property
    def not_played(self) -> int:
        """Number of episodes that cannot be replayed."""
        return sum(group.episodes for group in self.unplayed)

    def __str__(self) -> str:
        """Return the counts, and why episodes were not played, in a sentence."""
        return self._sentence("equal")

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as JSON-safe data."""
        return {
            "equal": self.equal,
            "changed": len(self.changes),
            "not_played": self.not_played,
            "changes": [asdict(change) for change in self.changes],
            "reasons": [asdict(group) for group in self.unplayed],
            "torn_lines": [*self.torn],
        }

    def _sentence(self, verb: str) -> str:
        sentence = f"{self.equal:,} {verb}, {len(self.changes):,} changed"
        if self.unplayed:
            reasons = "; ".join(map(str, self.unplayed))
            sentence += f", {self.not_played:,} cannot be played again ({reasons})"
        return f"{sentence}."


@dataclass(frozen=True)
class FileRescore(FileReplay):
    """The rewards of the episodes of a file under another reward function."""

    before: Mapping[str, Any]
    """Means of the recorded rewards, over the rescored episodes; see `RewardMeans`."""
    after: Mapping[str, Any]
    """Means of the new rewards."""

    def __str__(self) -> str:
        """Return the counts, and why episodes were not rescored, in a sentence."""
        return self._sentence("rescored")

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as JSON-safe data."""
        return {**super().to_dict(), "before": dict(self.before), "after": dict(self.after)}


def replay_file(
    path: str | Path,
    *,
    env: str | None = None,
    max_episodes: int | None = None,
    workers: int = 1,
    on_episode: Callable[[], None] = lambda: None,
) -> FileReplay:
    """Replay the episodes of a file, each by `agentgym.episodes.replay`.

    Args:
        path: A JSONL file of episodes.
        env: ``MODULE:ID`` of the environment that was recorded, if it is one of your own.
        max_episodes: Only the first episodes; None: all.
        workers: Number of parallel processes; the result is the same.
        on_episode: Called after each episode, for progress display.

    Returns:
        The result of each episode, summarized.

    Raises:
        ConfigurationError: A number is out of range, or there is no such environment.
        DataError: The file cannot be read, or none of its episodes can be replayed.
        EnvFailure: One of several processes died.
    """
    tally = _Tally()
    for _ in _worked(
        path, partial(_Replaying, env, granted()), tally, max_episodes, workers, on_episode
    ):
        pass
    return FileReplay(*tally.fields())


def rescore_file(
    path: str | Path,
    reward_hooks: Sequence[TurnReward] = (),
    env_kwargs: Mapping[str, Any] = MappingProxyType({}),
    *,
    out: str | Path | None = None,
    env: str | None = None,
    max_episodes: int | None = None,
    workers: int = 1,
    on_episode: Callable[[], None] = lambda: None,
) -> FileRescore:
    """Rescore the episodes of a file with another reward, without a model; see `Rescorer`.

    Args:
        path: A JSONL file of episodes.
        reward_hooks: All hooks of the new reward; without any, only the family's reward remains.
        env_kwargs: Arguments of the environment that replace recorded ones. They may change
            rewards, but not the course of an episode.
        out: JSONL file for the new records, which must not exist; None: no file is written.
        env: ``MODULE:ID`` of the environment that was recorded, if it is one of your own.
        max_episodes: Only the first episodes; None: all.
        workers: Number of parallel processes; the result is the same.
        on_episode: Called after each episode, for progress display.

    Returns:
        A summary of the episodes, and the means before and after.

    Raises:
        ConfigurationError: A number is out of range, there is no such environment, or nothing can
            be written to ``out``.
        DataError: The file cannot be read, or none of its episodes can be rescored.
        EnvFailure: One of several processes died.
    """
    tally, old_means, new_means = _Tally(), RewardMeans(), RewardMeans()
    make = partial(_Rescoring, env, granted(), tuple(reward_hooks), dict(env_kwargs))
    with ExitStack() as stack:
        file = None
        if out is not None:
            scratch = stack.enter_context(new_path(out))
            file = stack.enter_context(scratch.open("x", encoding="ascii"))
        worked = _worked(path, make, tally, max_episodes, workers, on_episode)
        # Closed with the block, so that an error here ends the worker processes.
        for episode, outcome in stack.enter_context(closing(worked)):
            if outcome.new is None:
                continue
            old_means.add(episode)
            new_means.add(outcome.new)
            if file is not None:
                file.write(outcome.new.to_line())
        counts = tally.fields()  # inside the block: if it raises, the file is not published
    return FileRescore(*counts, old_means.to_dict(), new_means.to_dict())


@dataclass(frozen=True)
class _Outcome:
    """The result of one episode; with all texts empty it replayed identically, or was rescored."""

    difference: str = ""
    """The first difference from the record."""
    failed: str = ""
    """The kind of reason why it could not be replayed."""
    message: str = ""
    """The reason."""
    new: Episode | None = None
    """The episode with its new rewards."""

    @classmethod
    def of(cls, error: AgentGymError) -> _Outcome:
        """Return the result of an episode whose replay raised an error."""
        # The order of _KINDS matters: its last entry is the base class of all others.
        kind = next(name for kind, name in _KINDS if isinstance(error, kind))
        return cls(failed=kind, message=str(error))


@dataclass
class _Tally:
    """Counts the results of episodes."""

    equal: int = 0
    changes: list[EpisodeChange] = field(default_factory=list)
    failed: dict[str, list[str]] = field(default_factory=dict)
    torn: list[int] = field(default_factory=list)

    def add(self, number: int, episode: Episode, outcome: _Outcome) -> None:
        """Count an episode, by its number in the file."""
        if outcome.failed:
            self.failed.setdefault(outcome.failed, []).append(outcome.message)
        elif outcome.difference:
            self.changes.append(EpisodeChange(number, episode.task_id, outcome.difference))
        else:
            self.equal += 1

    def fields(
        self,
    ) -> tuple[int, tuple[EpisodeChange, ...], tuple[Unplayed, ...], tuple[int, ...]]:
        """Return the fields of a `FileReplay`.

        Raises:
            DataError: There was no episode, or none could be played.
        """
        unplayed = [
            Unplayed(kind, len(problems), problems[0]) for kind, problems in self.failed.items()
        ]
        if not self.equal and not self.changes:
            n, reasons = sum(group.episodes for group in unplayed), "; ".join(map(str, unplayed))
            why = f"none of {n} can be played again ({reasons})" if n else "there are none"
            raise DataError(f"expected episodes, but {why}")
        return self.equal, tuple(self.changes), tuple(unplayed), tuple(self.torn)


_Make = Callable[[], AbstractContextManager[Callable[[Episode], _Outcome]]]


def _worked(
    path: str | Path,
    make: _Make,
    tally: _Tally,
    max_episodes: int | None,
    workers: int,
    on_episode: Callable[[], None],
) -> Generator[tuple[Episode, _Outcome], None, None]:
    """Yield the episodes of a file with their results, and count them."""
    if max_episodes is not None:
        integer(max_episodes, "`max_episodes`", 1, None)
    integer(workers, "`workers`", 1, None)
    episodes = islice(read_episodes(path, on_torn=tally.torn.append), max_episodes)
    for number, (episode, outcome) in enumerate(in_order(make, episodes, workers), 1):
        tally.add(number, episode, outcome)
        yield episode, outcome
        on_episode()


class EpisodeWork:
    """Base class of functions of an episode that run in this process or in several.

    Args:
        env: Name of the user's environment, whose module registers the id in the records.
        trusted: Texts that the user trusts (`agentgym.trust.granted`), which a child process does
            not inherit.
    """

    def __init__(self, env: str | None, trusted: Sequence[str]) -> None:
        self._stack = ExitStack()
        missing = [text for text in trusted if text not in granted()]
        if missing:
            self._stack.enter_context(trusting(*missing))
        self._stack.enter_context(trusting_env(env))

    def __enter__(self) -> Self:
        """Return itself; the environments are closed at the end of the block."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close the environments."""
        self._stack.close()


class _Replaying(EpisodeWork):
    """Replays episodes."""

    def __init__(self, env: str | None, trusted: Sequence[str]) -> None:
        super().__init__(env, trusted)
        self._envs = self._stack.enter_context(EnvCache())

    def __call__(self, episode: Episode) -> _Outcome:
        """Replay an episode and compare it with the record."""
        if not episode.began:
            return _Outcome(failed=_NEVER_BEGAN)
        try:
            return _Outcome(replay(episode, self._envs.get(episode)).difference)
        except AgentGymError as error:
            self._envs.discard(episode)
            return _Outcome.of(error)


class _Rescoring(EpisodeWork):
    """Rescores episodes."""

    def __init__(
        self,
        env: str | None,
        trusted: Sequence[str],
        hooks: Sequence[TurnReward],
        settings: Mapping[str, Any],
    ) -> None:
        super().__init__(env, trusted)
        self._rescorer = self._stack.enter_context(Rescorer(hooks, settings))

    def __call__(self, episode: Episode) -> _Outcome:
        """Rescore an episode."""
        try:
            return _Outcome(new=self._rescorer(episode))
        except CourseChanged as error:
            return _Outcome(difference=str(error))
        except AgentGymError as error:
            return _Outcome.of(error)

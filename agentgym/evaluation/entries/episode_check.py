"""Check one episode of an entry: its record is what a replay of the planned episode gives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from agentgym.episodes import EnvCache, Episode, RecordedState, replay
from agentgym.episodes.file_replay import EpisodeWork
from agentgym.episodes.replay import describe_difference
from agentgym.errors import (
    ConfigurationError,
    DataError,
    DependencyNotInstalled,
    EnvFailure,
    TaskNotFound,
)
from agentgym.evaluation.episode_result import EpisodeResult
from agentgym.evaluation.plan import Job
from agentgym.trust import NotTrusted

LONGEST_WORDS = 500
"""Maximum number of characters of a difference in a message."""


class EntryRefused(DataError):
    """An entry claims what a replay does not give.

    Args:
        place: Where: a file of the entry, or ``episode N``, ``episode N, turn M``.
        field: Name of the field that differs.
        words: What was expected of the field, and what the entry says.
    """

    def __init__(self, place: str, field: str, words: str) -> None:
        super().__init__(place, field, words)
        self.place, self.field, self.words = place, field, words

    def __str__(self) -> str:
        """Return place and words."""
        return f"{self.place}: {self.words:.{LONGEST_WORDS}}"


class RecordLine(NamedTuple):
    """A line of ``episodes.jsonl``, and the episode that must stand there."""

    number: int
    """Number of the line, from 1."""
    line: bytes
    """The line."""
    job: Job
    """The planned episode."""


@dataclass(frozen=True)
class EntryFacts:
    """What all episodes of an entry share, by its report."""

    env_id: str
    """Id of the environment."""
    env_kwargs: Mapping[str, Any]
    """Its arguments."""
    policy: str
    """Name of the policy."""
    panel_sha256: str
    """Recomputed hash of the panel."""
    packages: Mapping[str, str]
    """Versions of the packages."""
    horizon: int | None
    """Turn budget; None: the environment's default."""


def expect_equal(place: str, field: str, expected: object, actual: object) -> None:
    """Check a value of an entry.

    Raises:
        EntryRefused: It is another.
    """
    if words := describe_difference(field, expected, actual):
        raise EntryRefused(place, field, words)


class EpisodeCheck(EpisodeWork):
    """Checks records, in one of several processes.

    Args:
        env: Name of the user's environment, whose module registers the id in the records.
        trusted: Texts that the user trusts.
        facts: What the episodes share.
    """

    def __init__(self, env: str | None, trusted: Sequence[str], facts: EntryFacts) -> None:
        super().__init__(env, trusted)
        self._envs = self._stack.enter_context(EnvCache())
        self._facts = facts

    def __call__(self, record: RecordLine) -> EpisodeResult:
        """Replay a record.

        Returns:
            The result of the episode.

        Raises:
            EntryRefused: The record is not the planned episode, or replays differently.
            NotTrusted: It names more than plain data.
            EnvFailure: The environment failed, which proves nothing.
            DependencyNotInstalled: The environment needs a package.
        """
        place = f"episode {record.number} ({record.job.task_id})"
        try:
            return self._check(record, place)
        except (EntryRefused, NotTrusted, DependencyNotInstalled, EnvFailure):
            raise
        except (ConfigurationError, DataError, TaskNotFound) as error:
            raise EntryRefused(place, "record", str(error)) from error

    def _check(self, record: RecordLine, place: str) -> EpisodeResult:
        text = record.line.decode("utf-8", "surrogateescape")
        episode = Episode.from_line(text)
        for field, expected, actual in self._planned(episode, record.job):
            expect_equal(place, field, expected, actual)
        tasks: Any = self._envs.get(episode).unwrapped
        labels = tasks.tasks.labels(tasks.tasks.find(record.job.task_id))
        expect_equal(place, "extra.labels", labels, episode.extra.get("labels"))
        _check_form(episode, place)
        report = replay(episode, self._envs.get(episode))
        if report.first is not None:
            where = f"{place}, {report.first.place}"
            raise EntryRefused(where, report.first.field, report.first.words)
        # Bit for bit: no key that no reader checks, none that comes twice.
        expect_equal(place, "line", episode.to_line(), text.rstrip("\n") + "\n")
        return EpisodeResult.of(episode)

    def _planned(self, episode: Episode, job: Job) -> Iterator[tuple[str, object, object]]:
        """Yield the names of fields with their planned and their recorded values."""
        facts = self._facts
        horizon = {} if facts.horizon is None else {"horizon": facts.horizon}
        kwargs = dict(episode.env_kwargs)
        if episode.reward_hooks:
            kwargs["reward_hooks"] = list(episode.reward_hooks)
        yield "task_id", job.task_id, episode.task_id
        yield "extra.sample", job.sample, episode.extra.get("sample")
        yield "seed", job.seed, episode.seed
        yield "rng", None, episode.rng
        yield "options", {"task_id": job.task_id, **horizon}, episode.options
        yield "env_id", facts.env_id, episode.env_id
        yield "env_kwargs", facts.env_kwargs, kwargs
        yield "not_stored", (), episode.not_stored
        yield "panel_sha256", facts.panel_sha256, episode.panel_sha256
        yield "policy", facts.policy, episode.policy
        yield "packages", facts.packages, episode.packages


def _check_form(episode: Episode, place: str) -> None:
    """Check that a record holds all that a replay needs, and nothing that none can prove.

    Raises:
        EntryRefused: It does not.
    """
    if not episode.began:  # nothing was played, so nothing can be claimed
        expect_equal(place, "turns", 0, len(episode.turns))
        unbegun = (RecordedState("", 0.0, 0.0, ""), "", "", None)
        claimed = (episode.start, episode.goal, episode.split, episode.rng_key)
        if unbegun != claimed:
            raise EntryRefused(place, "start", "expected no state of an episode that never began")
        return
    if episode.rng_key is None:
        raise EntryRefused(place, "rng_key", "expected rng_key, got none")
    for number, turn in enumerate(episode.turns, 1):
        if turn.reason is None:
            raise EntryRefused(f"{place}, turn {number}", "reason", "expected a reason, got none")
        if turn.verdicts:
            raise EntryRefused(
                f"{place}, turn {number}", "verdicts", "expected no verdicts: a judge's cannot "
                "be recomputed, so evaluate without judges among the reward hooks",
            )  # fmt: skip

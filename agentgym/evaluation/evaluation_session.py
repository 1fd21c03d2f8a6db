"""Play the remaining episodes of an evaluation, and save each as it ends."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import datetime, timezone
from pathlib import Path

from agentgym.episodes import append_episode
from agentgym.errors import EvaluationFailed
from agentgym.evaluation.episode_result import EpisodeResult
from agentgym.evaluation.evaluation_folder import EvaluationFolder, Key
from agentgym.evaluation.plan import Job, Plan
from agentgym.evaluation.players import JobOutcome, Player, play_all
from agentgym.evaluation.prices import Limits, Prices, Spending

PATIENCE = 20
"""Number of consecutive fruitless episodes that stops an evaluation; at least twice the number of
concurrent episodes. Episodes that an earlier session has left broken are not counted: a tenth of a
large panel may always fail, and a resumed evaluation plays them one after another."""


RAISE = "raise `total_limits` to resume the same evaluation"
"""Advice when the limit on all episodes together is reached."""


class EvaluationSession:
    """Plays the remaining episodes of an evaluation.

    Args:
        planned: All episodes.
        folder: Folder of the evaluation; None: episodes are not saved there.
        record: File to which episodes are appended; None: none.
        on_episode: Called with the result of each episode as it ends.
        limits: Limits of all episodes together, including earlier sessions.
        prices: Prices of tokens.
    """

    def __init__(
        self,
        planned: Plan,
        folder: EvaluationFolder | None,
        record: str | Path | None,
        on_episode: Callable[[EpisodeResult], None] | None,
        limits: Limits | None = None,
        prices: Prices | None = None,
    ) -> None:
        self._planned, self._folder, self._record = planned, folder, record
        self._on_episode = on_episode
        self._start_time = time.monotonic()
        self.started = datetime.now(timezone.utc).isoformat(timespec="seconds")
        self.results: dict[Key, EpisodeResult] = {}
        old_results: dict[Key, EpisodeResult] = {}
        if folder is not None:
            folder.begin(self.started)
            self.started = folder.started
            old_results = {
                key: EpisodeResult.of(episode) for key, episode in folder.episodes().items()
            }
            keys = {job.key for job in planned.jobs}
            self.results = {
                k: result for k, result in old_results.items() if result.valid and k in keys
            }
        self._broken_before = old_results.keys() - self.results.keys()
        self.limits = limits or Limits()
        # Broken episodes are played again, but their tokens have been paid for.
        self._spending = Spending(self.limits, prices, [*old_results.values()])

    @property
    def panel_sha256(self) -> str:
        """Hash of the content of the tasks."""
        return self._planned.panel_sha256

    @property
    def records(self) -> bool:
        """Whether records of episodes are needed."""
        return self._folder is not None or self._record is not None

    @property
    def todo(self) -> list[Job]:
        """The episodes that have not been played, then those that were broken."""
        jobs = [job for job in self._planned.jobs if job.key not in self.results]
        return sorted(jobs, key=lambda job: job.key in self._broken_before)

    @property
    def seconds(self) -> float:
        """Seconds since this session began."""
        return time.monotonic() - self._start_time

    @property
    def seconds_in_all(self) -> float:
        """Seconds of this session and of earlier ones that were not killed."""
        return self.seconds + (self._folder.before if self._folder else 0.0)

    @property
    def rows(self) -> tuple[EpisodeResult, ...]:
        """The results in panel order."""
        jobs = self._planned.jobs
        return tuple(self.results[job.key] for job in jobs if job.key in self.results)

    def play(self, players: Sequence[Player], todo: Sequence[Job]) -> None:
        """Play episodes; stop if too many in a row are fruitless (`EpisodeResult.fruitless`).

        Raises:
            EvaluationFailed: Too many episodes in a row were fruitless.
        """
        # Concurrent episodes may all fail of one temporary cause, so allow for two rounds of them.
        patience, failed = max(PATIENCE, 2 * len(players)), 0
        if self._on_episode:
            for result in self.rows:
                self._on_episode(result)
        try:
            # Closing the generator stops the other episodes and their threads, also on an error.
            with closing(play_all(players, todo, self._spending)) as outcomes:
                for outcome in outcomes:
                    self._keep(outcome)
                    if not outcome.result.fruitless:
                        failed = 0
                    elif outcome.job.key not in self._broken_before:
                        failed += 1
                    if failed >= patience:
                        raise self._failure(
                            f"the last {failed} episodes all failed", outcome.result
                        )
        finally:
            if self._folder is not None:
                self._folder.pause(self.seconds_in_all)
        if not self.results:
            raise EvaluationFailed(
                f"expected episodes, but the limit on all of them together, {self.limits}, was "
                f"already reached: {RAISE}"
            )
        if all(result.fruitless for result in self.results.values()):
            raise self._failure(f"all {len(self.results)} failed; first", self.rows[0])

    @property
    def unfinished(self) -> str:
        """Why some episodes were not played; empty if all were."""
        if not self.todo:
            return ""
        return f"the limit on all episodes together, {self.limits}, is reached: {RAISE}"

    def _keep(self, outcome: JobOutcome) -> None:
        self.results[outcome.job.key] = outcome.result
        if outcome.episode is not None and self._folder is not None:
            self._folder.append(outcome.episode)
        if outcome.episode is not None and self._record is not None:
            append_episode(self._record, outcome.episode)
        if self._on_episode:
            self._on_episode(outcome.result)

    def _failure(self, problem: str, example: EpisodeResult) -> EvaluationFailed:
        remark = ""
        if self._folder is not None:
            broken = any(not result.valid for result in self.results.values())
            remark = (
                f"; {len(self.results)} of {len(self._planned.jobs)} episodes are saved in "
                f"{self._folder.path}"
                f"{', and the same call plays the broken ones again' if broken else ''}"
            )
        return EvaluationFailed(f"expected episodes, but {problem}: {example.error}{remark}")

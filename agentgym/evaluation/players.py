"""Play the episodes of an evaluation concurrently."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from queue import SimpleQueue
from typing import Any, NamedTuple

import gymnasium

from agentgym.agents import play_agent
from agentgym.core.hooks import HookRunner
from agentgym.core.outcome import StopReason
from agentgym.episodes import Episode, Recorder
from agentgym.errors import PolicyFailure
from agentgym.evaluation.episode_result import EpisodeResult, Tally
from agentgym.evaluation.plan import Job
from agentgym.evaluation.policy_maker import Agent
from agentgym.evaluation.policy_sources import GuardedPolicy
from agentgym.evaluation.prices import Limits, Prices, Spending
from agentgym.policies.base import ModelOutput
from agentgym.policies.invalid_streak import InvalidStreak
from agentgym.policies.play import Moment, play

POLL = 0.05
"""Interval in seconds at which stopped episodes are checked and interrupted again."""


class JobOutcome(NamedTuple):
    """The result and the record of a job."""

    job: Job
    """The planned episode."""
    result: EpisodeResult
    """Its result."""
    episode: Episode | None
    """Its record, if records are needed."""


@dataclass(frozen=True)
class EpisodeRules:
    """Settings that apply to every episode."""

    horizon: int | None = None
    """Turn budget; None: the environment's default."""
    limits: Limits = field(default_factory=Limits)
    """Limits on tokens and cost of an episode."""
    prices: Prices | None = None
    """Prices of tokens."""
    end_after_invalid: int = 0
    """Number of consecutive invalid actions that ends an episode; 0: no limit."""
    labels: Callable[[str], Mapping[str, str]] = lambda task_id: {}
    """Returns the labels of a task."""
    on_output: Callable[[ModelOutput], None] | None = None
    """Called with each model output, in the thread of its episode."""


class Player:
    """A policy or agent with its environment; plays one episode at a time.

    Args:
        policy: The policy; None if an agent plays.
        agent: The agent; None if a policy plays.
        env: The environment, in a `Recorder` if records are wanted.
        rules: Settings that apply to every episode.
    """

    def __init__(
        self,
        policy: GuardedPolicy | None,
        agent: Agent | None,
        env: gymnasium.Env[str, str] | Recorder,
        rules: EpisodeRules,
    ) -> None:
        self._policy, self._agent, self._env, self._rules = policy, agent, env, rules
        self._recorder = env if isinstance(env, Recorder) else None

    def play(self, job: Job, stop: threading.Event) -> JobOutcome | None:
        """Play an episode; return None if it was stopped."""
        rules = self._rules
        options: dict[str, Any] = {"task_id": job.task_id}
        if rules.horizon is not None:
            options["horizon"] = rules.horizon
        labels = dict(rules.labels(job.task_id))
        tally = Tally(job.task_id, job.sample, labels)
        streak = InvalidStreak(rules.end_after_invalid)

        def listen(output: ModelOutput) -> None:
            tally.ask(output)
            if rules.on_output is not None:
                rules.on_output(output)
            if self._recorder is not None:
                self._recorder.annotate_output(output)

        def end_when(moment: Moment) -> str:
            if stop.is_set():
                return StopReason.STOPPED.value
            over_limit = rules.limits.reached(tally.tokens, rules.prices).value
            return streak.end_when(moment) or over_limit

        for moment in self._moments(job.seed, options, listen, end_when, stop):
            tally.add(moment)
        if stop.is_set():
            return None
        self._end(moment)
        result = tally.result(moment)
        if self._recorder is None or self._recorder.last is None:
            return JobOutcome(job, result, None)
        episode = self._recorder.last
        extra = {**episode.extra, "sample": job.sample, "labels": labels}
        return JobOutcome(job, result, replace(episode, extra=extra))

    def interrupt(self) -> None:
        """Interrupt the waits of the policy and of judges, from any thread."""
        if self._policy is not None:
            self._policy.interrupt()
        if isinstance(hooks := getattr(self._env.unwrapped, "hooks", None), HookRunner):
            hooks.interrupt()

    def _moments(
        self,
        seed: int,
        options: dict[str, Any],
        listen: Callable[[ModelOutput], None],
        end_when: Callable[[Moment], str],
        stop: threading.Event,
    ) -> Iterable[Moment]:
        """Play an episode with the policy or the agent."""
        settings: dict[str, Any] = {
            "seed": seed, "options": options, "on_output": listen, "end_when": end_when,
        }  # fmt: skip
        if self._agent is not None:
            return play_agent(self._agent, self._env, **settings, cancelled=stop.is_set)
        assert self._policy is not None
        self._policy.seed(seed)
        return play(self._policy, self._env, **settings)

    def _end(self, last: Moment) -> None:
        """Close the record of an episode that the environment did not end."""
        if self._recorder is not None:
            failed = isinstance(last.failure, PolicyFailure)
            reason = StopReason.ERROR.value if failed else str(last.info.get("stop_reason", ""))
            self._recorder.end(reason, str(last.failure) if failed else last.words)


def play_all(
    players: Sequence[Player], jobs: Sequence[Job], spending: Spending
) -> Generator[JobOutcome, None, None]:
    """Play jobs concurrently, and yield the outcomes as episodes end.

    Closing the generator interrupts waits, and stops the running episodes at their next turn.

    Args:
        players: The players, one per concurrent episode.
        jobs: Episodes to play, started in this order.
        spending: Counts tokens and cost; when its limit is reached, no further episode begins.

    Yields:
        The outcomes; with one player, in the order of the jobs.
    """
    stop = threading.Event()
    if len(players) == 1:
        for job in jobs:
            if spending.reached:
                return
            outcome = players[0].play(job, stop)
            assert outcome is not None  # without threads, nothing can have stopped it
            spending.add(outcome.result)
            yield outcome
        return
    free: SimpleQueue[Player] = SimpleQueue()
    for player in players:
        free.put(player)

    def episode(job: Job) -> JobOutcome | None:
        player = free.get()
        try:
            # Check the limit when the episode begins: all jobs are in the pool from the start.
            outcome = None if spending.reached else player.play(job, stop)
            if outcome is not None:
                spending.add(outcome.result)
            return outcome
        finally:
            free.put(player)

    pool = ThreadPoolExecutor(len(players), thread_name_prefix="agentgym-episode")
    futures: list[Future[JobOutcome | None]] = []
    try:
        futures += [pool.submit(episode, job) for job in jobs]
        for future in as_completed(futures):
            outcome = future.result()
            if outcome is not None:
                yield outcome
    finally:
        stop.set()
        pool.shutdown(wait=False, cancel_futures=True)
        # Repeatedly, because an episode may begin to wait just after an interrupt.
        while not all(future.done() for future in futures):
            for player in players:
                player.interrupt()
            time.sleep(POLL)
        pool.shutdown()

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
"""Seconds between two looks at episodes that are stopped."""


class JobOutcome(NamedTuple):
    """What became of a job: its result, and its episode."""

    job: Job
    """What was to be played."""
    result: EpisodeResult
    """How it went."""
    episode: Episode | None
    """Its record, if one was asked for."""


@dataclass(frozen=True)
class EpisodeRules:
    """What holds for every episode."""

    horizon: int | None = None
    """Turn budget; None is the environment's own."""
    limits: Limits = field(default_factory=Limits)
    """What an episode may take at most."""
    prices: Prices | None = None
    """What its tokens cost."""
    end_after_invalid: int = 0
    """Consecutive invalid actions that end it; 0: no limit."""
    labels: Callable[[str], Mapping[str, str]] = lambda task_id: {}
    """Returns the kinds that a task is of."""
    on_output: Callable[[ModelOutput], None] | None = None
    """Called with what a model produced, in the thread of its episode."""


class Player:
    """A policy, or an agent that owns the loop, at an environment; it plays one episode at a time.

    Args:
        policy: The policy; None if an agent plays.
        agent: The agent; None if a policy plays.
        env: The environment, in a `Recorder` if records are wanted.
        rules: What holds for every episode.
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
        """Play an episode; None if it was stopped."""
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
        """End what the policy waits for, and judges of its turns, from any thread."""
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
        """Let the policy, or the agent, play an episode."""
        how: dict[str, Any] = {
            "seed": seed, "options": options, "on_output": listen, "end_when": end_when,
        }  # fmt: skip
        if self._agent is not None:
            return play_agent(self._agent, self._env, **how, cancelled=stop.is_set)
        assert self._policy is not None
        self._policy.seed(seed)
        return play(self._policy, self._env, **how)

    def _end(self, last: Moment) -> None:
        """Close the record of an episode that the environment did not end."""
        if self._recorder is not None:
            failed = isinstance(last.failure, PolicyFailure)
            reason = StopReason.ERROR.value if failed else str(last.info.get("stop_reason", ""))
            self._recorder.end(reason, str(last.failure) if failed else last.words)


def play_all(
    players: Sequence[Player], jobs: Sequence[Job], spending: Spending
) -> Generator[JobOutcome, None, None]:
    """Let players play jobs, and yield what was played as it ends.

    Whoever closes the generator stops the episodes at their next turn, and what they wait for.

    Args:
        players: They play at the same time.
        jobs: Episodes to play; begun in this order.
        spending: Counts what they take; once its limit is reached, none begins any more.

    Yields:
        The episodes; with one player in the order of the jobs.
    """
    stop = threading.Event()
    if len(players) == 1:
        for job in jobs:
            if spending.reached:
                return
            outcome = players[0].play(job, stop)
            assert outcome is not None  # nobody else could have stopped it
            spending.add(outcome.result)
            yield outcome
        return
    free: SimpleQueue[Player] = SimpleQueue()
    for player in players:
        free.put(player)

    def episode(job: Job) -> JobOutcome | None:
        player = free.get()
        try:
            # Asked here, where it begins: all jobs wait in the pool from the start.
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
        while not all(future.done() for future in futures):  # one may just have begun to wait
            for player in players:
                player.interrupt()
            time.sleep(POLL)
        pool.shutdown()

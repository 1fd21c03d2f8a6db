"""Evaluation on fixed panels: scores with confidence intervals, n and the panel's hash."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, NamedTuple

import gymnasium

from agentgym.episodes import Episode, Recorder, append_episode
from agentgym.errors import ConfigurationError, EnvFailure
from agentgym.isolated import IsolatedEnv
from agentgym.options import check_seed, choice
from agentgym.playing import play
from agentgym.policies.base import Policy
from agentgym.policies.basic import OraclePolicy, RandomPolicy
from agentgym.policies.blind import BLIND, FITTED, UNFITTED, blind_policy, fit_blind
from agentgym.policies.loading import DEMONSTRATIONS, demonstrate
from agentgym.statistics import (
    Estimate,
    mean_ci95,
    paired_difference,
    scaled,
    wilson_ci95,
)
from agentgym.vector.backends import BACKENDS, backend_session, cpus
from agentgym.vector.episode import derive_seed
from agentgym.vector.ray_actors import cluster_cpus

if TYPE_CHECKING:
    from rich.table import Table

__all__ = [
    "BACKENDS",
    "DEMONSTRATIONS",
    "EpisodeResult",
    "Estimate",
    "Report",
    "Row",
    "demonstrate",
    "evaluate",
    "mean_ci95",
    "paired_difference",
    "scaled",
    "wilson_ci95",
]


THREADS = 8
"""Episodes played at the same time by the thread back end, unless told otherwise."""


@dataclass(frozen=True)
class EpisodeResult:
    """One episode of an evaluation."""

    task_id: str
    """The task."""
    score: float
    """Final score in [0, 1]."""
    success: bool
    """Whether the task was solved."""
    turns: int
    """Turns taken."""
    reward: float
    """Sum of rewards."""
    stop_reason: str
    """Why the episode ended; ``error`` if the environment failed."""
    error: str = ""
    """What failed, if anything."""
    invalid: int | None = None
    """Turns whose action was invalid; None where that was not counted."""


Row = EpisodeResult
"""The name of `EpisodeResult` in earlier versions."""


@dataclass(frozen=True)
class Report:
    """Result of `evaluate`. Episodes whose environment failed are listed but not averaged."""

    env_id: str
    """The environment."""
    policy: str
    """Name of the policy."""
    split: str
    """Split of the panel."""
    seed: int
    """Seed of the panel and of the episodes."""
    panel_sha256: str
    """Hash over the content of the panel's tasks."""
    rows: tuple[EpisodeResult, ...]
    """The episodes, in panel order."""

    @property
    def valid(self) -> list[EpisodeResult]:
        """Episodes that count: those whose environment did not fail."""
        return [row for row in self.rows if row.stop_reason != "error"]

    @property
    def n(self) -> int:
        """Number of episodes that count."""
        return len(self.valid)

    @property
    def errors(self) -> int:
        """Number of episodes whose environment failed."""
        return len(self.rows) - self.n

    @property
    def score(self) -> Estimate:
        """Mean final score with its interval."""
        return mean_ci95([row.score for row in self.valid], (0.0, 1.0))

    @property
    def score_mean(self) -> float:
        """Mean final score."""
        return self.score.value

    @property
    def score_ci95(self) -> tuple[float, float]:
        """95 % interval of the mean score."""
        return self.score.low, self.score.high

    @property
    def success(self) -> float:
        """Share of solved tasks."""
        return self._success.value

    @property
    def success_ci95(self) -> tuple[float, float]:
        """95 % interval of the share of solved tasks."""
        return self._success.low, self._success.high

    @property
    def _success(self) -> Estimate:
        return wilson_ci95(sum(row.success for row in self.valid), self.n)

    @property
    def turns_mean(self) -> float:
        """Mean number of turns."""
        return sum(row.turns for row in self.valid) / self.n

    @property
    def invalid_share(self) -> float | None:
        """Share of turns whose action was invalid; None where that was not counted."""
        counted = [row for row in self.valid if row.invalid is not None]
        turns = sum(row.turns for row in counted)
        return sum(row.invalid or 0 for row in counted) / turns if turns else None

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON-safe data, with every episode under ``rows``."""
        return {
            "env_id": self.env_id,
            "policy": self.policy,
            "split": self.split,
            "seed": self.seed,
            "panel_sha256": self.panel_sha256,
            "n": self.n,
            "errors": self.errors,
            "score_mean": self.score_mean,
            "score_ci95": list(self.score_ci95),
            "success": self.success,
            "success_ci95": list(self.success_ci95),
            "turns_mean": self.turns_mean,
            "invalid_share": self.invalid_share,
            "rows": [asdict(row) for row in self.rows],
        }

    def _invalid_note(self) -> str:
        share = self.invalid_share
        return f", {share:.1%} of them with an invalid action" if share else ""

    def table(self) -> Table:
        """Return the summary as a rich table of two columns."""
        from rich.table import Table

        table = Table(title=f"{self.policy} on {self.env_id}", show_header=False)
        score, success = self.score, self._success
        cells = {
            "score": f"{score.value:.3f}  [{score.low:.3f}, {score.high:.3f}]",
            "success": f"{success.value:.3f}  [{success.low:.3f}, {success.high:.3f}]",
            "turns": f"{self.turns_mean:.1f}" + self._invalid_note(),
            "episodes": f"{self.n}" + (f" ({self.errors} failed)" if self.errors else ""),
            "panel": f"{self.split}, seed {self.seed}, sha256 {self.panel_sha256[:16]}",
        }
        for name, cell in cells.items():
            table.add_row(name, cell.replace("[", r"\["))
        return table


def evaluate(
    policy: Policy | Callable[[], Policy] | str,
    env: gymnasium.Env[str, str] | str,
    split: str = "test",
    n: int | None = 100,
    seed: int = 0,
    *,
    horizon: int | None = None,
    env_kwargs: Mapping[str, Any] | None = None,
    record: str | Path | None = None,
    on_episode: Callable[[EpisodeResult], None] | None = None,
    backend: str = "sync",
    workers: int | None = None,
    step_timeout: float | None = None,
) -> Report:
    """Play a policy on the fixed panel ``env.unwrapped.tasks.panel(split, n, seed)``.

    The report, the file of records and the calls of ``on_episode`` are in panel order and the same
    on every back end.

    Args:
        policy: A policy, a function or class that makes one, or ``"random"``, ``"oracle"`` or the
            name of a blind one (`agentgym.policies.BLIND`; those that are fitted are on what
            `demonstrate` returns). It is given the part of the info dict that
            `agentgym.policies.PUBLIC_INFO` lists.
        env: A text environment, or the id of one (then it is made and closed here).
        split: Split to evaluate on.
        n: Number of tasks, cut to the split's size; None is the whole split.
        seed: Seed of the panel, of the episodes and of the random policy.
        horizon: Turn budget; None is the environment's own.
        env_kwargs: Keyword arguments for an environment given by id.
        record: JSONL file to which every episode is appended, see `agentgym.episodes`.
        on_episode: Called after each episode, for progress display.
        backend: ``"sync"``, or ``"thread"``, ``"process"`` or ``"ray"``: then every environment
            has a thread, process or Ray actor of its own, and whatever fails in it costs one
            episode.
        workers: Episodes played at the same time by those; default: 8 threads, or one process or
            actor per CPU. ``"oracle"``, blind policies and a function that makes policies can do
            so. ``"random"``, whose draws follow each other through the panel, and a policy that is
            already made play one episode at a time.
        step_timeout: Seconds that one step of an environment may take on those.

    Returns:
        The report.

    Raises:
        ConfigurationError: An argument is out of its domain.
        TaskNotFound: There is no such split.
        EnvFailure: The environment failed in every episode, or the policy's endpoint did.
    """
    check_seed(seed)
    _check_backend(backend, workers, step_timeout)
    with ExitStack() as stack:
        stack.enter_context(backend_session(backend))
        made: Any = env
        if isinstance(env, str):
            made = gymnasium.make(env, **dict(env_kwargs or {}))
            stack.callback(made.close)
        tasks = made.unwrapped.tasks
        size = tasks.len(split)
        panel = tasks.panel(split, size if n is None else min(n, size), seed)
        make_policy, name, several = _named(policy, made, seed)
        players: list[_Player] = []
        for _ in range(min(workers or _default_workers(backend), len(panel)) if several else 1):
            played = made
            if backend != "sync":
                played = IsolatedEnv(made.spec or made.unwrapped.spec, backend, step_timeout)
                stack.callback(played.close)
            recorder = None
            if record is not None:
                recorder = Recorder(played, None, panel_sha256=panel.sha256, policy=name)
            players.append(_Player(make_policy(played), recorder or played, recorder))
        rows: list[EpisodeResult] = []
        played_in_order = stack.enter_context(closing(_in_order(players, panel.ids, seed, horizon)))
        for row, episode in played_in_order:
            rows.append(row)
            if record is not None and episode is not None:
                append_episode(record, episode)
            if on_episode:
                on_episode(row)
    if all(row.stop_reason == "error" for row in rows):
        raise EnvFailure(f"expected episodes, but all {len(rows)} failed; first: {rows[0].error}")
    env_id = made.spec.id if made.spec else type(made.unwrapped).__name__
    return Report(env_id, name, split, seed, panel.sha256, tuple(rows))


def _check_backend(backend: str, workers: int | None, step_timeout: float | None) -> None:
    choice(backend, "backend", BACKENDS)
    if backend == "sync" and (workers not in (None, 1) or step_timeout is not None):
        raise ConfigurationError(
            "expected the back end thread, process or ray with workers or step_timeout, got sync, "
            "which plays one episode after the other in this thread; add --backend thread "
            "(backend=)"
        )
    for name, value in (("workers", workers), ("step_timeout", step_timeout)):
        if value is not None and not value > 0:
            raise ConfigurationError(f"expected {name} to be greater than 0, got {value}")


def _default_workers(backend: str) -> int:
    if backend == "process":
        return cpus()
    if backend == "ray":
        return cluster_cpus()
    return THREADS if backend == "thread" else 1


def _named(
    policy: Policy | Callable[[], Policy] | str, env: gymnasium.Env[str, str], seed: int
) -> tuple[Callable[[gymnasium.Env[str, str]], Policy], str, bool]:
    """Return what makes the policy of an environment, its name, and whether it may make several."""
    if policy == "random":
        return lambda env: RandomPolicy(seed), "random", False
    if policy == "oracle":
        return OraclePolicy, "oracle", True
    if isinstance(policy, str) and policy in UNFITTED:
        return lambda env: blind_policy(policy, seed), policy, True
    if isinstance(policy, str) and policy in FITTED:
        episodes = demonstrate(env, seed=seed)
        return lambda env: fit_blind(policy, episodes), policy, True
    if isinstance(policy, Policy) and not isinstance(policy, type):
        made: Policy = policy
        return lambda env: made, type(policy).__name__, False
    if isinstance(policy, str) or not callable(policy):
        raise _no_policy(policy)
    try:
        first = policy()
    except TypeError as error:  # a policy function of (observation, info), most likely
        raise _no_policy(policy) from error
    if not isinstance(first, Policy):
        raise _no_policy(first)
    waiting, make = [first], policy
    return lambda env: waiting.pop() if waiting else make(), type(first).__name__, True


def _no_policy(given: Any) -> ConfigurationError:
    return ConfigurationError(
        "expected a policy with act(observation, info), what makes one, 'random', 'oracle' or one "
        f"of {', '.join(BLIND)}, got {given!r:.80}; wrap a function in CallablePolicy"
    )


class _Player(NamedTuple):
    """A policy at an environment; it plays one episode at a time."""

    policy: Policy
    env: gymnasium.Env[str, str]
    recorder: Recorder | None


def _in_order(
    players: Sequence[_Player], task_ids: Sequence[str], seed: int, horizon: int | None
) -> Generator[tuple[EpisodeResult, Episode | None], None, None]:
    """Let the players play the tasks, and yield what happened in the order of the tasks."""
    jobs = [(task_id, derive_seed(seed, index)) for index, task_id in enumerate(task_ids)]
    stop = threading.Event()
    if len(players) == 1:
        for job in jobs:
            yield _episode(players[0], *job, horizon, stop)
        return
    free: SimpleQueue[_Player] = SimpleQueue()
    for player in players:
        free.put(player)

    def episode(task_id: str, episode_seed: int) -> tuple[EpisodeResult, Episode | None]:
        player = free.get()
        try:
            return _episode(player, task_id, episode_seed, horizon, stop)
        finally:
            free.put(player)

    pool = ThreadPoolExecutor(len(players), thread_name_prefix="agentgym-episode")
    try:
        for future in [pool.submit(episode, *job) for job in jobs]:
            yield future.result()
    finally:
        # After an error or Ctrl-C the episodes that run stop at their next turn.
        stop.set()
        pool.shutdown(cancel_futures=True)


def _episode(
    player: _Player, task_id: str, seed: int, horizon: int | None, stop: threading.Event
) -> tuple[EpisodeResult, Episode | None]:
    options: dict[str, Any] = {"task_id": task_id}
    if horizon is not None:
        options["horizon"] = horizon
    annotate = partial(_annotate, player.recorder) if player.recorder else None
    total, invalid = 0.0, 0
    for moment in play(player.policy, player.env, seed=seed, options=options, on_output=annotate):
        if moment.action is not None and moment.failure is None:
            total += moment.reward
            invalid += not moment.info["action_valid"]
        if stop.is_set():
            break
    info, failure = moment.info, moment.failure
    row = EpisodeResult(
        task_id,
        float(info.get("score", 0.0)),
        bool(info["success"]) if failure is None else False,
        int(info.get("turn", 0)),
        total,
        str(info["stop_reason"]) if failure is None else "error",
        "" if failure is None else str(failure),
        invalid if info else None,  # nothing is counted of an episode that did not begin
    )
    return row, player.recorder.last if player.recorder else None


def _annotate(recorder: Recorder, output: Any) -> None:
    recorder.annotate(
        output.text,
        output.prompt_tokens,
        output.completion_tokens,
        cached_tokens=output.cached_tokens,
        reasoning_tokens=output.reasoning_tokens,
        reasoning=output.reasoning or None,
        finish_reason=output.finish_reason or None,
    )

"""Evaluation on fixed panels: scores with confidence intervals, n and the panel's hash."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np

from agentgym.episodes.recorder import Recorder
from agentgym.errors import ConfigurationError, EnvFailure
from agentgym.policies.base import Policy, begin, public_info
from agentgym.policies.oracle import OraclePolicy
from agentgym.policies.random import RandomPolicy
from agentgym.statistics import (
    Estimate,
    mean_ci95,
    paired_difference,
    scaled,
    wilson_ci95,
)

if TYPE_CHECKING:
    from rich.table import Table

__all__ = [
    "Estimate",
    "Report",
    "Row",
    "evaluate",
    "mean_ci95",
    "paired_difference",
    "scaled",
    "wilson_ci95",
]


@dataclass(frozen=True)
class Row:
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
    rows: tuple[Row, ...]
    """The episodes, in panel order."""

    @property
    def valid(self) -> list[Row]:
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
        """Return the report as JSON-safe data.

        Returns:
            The summary, and every episode under ``rows``.
        """
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
        """Return the summary as a rich table.

        Returns:
            A table of two columns, to be printed on a rich console.
        """
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
    policy: Policy | str,
    env: gymnasium.Env[str, str] | str,
    split: str = "test",
    n: int | None = 100,
    seed: int = 0,
    *,
    horizon: int | None = None,
    env_kwargs: Mapping[str, Any] | None = None,
    record: str | Path | None = None,
    on_episode: Callable[[Row], None] | None = None,
) -> Report:
    """Play a policy on the fixed panel ``env.unwrapped.tasks.panel(split, n, seed)``.

    Args:
        policy: A policy, or ``"random"`` or ``"oracle"``. It is given the part of the info dict
            that `agentgym.policies.PUBLIC_INFO` lists.
        env: A text environment, or the id of one (then it is made and closed here).
        split: Split to evaluate on.
        n: Number of tasks, cut to the split's size; None is the whole split.
        seed: Seed of the panel, of the episodes and of the random policy.
        horizon: Turn budget; None is the environment's own.
        env_kwargs: Keyword arguments for an environment given by id.
        record: JSONL file to which every episode is appended, see `agentgym.episodes`.
        on_episode: Called after each episode, for progress display.

    Returns:
        The report.

    Raises:
        ConfigurationError: If an argument is out of its domain.
        TaskNotFound: If there is no such split.
        EnvFailure: If the environment failed in every episode, or the policy's endpoint did.
    """
    check_seed(seed)
    made: Any = gymnasium.make(env, **dict(env_kwargs or {})) if isinstance(env, str) else env
    try:
        tasks = made.unwrapped.tasks
        size = tasks.len(split)
        panel = tasks.panel(split, size if n is None else min(n, size), seed)
        player, name = _named(policy, made, seed)
        played = made
        if record is not None:
            played = Recorder(made, record, panel_sha256=panel.sha256, policy=name)
        rows: list[Row] = []
        for index, task_id in enumerate(panel.ids):
            rows.append(_episode(player, played, task_id, _derive(seed, index), horizon))
            if on_episode:
                on_episode(rows[-1])
    finally:
        if made is not env:
            made.close()
    if all(row.stop_reason == "error" for row in rows):
        raise EnvFailure(f"expected episodes, but all {len(rows)} failed; first: {rows[0].error}")
    env_id = made.spec.id if made.spec else type(made.unwrapped).__name__
    return Report(env_id, name, split, seed, panel.sha256, tuple(rows))


def check_seed(seed: int) -> int:
    """Return a seed of episodes or panels.

    Args:
        seed: The seed.

    Returns:
        The same.

    Raises:
        ConfigurationError: It is negative, which generators do not take.
    """
    if seed < 0:
        raise ConfigurationError(f"expected a seed of at least 0, got {seed}")
    return seed


def _named(policy: Policy | str, env: gymnasium.Env[str, str], seed: int) -> tuple[Policy, str]:
    if policy == "random":
        return RandomPolicy(seed), "random"
    if policy == "oracle":
        return OraclePolicy(env), "oracle"
    if isinstance(policy, str) or not isinstance(policy, Policy):
        raise ConfigurationError(
            "expected a policy with act(observation, info), 'random' or 'oracle', "
            f"got {policy!r:.80}; wrap a function in CallablePolicy"
        )
    return policy, type(policy).__name__


def _derive(seed: int, index: int) -> int:
    return int(np.random.SeedSequence([seed, index]).generate_state(1)[0])


def _episode(
    policy: Policy, env: gymnasium.Env[str, str], task_id: str, seed: int, horizon: int | None
) -> Row:
    options: dict[str, Any] = {"task_id": task_id}
    if horizon is not None:
        options["horizon"] = horizon
    total, invalid, over, info = 0.0, 0, False, {"turn": 0, "score": 0.0}
    try:
        observation, info = env.reset(seed=seed, options=options)
    except EnvFailure as failure:
        return Row(task_id, 0.0, False, 0, 0.0, "error", str(failure))
    begin(policy, observation, public_info(info))
    while not over:
        action = policy.act(observation, public_info(info))
        output = getattr(policy, "last_output", None)
        if output is not None and isinstance(env, Recorder):
            env.annotate(output.text, output.prompt_tokens, output.completion_tokens)
        try:
            observation, reward, terminated, truncated, info = env.step(action)
        except EnvFailure as failure:
            turns, score = int(info["turn"]), float(info["score"])
            return Row(task_id, score, False, turns, total, "error", str(failure), invalid)
        total += float(reward)
        invalid += not info["action_valid"]
        over = terminated or truncated
    return Row(
        task_id, float(info["score"]), bool(info["success"]), int(info["turn"]), total,
        str(info["stop_reason"]), invalid=invalid,
    )  # fmt: skip

"""Check that the expert solves the tasks, and that idle, blind and transcribing policies do not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import gymnasium

from agentgym.core import guard
from agentgym.core.options import integer
from agentgym.core.oracle import OraclePolicy
from agentgym.core.outcome import StopReason, ending_words
from agentgym.errors import ConfigurationError, NotSupported, PolicyStopped
from agentgym.evaluation.demonstrations import demonstrate
from agentgym.evaluation.episode_result import EpisodeResult
from agentgym.evaluation.policy_maker import PolicyMaker
from agentgym.evaluation.policy_names import load_policy
from agentgym.evaluation.reports.report_tables import html
from agentgym.evaluation.runner import evaluate
from agentgym.policies.base import Policy
from agentgym.policies.blind import FITTED, UNFITTED, ConstantPolicy, blind_policy, fit_blind
from agentgym.policies.transcriber import TRANSCRIBERS, Transcriber
from agentgym.registration.making import make_named
from agentgym.support.repeated_tracebacks import tracebacks_once
from agentgym.support.statistics import Estimate, wilson_ci95
from agentgym.support.terminal import cell

if TYPE_CHECKING:
    from rich.table import Table

    from agentgym.core.env import TextEnv

Rows = Sequence[EpisodeResult]
Players = Mapping[str, Callable[[], Policy]]

IDLE_TURNS = 3
"""Number of turns of the idle policy, if no action ends an episode."""
HEADER = (
    "split", "tasks", "solved by the expert", "solved by doing nothing", "best blind policy",
    "best transcriber", "turns",
)  # fmt: skip
"""Columns of the table of a validation."""


@dataclass(frozen=True)
class Finding:
    """A problem found in a task or split."""

    subject: str
    """Id of the task, or the split, as ``split test``."""
    problem: str
    """What is wrong."""

    def __str__(self) -> str:
        """Return both in one sentence."""
        return f"{self.subject}: {self.problem}"


@dataclass(frozen=True)
class BlindResult:
    """Result of the best blind policy, or of the best transcriber, on a split."""

    policy: str
    """Name of the policy."""
    share: Estimate
    """Share of the tasks that it solves, with its 95 % interval."""
    n: int
    """Tasks that each blind policy played."""

    def __str__(self) -> str:
        """Return the policy and its share."""
        value, low, high = self.share
        return f"{self.policy} {value:.3f} [{low:.3f}, {high:.3f}]"


@dataclass(frozen=True)
class SplitValidation:
    """Results of the checks of a split."""

    split: str
    """The split."""
    n: int
    """Tasks that were checked."""
    solved: int | None
    """Number of tasks that the expert solves; None if there is no expert."""
    idle: int
    """Number of tasks that are solved by doing nothing."""
    blind: BlindResult | None
    """Result of the best blind policy; None if blind policies were left out."""
    transcriber: BlindResult | None
    """Result of the best transcriber, which only rearranges the words of a task; None likewise."""
    turns: tuple[int, int]
    """Minimum and maximum number of turns of the expert."""
    failing: tuple[Finding, ...]
    """The tasks that fail."""


@dataclass(frozen=True, repr=False)
class Validation:
    """Result of `agentgym.validate`."""

    family: str
    """Class of the environment."""
    blind_limit: float
    """Share of a split that a blind policy may solve."""
    splits: tuple[SplitValidation, ...]
    """Results of each split."""

    @property
    def n(self) -> int:
        """Tasks that were checked."""
        return sum(split.n for split in self.splits)

    @property
    def failing(self) -> tuple[Finding, ...]:
        """The tasks that fail, by their ids."""
        return tuple(finding for split in self.splits for finding in split.failing)

    @property
    def unsound(self) -> tuple[Finding, ...]:
        """The splits that a blind policy solves, or whose solvability is unverified."""
        return tuple(finding for split in self.splits for finding in self._of_split(split))

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All problems found."""
        return self.failing + self.unsound

    @property
    def passed(self) -> bool:
        """Whether there are no findings."""
        return not self.findings

    def table(self) -> Table:
        """Return the results of each split as a rich table."""
        from rich.table import Table

        table = Table(*HEADER)
        for line in self._lines():
            table.add_row(*map(cell, line))
        return table

    def __str__(self) -> str:
        """Return the outcome in a sentence."""
        return f"{self.n:,} tasks checked, {len(self.failing):,} fail."

    def __repr__(self) -> str:
        """Return one line."""
        return f"<Validation of {self.family}: {'passed' if self.passed else 'failed'}; {self}>"

    def _repr_html_(self) -> str:
        rows = [
            "<tr>" + "".join(f"<{tag}>{html(text)}</{tag}>" for text in line) + "</tr>"
            for tag, line in (("th", HEADER), *(("td", line) for line in self._lines()))
        ]
        findings = "".join(f"<li>{html(str(finding))}</li>" for finding in self.findings)
        return f"<table>{''.join(rows)}</table><p>{self}</p><ul>{findings}</ul>"

    def _lines(self) -> Iterator[tuple[str, ...]]:
        for split in self.splits:
            expert, turns = "no expert", ""
            if split.solved is not None:
                expert, turns = f"{split.solved:,}", "{} to {}".format(*split.turns)
            floors = (str(split.blind or "not played"), str(split.transcriber or "not played"))
            yield split.split, f"{split.n:,}", expert, f"{split.idle:,}", *floors, turns

    def _of_split(self, split: SplitValidation) -> Iterator[Finding]:
        """Yield the problems of a split as a whole."""
        for floor, verb, why in (
            (split.blind, "reads no word", "the list of admissible actions gives these tasks away"),
            (split.transcriber, "only copies words of the task", "copying them is paid"),
        ):
            # The lower end of the interval, so that the excess is significant.
            if floor is not None and floor.share.low > self.blind_limit:
                yield Finding(
                    f"split {split.split}",
                    f"{floor.policy}, which {verb}, solves {floor.share.value:.3f} of {floor.n} "
                    f"tasks, more than `blind_limit` {self.blind_limit:g}; {why}",
                )
        if split.solved is None:
            yield Finding(
                f"split {split.split}",
                f"{self.family} has no expert: nothing shows that the tasks of {split.split} can "
                "be solved",
            )


def validate(
    env: gymnasium.Env[str, str] | str,
    split: str | Sequence[str] = (),
    num_tasks: int | None = None,
    seed: int = 0,
    *,
    env_kwargs: Mapping[str, Any] | None = None,
    blind_tasks: int = 50,
    blind_limit: float = 0.25,
    concurrency: int = 1,
    on_episode: Callable[[EpisodeResult], None] | None = None,
    on_plan: Callable[[int], None] = lambda episodes: None,
) -> Validation:
    """Check tasks: the expert solves all, an idle policy none, a blind policy or transcriber few.

    Args:
        env: A text environment, or its short name, id or ``MODULE:ID``, from which it is made.
        split: Split to check, or several. Default: all.
        num_tasks: Tasks to check of each split, drawn by the seed. Default: all.
        seed: Seed of the choice.
        env_kwargs: Keyword arguments for an environment given by name.
        blind_tasks: Maximum number of tasks of each split for each blind policy
            (`agentgym.policies.BLIND`) and each transcriber (`agentgym.policies.TRANSCRIBERS`),
            which only rearranges the words of a task; 0 leaves them out.
        blind_limit: Maximum share of a split that a blind policy or a transcriber may solve. The
            check fails if the share and its 95 % interval are above this.
        concurrency: Episodes played at the same time, above 1 each in a thread.
        on_episode: Called after each episode, for progress display.
        on_plan: Called before the first episode with the total number of episodes.

    Returns:
        The results of the checks.

    Raises:
        ConfigurationError: An argument is invalid.
        TaskNotFound: There is no such split.
        EvaluationFailed: The environment fails in nearly every episode.
    """
    _check(num_tasks, concurrency, blind_tasks, blind_limit)
    with ExitStack() as stack:
        if isinstance(env, str):
            env = make_named(env, env_kwargs or {}, "env_kwargs")
            stack.callback(env.close)
        stack.enter_context(tracebacks_once(guard.logger))
        text_env: Any = env.unwrapped
        named = [split] if isinstance(split, str) else split
        splits = [text_env.tasks.check(name) for name in named] or [*text_env.tasks.splits]
        panels = _Panels(env, num_tasks, seed, blind_tasks, concurrency, on_episode)
        players = panels.blind_players()
        on_plan(sum(panels.episodes(name, len(players)) for name in splits))
        validations = tuple(_validated(panels, name, players) for name in splits)
    return Validation(type(text_env).__name__, blind_limit, validations)


def _check(num_tasks: int | None, concurrency: int, blind_tasks: int, blind_limit: float) -> None:
    """Check the ranges of numbers."""
    for name, value, low in (
        ("num_tasks", num_tasks, 1),
        ("concurrency", concurrency, 1),
        ("blind_tasks", blind_tasks, 0),
    ):
        if value is not None:
            integer(value, f"`{name}`", low, None)
    if not 0 <= blind_limit <= 1:
        raise ConfigurationError(
            f"expected `blind_limit` to be a share from 0 to 1, got {blind_limit!r:.80}"
        )


def _validated(panels: _Panels, split: str, players: Players) -> SplitValidation:
    """Check a split."""
    expert, nothing = panels.expert(split), panels.nothing(split)
    solved, idle = (sum(row.success for row in rows) for rows in (expert, nothing))
    turns = [row.turns for row in expert]
    return SplitValidation(
        split,
        len(expert),
        None if _no_expert(expert) else solved,
        idle,
        *panels.best_blind(split, players),
        (min(turns), max(turns)),
        tuple(_failures(expert, nothing)),
    )


class _Expert(OraclePolicy):
    """The expert; where it knows no action it ends the episode, so that the check continues."""

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        """Return the expert's next action.

        Raises:
            PolicyStopped: The expert knows no action.
        """
        try:
            return super().act(observation, info)
        except NotSupported as error:
            raise PolicyStopped(StopReason.STOPPED.value) from error


@dataclass(frozen=True)
class _Panels:
    """Plays the tasks of an environment with one policy after the other."""

    env: gymnasium.Env[str, str]
    num_tasks: int | None
    seed: int
    blind_tasks: int
    concurrency: int
    on_episode: Callable[[EpisodeResult], None] | None

    def expert(self, split: str) -> Rows:
        """Play the tasks of a split with the expert."""
        return self._play(
            replace(load_policy("oracle", self.env), make=_Expert), split, self.num_tasks
        )

    def episodes(self, split: str, players: int) -> int:
        """Return the number of episodes to play in a split with ``players`` blind policies."""
        task_count: int = self.env.unwrapped.tasks.len(split)  # type: ignore[attr-defined]  # as above
        return 2 * min(task_count, self.num_tasks or task_count) + players * min(
            task_count, self._most_blind
        )

    def nothing(self, split: str) -> Rows:
        """Play with an idle policy: it ends the episode at once if it can, else sends no text."""
        idle = idle_action(self.env.unwrapped)  # type: ignore[arg-type]  # of text environments
        horizon = None if idle else IDLE_TURNS
        return self._play(lambda: ConstantPolicy(idle), split, self.num_tasks, horizon)

    def blind_players(self) -> Players:
        """Return functions that make the blind policies, by name; empty if ``blind_tasks`` is 0.

        Fitted policies are only included if there is an expert.
        """
        if self.blind_tasks == 0:
            return {}
        players: dict[str, Callable[[], Policy]] = {
            name: partial(blind_policy, name, self.seed) for name in UNFITTED
        }
        text_env: Any = self.env.unwrapped
        players |= {name: partial(Transcriber, name, text_env) for name in TRANSCRIBERS}
        players |= {name: partial(make, text_env) for name, make in text_env.blind_policies.items()}
        with suppress(NotSupported):
            demonstrations = demonstrate(self.env, self._most_blind, self.seed)
            players |= {name: partial(fit_blind, name, demonstrations) for name in FITTED}
        return players

    def best_blind(
        self, split: str, players: Players
    ) -> tuple[BlindResult | None, BlindResult | None]:
        """Return the results of the best blind policy and of the best transcriber, or None."""
        blind: list[BlindResult] = []
        transcribers: list[BlindResult] = []
        for name, make in players.items():
            rows = self._play(make, split, self._most_blind)
            share = wilson_ci95(sum(row.success for row in rows), len(rows))
            results = transcribers if name in TRANSCRIBERS else blind
            results.append(BlindResult(name, share, len(rows)))
        return _best(blind), _best(transcribers)

    @property
    def _most_blind(self) -> int:
        return min(self.blind_tasks, self.num_tasks or self.blind_tasks)

    def _play(
        self,
        policy: Callable[[], Policy] | PolicyMaker,
        split: str,
        num_tasks: int | None,
        horizon: int | None = None,
    ) -> Rows:
        placement: dict[str, Any] = {}
        if self.concurrency > 1:
            placement = {"backend": "thread", "concurrency": self.concurrency}
        settings: dict[str, Any] = {"horizon": horizon, "on_episode": self.on_episode, **placement}
        return evaluate(policy, self.env, split, num_tasks, self.seed, **settings).rows


def _best(results: Sequence[BlindResult]) -> BlindResult | None:
    return max(results, key=lambda result: result.share.value, default=None)


def idle_action(env: TextEnv) -> str:
    """Return an action that ends an episode at once, in the environment's grammar.

    It is the family's terminal action without parameters; empty if there is none.
    """
    for spec in env.action_specs:
        if spec.terminal and not spec.params:
            return env.language.write(spec.templates[0])
    return ""


def _no_expert(rows: Rows) -> bool:
    """Return whether the expert knew no action in any task."""
    return all(row.stop_reason == StopReason.STOPPED and row.turns == 0 for row in rows)


def _failures(expert: Rows, nothing: Rows) -> Iterator[Finding]:
    """Yield the tasks that the expert does not solve, and those that the idle policy solves."""
    no_expert = _no_expert(expert)
    for row, idle in zip(expert, nothing, strict=True):
        problems = []
        if not row.success and not no_expert:
            end = f"the expert's episode ended ({ending_words(row.stop_reason, row.success)})"
            problems.append(f"{end}: {row.error}" if row.error else end)
        if idle.success:
            problems.append("doing nothing solves it")
        if idle.error:
            problems.append(f"doing nothing fails: {idle.error}")
        if problems:
            yield Finding(row.task_id, "; ".join(problems))

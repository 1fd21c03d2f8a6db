"""``agentgym validate``: whether tasks can be solved, and not by doing nothing or unread."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from agentgym.cli.arguments import Validate
from agentgym.core.oracle import OraclePolicy
from agentgym.core.outcome import StopReason, reason_words
from agentgym.errors import ConfigurationError, NotSupported, PolicyStopped
from agentgym.making import make_env, parse_pairs, resolve
from agentgym.policies.base import Policy
from agentgym.policies.blind import FITTED, UNFITTED, ConstantPolicy, blind_policy, fit_blind
from agentgym.support.terminal import cell, printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID

    from agentgym.core.env import TextEnv
    from agentgym.evaluation import EpisodeResult, Estimate
    from agentgym.evaluation.policy_maker import PolicyMaker

IDLE_TURNS = 3
"""Turns after which doing nothing has been tried, where no action ends an episode by itself."""
SHOWN = 20
"""Most failing tasks that are shown; the file has all."""


def idle_action(env: TextEnv) -> str:
    """Return the action that ends an episode with nothing done, in the environment's grammar.

    It is the one that ends an episode and takes no parameters, if the family has such an action.
    """
    for spec in env.action_specs:
        if spec.terminal and not spec.params:
            return env.language.write(spec.templates[0])
    return ""


@dataclass(frozen=True)
class Failure:
    """A task that is not as it should be."""

    task_id: str
    """The task."""
    problem: str
    """What is wrong."""


@dataclass(frozen=True)
class BlindResult:
    """What the blind policy that solves most of a split solves of it."""

    split: str
    """The split."""
    policy: str
    """Name of the policy."""
    share: Estimate
    """Share of the tasks that it solves, with its 95 % interval."""
    n: int
    """Tasks that each blind policy played."""

    def fails(self, limit: float) -> bool:
        """Tell whether it solves more than a limit, and not by chance."""
        return self.share.low > limit

    def cell(self) -> str:
        """Return the policy and its share, for people."""
        share = self.share
        return f"{self.policy} {share.value:.3f} [{share.low:.3f}, {share.high:.3f}]"


def validate(command: Validate, console: Console) -> int:
    """Check tasks, show what was found, and return 1 if any fails."""
    from rich.progress import Progress
    from rich.table import Table

    _check(command)
    _write(command, [])  # before a long run, not after it
    env = make_env(resolve(command.env)[1], parse_pairs(command.set, "--set"), "--set")
    table = Table(
        "split", "tasks", "solved by the expert", "solved by doing nothing", "best blind policy",
        "turns",
    )  # fmt: skip
    failing: list[Failure] = []
    blind: list[BlindResult] = []
    unsolved: list[str] = []
    try:
        splits = [env.tasks.check(split) for split in command.split] or [*env.tasks.splits]
        sizes = [_size(env, split, command.n) for split in splits]
        with Progress(console=console, transient=True) as bar:
            panels = _Panels(env, command, bar, bar.add_task("episodes", total=None))
            players = panels.blind_players()
            for split in splits:
                expert, nothing = panels.expert(split), panels.nothing(split)
                best = panels.best_blind(split, players)
                blind += [best] if best else []
                table.add_row(*map(cell, (split, *_cells(expert, nothing, best))))
                failing += _failures(expert, nothing)
                unsolved += [split] if _no_expert(expert) else []
    finally:
        env.close()
    console.print(table)
    _tell(failing, console)
    _write(command, failing)
    too_easy = [result for result in blind if result.fails(command.blind_limit)]
    _tell_blind(too_easy, command.blind_limit, console)
    if unsolved:
        told = f"{type(env).__name__} has no expert: nothing shows that the tasks of "
        console.print(f"{told}{', '.join(unsolved)} can be solved", markup=False, soft_wrap=True)
    console.print(f"{sum(sizes):,} tasks checked, {len(failing):,} fail.")
    return int(bool(failing or too_easy or unsolved))


def _check(command: Validate) -> None:
    """Refuse numbers that are out of range.

    Raises:
        ConfigurationError: One is.
    """
    for name, value in (("--n", command.n), ("--concurrency", command.concurrency)):
        if value is not None and value < 1:
            raise ConfigurationError(f"expected {name} to be at least 1, got {value}")
    if command.blind_n < 0:
        raise ConfigurationError(f"expected --blind-n to be at least 0, got {command.blind_n}")
    if not 0 <= command.blind_limit <= 1:
        raise ConfigurationError(
            f"expected --blind-limit to be a share from 0 to 1, got {command.blind_limit}"
        )


def _size(env: TextEnv, split: str, n: int | None) -> int:
    size = env.tasks.len(split)
    return size if n is None else min(n, size)


class _Expert(OraclePolicy):
    """The expert, who leaves a task where it knows no action, so that the others are checked."""

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        """Return the expert's next action.

        Raises:
            PolicyStopped: There is none.
        """
        try:
            return super().act(observation, info)
        except NotSupported as error:
            raise PolicyStopped(StopReason.STOPPED.value) from error


def _no_expert(played: Sequence[EpisodeResult]) -> bool:
    """Return whether the expert knew no action in any task."""
    return all(row.stop_reason == StopReason.STOPPED and row.turns == 0 for row in played)


class _Panels:
    """Plays the tasks of an environment with one policy after the other."""

    def __init__(self, env: TextEnv, command: Validate, bar: Progress, shown: TaskID) -> None:
        self._env = env
        self._command = command
        self._advance: Callable[[EpisodeResult], None] = lambda row: bar.advance(shown)
        self._blind_n = min(command.blind_n, command.n or command.blind_n)

    def expert(self, split: str) -> Sequence[EpisodeResult]:
        """Let the expert play."""
        from agentgym.evaluation.policy_names import load_policy

        maker = replace(load_policy("oracle", self._env), make=_Expert)
        return self._play(maker, split, self._command.n)

    def nothing(self, split: str) -> Sequence[EpisodeResult]:
        """Let nobody play: end an episode at once where an action does that, else say nothing."""
        idle = idle_action(self._env)
        horizon = None if idle else IDLE_TURNS
        return self._play(lambda: ConstantPolicy(idle), split, self._command.n, horizon)

    def blind_players(self) -> dict[str, Callable[[], Policy]]:
        """Make the blind policies; none where none were asked for.

        Those that are fitted need an expert to learn from.
        """
        from agentgym.evaluation import demonstrate

        if self._command.blind_n == 0:
            return {}
        seed = self._command.seed
        players: dict[str, Callable[[], Policy]] = {
            name: partial(blind_policy, name, seed) for name in UNFITTED
        }
        with suppress(NotSupported):
            shown = demonstrate(self._env, self._blind_n, seed)
            players |= {name: partial(fit_blind, name, shown) for name in FITTED}
        return players

    def best_blind(
        self, split: str, players: Mapping[str, Callable[[], Policy]]
    ) -> BlindResult | None:
        """Return what the blind policy that solves most solves, or None where there are none."""
        from agentgym.evaluation import wilson_ci95

        found = []
        for name, make in players.items():
            rows = self._play(make, split, self._blind_n)
            share = wilson_ci95(sum(row.success for row in rows), len(rows))
            found.append(BlindResult(split, name, share, len(rows)))
        return max(found, key=lambda result: result.share.value, default=None)

    def _play(
        self,
        policy: Callable[[], Policy] | PolicyMaker,
        split: str,
        n: int | None,
        horizon: int | None = None,
    ) -> Sequence[EpisodeResult]:
        from agentgym.evaluation import evaluate

        where: dict[str, Any] = {}
        if self._command.concurrency > 1:
            where = {"backend": "thread", "concurrency": self._command.concurrency}
        seed = self._command.seed
        report = evaluate(
            policy, self._env, split, n, seed, horizon=horizon, on_episode=self._advance, **where
        )
        return report.rows


def _cells(
    expert: Sequence[EpisodeResult], nothing: Sequence[EpisodeResult], blind: BlindResult | None
) -> tuple[str, ...]:
    """Return the counts of a split."""
    turns = [row.turns for row in expert]
    solved, idle = (f"{sum(row.success for row in rows):,}" for rows in (expert, nothing))
    best = blind.cell() if blind else "not played"
    if _no_expert(expert):
        return f"{len(expert):,}", "no expert", idle, best, ""
    return f"{len(expert):,}", solved, idle, best, f"{min(turns)} to {max(turns)}"


def _failures(expert: Sequence[EpisodeResult], nothing: Sequence[EpisodeResult]) -> list[Failure]:
    """Return the tasks that the expert, if there is one, does not solve, or that nobody has to."""
    found, no_expert = [], _no_expert(expert)
    for played, idle in zip(expert, nothing, strict=True):
        problems = []
        if not played.success and not no_expert:
            end = f"the expert's episode ended ({reason_words(played.stop_reason)})"
            problems.append(f"{end}: {played.error}" if played.error else end)
        if idle.success:
            problems.append("doing nothing solves it")
        if idle.error:
            problems.append(f"doing nothing fails: {idle.error}")
        if problems:
            found.append(Failure(played.task_id, "; ".join(problems)))
    return found


def _tell(failing: Sequence[Failure], console: Console) -> None:
    """Show what fails."""
    for entry in failing[:SHOWN]:
        told = printable(f"{entry.task_id}: {entry.problem}")
        console.print(told, markup=False, soft_wrap=True)
    if len(failing) > SHOWN:
        console.print(f"... and {len(failing) - SHOWN:,} more")


def _tell_blind(too_easy: Sequence[BlindResult], limit: float, console: Console) -> None:
    """Show the splits that a policy solves without reading."""
    for result in too_easy:
        console.print(
            f"split {result.split}: {result.policy}, which reads no word, solves "
            f"{result.share.value:.3f} of {result.n} tasks, more than --blind-limit {limit:g}; "
            "what the actions give away decides these tasks",
            markup=False,
            soft_wrap=True,
        )


def _write(command: Validate, failing: Sequence[Failure]) -> None:
    """Write the ids of failing tasks to the file that was asked for."""
    if command.failing is None:
        return
    try:
        command.failing.write_text("".join(f"{entry.task_id}\n" for entry in failing), "utf-8")
    except OSError as error:
        raise ConfigurationError(
            f"expected a file that can be written, got {command.failing}: {error.strerror}"
        ) from error

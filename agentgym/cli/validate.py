"""``agentgym validate``: whether tasks can be solved, and not by doing nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentgym.cli.arguments import Validate
from agentgym.errors import ConfigurationError
from agentgym.making import make_env, parse_pairs, resolve

if TYPE_CHECKING:
    from rich.console import Console

    from agentgym.core import TextEnv
    from agentgym.evaluation import EpisodeResult

IDLE_TURNS = 3
"""Turns after which doing nothing has been tried, where no action ends an episode by itself."""
SHOWN = 20
"""Most failing tasks that are shown; the file has all."""


class IdlePolicy:
    """Do nothing: end the episode at once where an action does that, else say nothing.

    Args:
        action: The action that ends an episode; empty where there is none.
    """

    def __init__(self, action: str = "") -> None:
        self._action = action

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        """Return the action."""
        return self._action


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


def validate(command: Validate, console: Console) -> int:
    """Check tasks, show what was found, and return 1 if any fails."""
    from rich.progress import Progress
    from rich.table import Table

    for name, value in (("--n", command.n), ("--jobs", command.jobs)):
        if value is not None and value < 1:
            raise ConfigurationError(f"expected {name} to be at least 1, got {value}")
    _write(command, [])  # before a long run, not after it
    env = make_env(resolve(command.env)[1], parse_pairs(command.set, "--set"), "--set")
    table = Table("split", "tasks", "solved by the expert", "solved by doing nothing", "turns")
    failing: list[Failure] = []
    try:
        splits = [env.tasks.check(split) for split in command.split] or [*env.tasks.splits]
        sizes = [_size(env, split, command.n) for split in splits]
        with Progress(console=console, transient=True) as bar:
            shown = bar.add_task("episodes", total=2 * sum(sizes))
            for split in splits:
                expert, nothing = _play(env, command, split, lambda row: bar.advance(shown))
                table.add_row(split, *_cells(expert, nothing))
                failing += _failures(expert, nothing)
    finally:
        env.close()
    console.print(table)
    _tell(failing, console)
    _write(command, failing)
    console.print(f"{sum(sizes):,} tasks checked, {len(failing):,} fail.")
    return int(bool(failing))


def _size(env: TextEnv, split: str, n: int | None) -> int:
    size = env.tasks.len(split)
    return size if n is None else min(n, size)


def _play(
    env: TextEnv, command: Validate, split: str, on_episode: Callable[[EpisodeResult], None]
) -> tuple[Sequence[EpisodeResult], Sequence[EpisodeResult]]:
    """Let the expert, and nobody, play the tasks of a split."""
    from agentgym.evaluation import evaluate

    idle = idle_action(env)
    common: dict[str, Any] = {"on_episode": on_episode}
    if command.jobs > 1:
        common |= {"backend": "thread", "workers": command.jobs}
    panel = (env, split, command.n, command.seed)
    expert = evaluate("oracle", *panel, **common)
    horizon = None if idle else IDLE_TURNS
    nothing = evaluate(lambda: IdlePolicy(idle), *panel, horizon=horizon, **common)
    return expert.rows, nothing.rows


def _cells(expert: Sequence[EpisodeResult], nothing: Sequence[EpisodeResult]) -> tuple[str, ...]:
    """Return the counts of a split."""
    turns = [row.turns for row in expert]
    solved = [sum(row.success for row in rows) for rows in (expert, nothing)]
    return f"{len(expert):,}", *(f"{count:,}" for count in solved), f"{min(turns)} to {max(turns)}"


def _failures(expert: Sequence[EpisodeResult], nothing: Sequence[EpisodeResult]) -> list[Failure]:
    """Return the tasks that the expert does not solve, or that nobody has to."""
    found = []
    for played, idle in zip(expert, nothing, strict=True):
        problems = []
        if not played.success:
            end = f"the expert's episode ends by {played.stop_reason}"
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
        console.print(f"{entry.task_id}: {entry.problem}", markup=False, soft_wrap=True)
    if len(failing) > SHOWN:
        console.print(f"... and {len(failing) - SHOWN:,} more")


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

"""``agentgym replay``: prove that recorded episodes play as they did, or rescore them."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

from agentgym.cli.arguments import Replay
from agentgym.cli.recorded import progress, say, torn_note
from agentgym.errors import (
    AgentGymError,
    ConfigurationError,
    DataError,
    DependencyNotInstalled,
    EnvFailure,
    TaskNotFound,
)
from agentgym.making import parse_pairs, resolve

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from agentgym.episodes import Episode

_KINDS: tuple[tuple[type[AgentGymError], str], ...] = (
    (DependencyNotInstalled, "a package is missing"),
    (TaskNotFound, "the task is gone"),
    (DataError, "the record is damaged"),
    (EnvFailure, "the environment failed"),
    (ConfigurationError, "the environment cannot be made"),
    (AgentGymError, "the environment cannot do it"),
)
_NEVER_BEGAN = "the environment never began"


@dataclass
class _Tally:
    """What became of the episodes of a file."""

    equal: int = 0
    """Played as they did, or rescored."""
    changed: list[dict[str, Any]] = field(default_factory=list)
    """Played differently: number in the file, task id and first difference."""
    failed: dict[str, list[str]] = field(default_factory=dict)
    """Could not be played: the messages, by the kind of reason."""
    torn: list[int] = field(default_factory=list)
    """Numbers of lines that break off."""

    @property
    def unplayed(self) -> int:
        """How many could not be played."""
        return sum(map(len, self.failed.values()))

    def fail(self, error: AgentGymError) -> None:
        """Count an episode that could not be played."""
        kind = next(name for cls, name in _KINDS if isinstance(error, cls))
        self.failed.setdefault(kind, []).append(str(error))

    def change(self, number: int, episode: Episode, difference: str) -> None:
        """Count an episode that plays differently."""
        self.changed.append(
            {"episode": number, "task_id": episode.task_id, "difference": difference}
        )

    def reasons(self) -> str:
        """Say why episodes could not be played: a count and an example for each kind."""
        parts = [
            f"{kind}: {len(messages)}" + (f", first: {messages[0]}" if messages[0] else "")
            for kind, messages in self.failed.items()
        ]
        return "; ".join(parts)

    def to_dict(self) -> dict[str, Any]:
        """Return the tally as JSON-safe data."""
        kinds = [
            {"reason": kind, "episodes": len(messages), "first": messages[0]}
            for kind, messages in self.failed.items()
        ]
        return {
            "equal": self.equal,
            "changed": len(self.changed),
            "not_played": self.unplayed,
            "changes": self.changed,
            "reasons": kinds,
            "torn_lines": self.torn,
        }

    def check_any(self) -> None:
        """Refuse a file of which nothing could be played.

        Raises:
            DataError: There was no episode, or none could be played.
        """
        if not self.equal and not self.changed:
            why = f"none of {self.unplayed} can be played again ({self.reasons()})"
            raise DataError(f"expected episodes, but {why if self.unplayed else 'there are none'}")


def replay(command: Replay, console: Console) -> int:
    """Carry out the command; return 1 if an episode has changed."""
    if command.limit is not None and command.limit < 1:
        raise ConfigurationError(f"expected --limit to be at least 1, got {command.limit}")
    if command.env is not None:
        resolve(command.env)  # its module registers the id that the records name
    if command.rescore:
        return _rescore(command, console)
    given = {"--hooks": command.hooks, "--set": command.set, "--output": command.output}
    if unused := [flag for flag, value in given.items() if value]:
        raise ConfigurationError(
            f"expected --rescore with {', '.join(unused)}, got a replay, which computes no new "
            "rewards: add --rescore"
        )
    return _replay(command, console)


def _replay(command: Replay, console: Console) -> int:
    from agentgym.episodes import EnvCache
    from agentgym.episodes.replay import replay as play_again

    tally = _Tally()
    with EnvCache() as envs:
        for number, episode in _episodes(command, console, tally):
            if not episode.began:
                tally.failed.setdefault(_NEVER_BEGAN, []).append("")
                continue
            try:
                report = play_again(episode, envs.get(episode))
            except AgentGymError as error:
                envs.discard(episode)
                tally.fail(error)
                continue
            if report.equal:
                tally.equal += 1
            else:
                tally.change(number, episode, report.difference)
    tally.check_any()
    if command.json:
        sys.stdout.write(json.dumps(tally.to_dict(), indent=2) + "\n")
    else:
        _tell(tally, console, "equal")
    return int(bool(tally.changed))


def _episodes(command: Replay, console: Console, tally: _Tally) -> Iterator[tuple[int, Episode]]:
    """Yield the episodes, numbered from 1, under a progress bar."""
    from agentgym.episodes import read_episodes

    found = read_episodes(command.file, on_torn=tally.torn.append)
    what = "rescoring" if command.rescore else "playing again"
    with progress(command.file, console, what, silent=command.json, limit=command.limit) as advance:
        for number, episode in enumerate(islice(found, command.limit), 1):
            yield number, episode
            advance()


def _tell(tally: _Tally, console: Console, done: str) -> None:
    """Say what became of the episodes."""
    for change in tally.changed:
        say(console, "episode {episode} ({task_id}): {difference}".format_map(change))
    counts = f"{tally.equal:,} {done}, {len(tally.changed):,} changed"
    if tally.failed:
        counts += f", {tally.unplayed:,} cannot be played again ({tally.reasons()})"
    say(console, f"{counts}.{torn_note(tally.torn)}")


def _rescore(command: Replay, console: Console) -> int:
    """Write records with new rewards, and compare the means."""
    from agentgym.episodes import Rescorer, RewardMeans
    from agentgym.episodes.exporting import new_path
    from agentgym.episodes.rescoring import CourseChanged
    from agentgym.rewards import parse_hooks

    hooks, settings = parse_hooks(command.hooks), parse_pairs(command.set, "--set")
    tally, before, after = _Tally(), RewardMeans(), RewardMeans()
    with ExitStack() as stack:
        file = None
        if command.output is not None:
            scratch = stack.enter_context(new_path(command.output))
            file = stack.enter_context(scratch.open("x", encoding="ascii"))
        rescore = stack.enter_context(Rescorer(hooks, settings))
        for number, episode in _episodes(command, console, tally):
            try:
                new = rescore(episode)
            except CourseChanged as error:
                tally.change(number, episode, str(error))
                continue
            except AgentGymError as error:
                tally.fail(error)
                continue
            tally.equal += 1
            before.add(episode)
            after.add(new)
            if file is not None:
                file.write(new.to_line())
        tally.check_any()
    means = {"before": before.to_dict(), "after": after.to_dict()}
    if command.json:
        sys.stdout.write(json.dumps({**tally.to_dict(), **means}, indent=2) + "\n")
        return int(bool(tally.changed))
    if tally.equal:
        console.print(_table(means["before"], means["after"]))
    _tell(tally, console, "rescored")
    return int(bool(tally.changed))


def _table(before: Mapping[str, Any], after: Mapping[str, Any]) -> Table:
    """Compare the means per episode."""
    from rich.table import Table

    table = Table("mean of an episode", "before", "after")
    for name in ("return", "score", "success"):
        table.add_row(name, f"{before[name]:.4f}", f"{after[name]:.4f}")
    table.add_section()
    for name in dict.fromkeys([*before["terms"], *after["terms"]]):
        cells = [f"{terms[name]:.4f}" if name in terms else "" for terms in _terms(before, after)]
        table.add_row(f"term {name}".replace("[", r"\["), *cells)
    return table


def _terms(*means: Mapping[str, Any]) -> list[Mapping[str, float]]:
    return [mean["terms"] for mean in means]

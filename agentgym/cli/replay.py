"""``agentgym replay``: prove that recorded episodes play as they did, or rescore them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from agentgym.cli.arguments import Replay
from agentgym.cli.record_files import episodes_file, progress, say, torn_note
from agentgym.cli.replaying import Replaying, ReplayOutcome, Rescoring
from agentgym.cli.workers import in_order
from agentgym.errors import ConfigurationError, DataError
from agentgym.making import resolve
from agentgym.support.terminal import cell

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from agentgym.episodes import Episode


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

    def add(self, number: int, episode: Episode, outcome: ReplayOutcome) -> None:
        """Count an episode, by its number in the file."""
        if outcome.failed:
            self.failed.setdefault(outcome.failed, []).append(outcome.message)
        elif outcome.difference:
            self.changed.append(
                {
                    "episode": number,
                    "task_id": episode.task_id,
                    "difference": outcome.difference,
                }
            )
        else:
            self.equal += 1

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
    if command.workers < 1:
        raise ConfigurationError(f"expected --workers to be at least 1, got {command.workers}")
    if command.env is not None:
        resolve(command.env)  # its module registers the id that the records name
    command = replace(command, file=episodes_file(command.file))
    if command.rescore:
        return _rescore(command, console)
    given = {"--hooks": command.hooks, "--set": command.set, "--out": command.out}
    if unused := [flag for flag, value in given.items() if value]:
        raise ConfigurationError(
            f"expected --rescore with {', '.join(unused)}, got a replay, which computes no new "
            "rewards: add --rescore"
        )
    return _replay(command, console)


def _replay(command: Replay, console: Console) -> int:
    tally = _Tally()
    for _ in _outcomes(command, console, tally, partial(Replaying, command)):
        pass
    tally.check_any()
    if command.json:
        sys.stdout.write(json.dumps(tally.to_dict(), indent=2) + "\n")
    else:
        _tell(tally, console, "equal")
    return int(bool(tally.changed))


def _outcomes(
    command: Replay,
    console: Console,
    tally: _Tally,
    make: Callable[[], Replaying | Rescoring],
) -> Generator[tuple[Episode, ReplayOutcome], None, None]:
    """Yield the episodes and what became of them, counted, under a progress bar."""
    from agentgym.episodes import read_episodes

    found = islice(read_episodes(command.file, on_torn=tally.torn.append), command.limit)
    what = "rescoring" if command.rescore else "playing again"
    with progress(command.file, console, what, silent=command.json, limit=command.limit) as advance:
        for number, (episode, outcome) in enumerate(in_order(make, found, command.workers), 1):
            tally.add(number, episode, outcome)
            yield episode, outcome
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
    from agentgym.episodes import RewardMeans
    from agentgym.episodes.exporter import new_path

    Rescoring(command)  # says what is wrong with it before a file is made
    tally, before, after = _Tally(), RewardMeans(), RewardMeans()
    with ExitStack() as stack:
        file = None
        if command.out is not None:
            scratch = stack.enter_context(new_path(command.out))
            file = stack.enter_context(scratch.open("x", encoding="ascii"))
        outcomes = _outcomes(command, console, tally, partial(Rescoring, command))
        for episode, outcome in stack.enter_context(closing(outcomes)):
            if outcome.new is None:
                continue
            before.add(episode)
            after.add(outcome.new)
            if file is not None:
                file.write(outcome.new.to_line())
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
        table.add_row(cell(f"term {name}"), *cells)
    return table


def _terms(*means: Mapping[str, Any]) -> list[Mapping[str, float]]:
    return [mean["terms"] for mean in means]

"""Episode records: one JSON line each, in a versioned format."""

from __future__ import annotations

import json
import logging
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any, TypedDict

from agentgym.core.hooks import Cost, Verdict
from agentgym.core.outcome import total, well_formed
from agentgym.errors import DataError
from agentgym.support.typed_json import read_json

FORMAT = "agentgym.episode/1"
"""Name and version of the format; the version changes when a reader must."""

_SURROGATE = re.compile("[\ud800-\udfff]")
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class RecordedState:
    """What is recorded of an environment between two turns."""

    observation: str
    """The text that the policy saw."""
    score: float
    """Progress in [0, 1]."""
    potential: float
    """The family's potential phi."""
    state_key: str
    """Hash of the engine's state."""
    oracle_turns: int | None = None
    """Remaining length of the expert's plan, where known."""
    agent: str = ""
    """Who acts in it, where a policy plays several agents (`agentgym.core.delegation`)."""
    agent_task: str = ""
    """The task of that agent in words."""


@dataclass(frozen=True)
class Turn:
    """One turn of an episode."""

    action: str
    """Text given to ``step``."""
    executed: str
    """The action in the environment's own text."""
    after: RecordedState
    """The state that it led to."""
    reward: float
    """Reward of the turn."""
    reward_terms: dict[str, float]
    """Its parts."""
    action_valid: bool
    """Whether the action was parsed and admissible."""
    success: bool
    """Whether the task was solved."""
    terminated: bool
    """Whether the task ended."""
    truncated: bool
    """Whether the turn budget ended the episode."""
    raw_text: str | None = None
    """The model's whole text, if it is more than the action."""
    prompt_tokens: int | None = None
    """Tokens that the model read for this turn, where known."""
    completion_tokens: int | None = None
    """Tokens that the model wrote in this turn, where known."""
    cached_tokens: int | None = None
    """Those it read that its endpoint had in a cache, where known."""
    reasoning_tokens: int | None = None
    """Those it wrote that were thinking, where known."""
    reasoning: str | None = None
    """Thinking that the endpoint returned apart from the text."""
    finish_reason: str | None = None
    """Why the model stopped, as its endpoint says: ``stop``, ``length``, ``tool_calls``."""
    reason: str | None = None
    """Why the action was invalid, as the family or the grammar says; empty where neither does, or
    the observation alone. None: the record does not say."""
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    """What judges said of the turn, by the names of their hooks; one without an answer has no
    reward term."""
    costs: dict[str, Cost] = field(default_factory=dict)
    """What the turn used, by the names of the hooks that count it."""


@dataclass(frozen=True)
class Episode:
    """A whole episode, with all that is needed to play it again."""

    env_id: str
    """Gymnasium id."""
    env_kwargs: dict[str, Any]
    """Keyword arguments of the environment that JSON can hold."""
    task_id: str
    """The task."""
    split: str
    """Its split."""
    goal: str
    """The instruction."""
    seed: int | None
    """Seed of the reset."""
    rng: dict[str, Any] | None
    """State of ``np_random`` before a reset without seed."""
    options: dict[str, Any]
    """Options of the reset."""
    start: RecordedState
    """The first state."""
    turns: tuple[Turn, ...]
    """The turns."""
    stop_reason: str
    """Why the episode ended: a ``StopReason`` value."""
    details: dict[str, Any] = field(default_factory=dict)
    """The family's facts about the reward; where something ended the episode from outside,
    ``error`` says what, and ``unanswered_action`` holds the action that it cost."""
    hooks: tuple[str, ...] = ()
    """Names of the reward terms that hooks added to the family's own."""
    not_stored: tuple[str, ...] = ()
    """Arguments and wrappers of the environment that JSON cannot hold, or that are secret."""
    panel_sha256: str = ""
    """Hash of the panel that the task belongs to, if any."""
    policy: str = ""
    """Name of the policy."""
    packages: dict[str, str] = field(default_factory=dict)
    """Versions of the packages at the time."""
    extra: dict[str, Any] = field(default_factory=dict)
    """Anything else, such as the training step; ``unused_outputs``: token counts and finish reasons
    of what a model produced for no turn, because the environment failed or no action followed."""
    reward_hooks: tuple[dict[str, Any], ...] = ()
    """The argument ``reward_hooks`` of the environment, if it holds supplied hooks only."""
    rng_key: str | None = None
    """Hash of the state of ``np_random`` after the reset, which proves ``seed`` and ``rng`` where
    nothing that was drawn shows. None: the record does not say."""

    @property
    def began(self) -> bool:
        """Whether the environment started; if it failed to, there is nothing to play again."""
        return self.stop_reason != "error" or bool(self.start.state_key)

    @property
    def reward(self) -> float:
        """Sum of the rewards."""
        return total(turn.reward for turn in self.turns)

    @property
    def score(self) -> float:
        """Final score in [0, 1]."""
        return (self.turns[-1].after if self.turns else self.start).score

    @property
    def unjudged(self) -> int:
        """Number of verdicts that are missing, so that the rewards lack them."""
        said = (verdict for turn in self.turns for verdict in turn.verdicts.values())
        return sum(verdict.score is None for verdict in said)

    @property
    def success(self) -> bool:
        """Whether the task was solved."""
        return bool(self.turns) and self.turns[-1].success

    def to_line(self) -> str:
        """Write the episode as one line of ASCII JSON, with its line break.

        Pairs of surrogates become the character they stand for; lone ones are kept.

        Raises:
            DataError: A value cannot be written as JSON.
        """
        record = {"format": FORMAT, **_by_name(self)}
        record.update(score=self.score, success=self.success, reward=self.reward)
        try:
            return json.dumps(record, ensure_ascii=True, allow_nan=False, default=_by_name) + "\n"
        except (TypeError, ValueError) as error:
            raise DataError(
                f"expected an episode of {self.env_id} with JSON-safe values, but: {error}; "
                "details, extra and rewards hold plain and finite values only"
            ) from error

    @classmethod
    def from_line(cls, line: str) -> Episode:
        """Read a line that `to_line` wrote.

        Raises:
            DataError: The line is no episode of this format.
        """
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise DataError(f"expected one JSON object per line, but: {error}") from error
        if not isinstance(record, dict) or record.get("format") != FORMAT:
            found = record.get("format") if isinstance(record, dict) else type(record).__name__
            raise DataError(f'expected "format": "{FORMAT}", got {found!r}')
        episode = read_json(cls, record, may_lack=_LATER, finite=False)
        for name, kind in _INSIDE.items():
            read_json(kind, record[name], name)
        _check_sums(episode, record)
        return episode


_LATER = (
    "reward_hooks", "cached_tokens", "reasoning_tokens", "reasoning", "finish_reason", "reason",
    "rng_key", "verdicts", "agent", "agent_task", "costs",
)  # fmt: skip
"""Fields that the first records of the format lack."""


class _Unused(TypedDict, total=False):
    """What a model produced for no turn; counted like what stands in turns."""

    prompt_tokens: int | None
    completion_tokens: int | None
    cached_tokens: int | None
    reasoning_tokens: int | None
    finish_reason: str | None


class _Extra(TypedDict, total=False):
    unused_outputs: list[_Unused]


class _Options(TypedDict, total=False):
    training_step: int | None
    prices: dict[str, float] | None


_INSIDE: Mapping[str, type] = {"extra": _Extra, "options": _Options}
"""What this package itself reads of fields that hold anything."""


def _by_name(value: Any) -> dict[str, Any]:
    """Return the fields of a record as they are: ``asdict`` would copy all that is in them."""
    if not is_dataclass(value):
        raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")
    return {each.name: getattr(value, each.name) for each in fields(value)}


def _check_sums(episode: Episode, record: Mapping[str, Any]) -> None:
    """Check what a line says of the whole episode against its turns.

    Raises:
        DataError: They differ, or a number is out of range.
    """
    for name in ("score", "success", "reward"):
        try:
            found = getattr(episode, name)
            stored = record.get(name, found)
            # To isclose true is 1.0.
            same = isinstance(stored, bool) == isinstance(found, bool)
            same = same and math.isclose(stored, found, rel_tol=1e-9, abs_tol=1e-9)
        except (OverflowError, TypeError, ValueError):  # fsum refuses inf - inf
            same = False
        if not same:
            raise DataError(
                f"expected {name!r} to be what the turns of the episode say, got "
                f"{record.get(name)!r:.80}: the line has been changed"
            )


def clean(text: str) -> str:
    """Bring a text to the form in which a record gives it back.

    Pairs of surrogates are joined to the character they stand for; lone ones stay.
    """
    if not _SURROGATE.search(text):
        return text
    # In UTF-16 a pair of surrogates is the character itself.
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def portable(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a JSON document that any reader can hold: lone surrogates become ``?``."""
    text = json.dumps(document, ensure_ascii=False)
    cleaned: dict[str, Any] = json.loads(well_formed(clean(text)))
    return cleaned


def read_episodes(
    path: str | Path,
    *,
    strict: bool = True,
    on_torn: Callable[[int], None] | None = None,
    on_skipped: Callable[[int, DataError], None] | None = None,
) -> Iterator[Episode]:
    """Read a file of episodes, one at a time.

    Args:
        path: A JSONL file.
        strict: Raise at a broken line (a run that was killed may leave one at the end); otherwise
            skip it with a warning.
        on_torn: Called with the number of a line that breaks off before its end, as a process that
            was killed leaves it; the line is skipped then, and any other broken one still raises.
        on_skipped: Called with the number of a line that is skipped, and why, instead of the
            warning.

    Yields:
        The episodes in order; empty lines are skipped.

    Raises:
        DataError: The file cannot be read, or a line is broken; names the line.
    """
    try:
        with open(path, "rb") as file:
            for number, line in enumerate(file, 1):
                if not line.strip():
                    continue
                try:
                    episode = Episode.from_line(_decoded(line))
                except DataError as error:
                    if on_torn and _torn(line):
                        on_torn(number)
                        continue
                    if strict:
                        raise DataError(f"{path}, line {number}: {error}") from error
                    if on_skipped is not None:
                        on_skipped(number, error)
                    else:
                        _log.warning("skipping %s, line %d: %s", path, number, error)
                    continue
                yield episode
    except OSError as error:
        reason = error.strerror or error
        raise DataError(f"expected a file of episodes at {path}, but: {reason}") from error


def _torn(line: bytes) -> bool:
    """Return whether a line is the beginning of a JSON object that does not end."""
    text = line.strip()
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return text.startswith(b"{") and (not text.endswith(b"}") or error.pos >= len(text))
    except (ValueError, RecursionError):
        return False
    return False


def _decoded(line: bytes) -> str:
    """Decode a line by itself: one that is no text must not cost those after it."""
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"expected a file of episodes in UTF-8, but: {error}") from error


def append_episode(path: str | Path, episode: Episode) -> None:
    """Append an episode to a file; a torn last line is closed first.

    Args:
        path: A JSONL file; it and its folder are made if they are missing.
        episode: The episode.

    Raises:
        DataError: The episode is not JSON-safe, or the file cannot be written.
    """
    path = Path(path)
    data = episode.to_line().encode("ascii")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "a+b") as file:
            if file.tell():
                # A process that was killed may have left half a line: begin a new one.
                file.seek(-1, 2)
                if file.read(1) != b"\n":
                    data = b"\n" + data
            # In one piece: a reader, or a kill, finds whole lines but for the last one.
            file.write(data)
    except OSError as error:
        raise DataError(
            f"expected to append an episode to {path}, but: {error.strerror}; choose a file that "
            "can be written and a disk with room"
        ) from error

"""Episode records: one JSON line per episode, in a versioned format."""

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
"""Name and version of the format; the version changes when readers must change."""
TOKENS = "tokens"
"""Key in `Episode.extra` of the tokens of the turns."""

_SURROGATE = re.compile("[\ud800-\udfff]")
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class RecordedState:
    """The recorded state of an environment between two turns."""

    observation: str
    """The text that the policy saw."""
    score: float
    """Progress in [0, 1]."""
    potential: float
    """The family's potential phi."""
    state_key: str
    """Hash of the engine's state."""
    oracle_turns: int | None = None
    """Remaining length of the expert's plan, if known."""
    agent: str = ""
    """The acting agent, if a policy plays several (`agentgym.core.delegation`)."""
    agent_task: str = ""
    """The task of that agent as text."""
    forgets: bool = False
    """Whether the action before was a summary that replaces all turns before it
    (`agentgym.core.summaries`)."""


@dataclass(frozen=True)
class Turn:
    """A turn of an episode."""

    action: str
    """Text passed to ``step``."""
    executed: str
    """The action in the native grammar."""
    after: RecordedState
    """The state after the action."""
    reward: float
    """Reward of the turn."""
    reward_terms: dict[str, float]
    """Its parts."""
    action_valid: bool
    """Whether the action was parsed and admissible."""
    success: bool
    """Whether the task was solved."""
    terminated: bool
    """Whether the task terminated."""
    truncated: bool
    """Whether the turn budget ended the episode."""
    raw_text: str | None = None
    """The model's complete text, if it differs from the action."""
    prompt_tokens: int | None = None
    """Tokens that the model read for this turn, if known."""
    completion_tokens: int | None = None
    """Tokens that the model wrote in this turn, if known."""
    cached_tokens: int | None = None
    """Tokens it read that its endpoint had cached, if known."""
    reasoning_tokens: int | None = None
    """Tokens it wrote that were thinking, if known."""
    reasoning: str | None = None
    """Thinking that the endpoint returned separately from the text."""
    finish_reason: str | None = None
    """Finish reason reported by the endpoint: ``stop``, ``length``, ``tool_calls``."""
    reason: str | None = None
    """Why the action was invalid, from the family or the grammar; empty if neither gives a reason,
    or only the observation does. None: not recorded."""
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    """Verdicts of judges on the turn, by hook name; a judge without a response has no reward
    term."""
    costs: dict[str, Cost] = field(default_factory=dict)
    """Costs of the turn, by hook name."""


@dataclass(frozen=True)
class Episode:
    """A complete episode, with everything needed to replay it."""

    env_id: str
    """Gymnasium id."""
    env_kwargs: dict[str, Any]
    """JSON-safe keyword arguments of the environment."""
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
    """The family's facts about the reward; if the episode was ended from outside, ``error`` is the
    reason, and ``unanswered_action`` the action that was lost."""
    hooks: tuple[str, ...] = ()
    """Names of the reward terms that hooks added to those of the family."""
    not_stored: tuple[str, ...] = ()
    """Names of arguments and wrappers of the environment that are secret or not JSON-safe."""
    panel_sha256: str = ""
    """Hash of the panel that the task belongs to, if any."""
    policy: str = ""
    """Name of the policy."""
    packages: dict[str, str] = field(default_factory=dict)
    """Versions of packages at the time of recording."""
    extra: dict[str, Any] = field(default_factory=dict)
    """Further data, such as the training step; ``unused_outputs``: token counts and finish reasons
    of model outputs without a turn, because the environment failed or no action followed;
    ``tokens``: `SampledTokens` of each turn."""
    reward_hooks: tuple[dict[str, Any], ...] = ()
    """The argument ``reward_hooks`` of the environment, if it contains only supplied hooks."""
    rng_key: str | None = None
    """Hash of the state of ``np_random`` after the reset, which verifies ``seed`` and ``rng`` even
    if no draw is visible. None: not recorded."""

    @property
    def began(self) -> bool:
        """Whether the environment started; otherwise there is nothing to replay."""
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
        """Number of missing verdicts, which the rewards lack."""
        verdicts = (verdict for turn in self.turns for verdict in turn.verdicts.values())
        return sum(verdict.score is None for verdict in verdicts)

    @property
    def success(self) -> bool:
        """Whether the task was solved."""
        return bool(self.turns) and self.turns[-1].success

    def to_line(self) -> str:
        """Write the episode as one line of ASCII JSON, with its line break.

        Surrogate pairs are joined to one character; lone surrogates are kept.

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
        """Read a line written by `to_line`.

        Raises:
            DataError: The line is not an episode in this format.
        """
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise DataError(f"expected one JSON object per line, but: {error}") from error
        if not isinstance(record, dict) or record.get("format") != FORMAT:
            file_format = (
                record.get("format") if isinstance(record, dict) else type(record).__name__
            )
            raise DataError(f'expected "format": "{FORMAT}", got {file_format!r}')
        episode = read_json(cls, record, may_lack=_LATER, finite=False)
        for name, kind in _INSIDE.items():
            read_json(kind, record[name], name)
        _check_sums(episode, record)
        return episode


_LATER = (
    "reward_hooks", "cached_tokens", "reasoning_tokens", "reasoning", "finish_reason", "reason",
    "rng_key", "verdicts", "agent", "agent_task", "costs", "forgets",
)  # fmt: skip
"""Fields that early records of the format lack."""


class _Unused(TypedDict, total=False):
    """A model output that no turn followed; reports count its tokens, too."""

    prompt_tokens: int | None
    completion_tokens: int | None
    cached_tokens: int | None
    reasoning_tokens: int | None
    finish_reason: str | None


class SampledTokens(TypedDict):
    """The tokens of a turn, in `Episode.extra` under ``tokens`` if they were recorded."""

    fresh: bool
    """Whether the context replaces all tokens before it."""
    context: list[int]
    """Ids that the model read in this turn for the first time."""
    ids: list[int]
    """Ids that it sampled."""
    logprobs: list[float]
    """Log-probability of each under the distribution that it was sampled from, in nats."""


class _Extra(TypedDict, total=False):
    unused_outputs: list[_Unused]
    tokens: list[SampledTokens]


class _Options(TypedDict, total=False):
    training_step: int | None
    prices: dict[str, float] | None


_INSIDE: Mapping[str, type] = {"extra": _Extra, "options": _Options}
"""Entries that this package reads from free-form fields, and so validates."""


def _by_name(value: Any) -> dict[str, Any]:
    """Return the fields of a record without copies: ``asdict`` would deep-copy every value."""
    if not is_dataclass(value):
        raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")
    return {entry.name: getattr(value, entry.name) for entry in fields(value)}


def _check_sums(episode: Episode, record: Mapping[str, Any]) -> None:
    """Check the score, success and reward of a line against its turns.

    Raises:
        DataError: They differ, or a number is out of range.
    """
    for name in ("score", "success", "reward"):
        try:
            actual = getattr(episode, name)
            stored = record.get(name, actual)
            # math.isclose would accept True for 1.0.
            is_same = isinstance(stored, bool) == isinstance(actual, bool)
            is_same = is_same and math.isclose(stored, actual, rel_tol=1e-9, abs_tol=1e-9)
        except (OverflowError, TypeError, ValueError):  # fsum refuses inf - inf
            is_same = False
        if not is_same:
            raise DataError(
                f"expected {name!r} to be what the turns of the episode say, got "
                f"{record.get(name)!r:.80}: the line has been changed"
            )


def clean(text: str) -> str:
    """Normalize a text to the form that a record returns.

    Surrogate pairs are joined to one character; lone surrogates are kept.
    """
    if not _SURROGATE.search(text):
        return text
    # In UTF-16 a surrogate pair is the encoding of one character.
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def portable(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a JSON document for any reader: lone surrogates become ``?``."""
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
        strict: Raise at an invalid line (a killed process may leave one at the end); otherwise skip
            it with a warning.
        on_torn: Called with the number of a truncated line, as left by a killed process; the line
            is then skipped, and other invalid lines still raise.
        on_skipped: Called with the number of a skipped line and the reason, instead of a warning.

    Yields:
        The episodes in order; empty lines are skipped.

    Raises:
        DataError: The file cannot be read, or a line is invalid; the message names the line.
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
    """Return whether a line is a truncated JSON object."""
    text = line.strip()
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return text.startswith(b"{") and (not text.endswith(b"}") or error.pos >= len(text))
    except (ValueError, RecursionError):
        return False
    return False


def _decoded(line: bytes) -> str:
    """Decode one line: with a file opened as text, one bad line would make the rest unreadable."""
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"expected a file of episodes in UTF-8, but: {error}") from error


def append_episode(path: str | Path, episode: Episode) -> None:
    """Append an episode to a file; a truncated last line is terminated first.

    Args:
        path: A JSONL file; it and its folder are created if missing.
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
                # A killed process may have left half a line: begin a new one.
                file.seek(-1, 2)
                if file.read(1) != b"\n":
                    data = b"\n" + data
            # In one write, so that a reader or a kill can only see the last line incomplete.
            file.write(data)
    except OSError as error:
        raise DataError(
            f"expected to append an episode to {path}, but: {error.strerror}; choose a file that "
            "can be written and a disk with room"
        ) from error

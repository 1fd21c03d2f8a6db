"""The data of an episode on the page: a short row for the list, and the complete episode."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from agentgym.episodes import Episode, Turn
from agentgym.episodes.recorder import UNUSED

GOAL_CHARS = 1000
"""Maximum number of characters of a goal in the list; its filter searches these."""
ERROR_CHARS = 300
"""Maximum number of characters of an error in the list."""
SHARED = ("env_kwargs", "packages", "hooks", "reward_hooks", "not_stored", "panel_sha256")
"""Fields that the episodes of a file mostly have in common; each value is embedded once."""
LEFT_OUT = ("rng", "rng_key", "start", "turns", *SHARED)


def row_of(episode: Episode) -> dict[str, Any]:
    """Return the row of an episode, by which the list is shown, sorted and filtered."""
    turns = episode.turns
    # What a model produced for no turn counts here as it does in reports.
    outputs: list[Mapping[str, Any]] = [*map(vars, turns), *episode.extra.get(UNUSED, ())]
    row = {
        "task": episode.task_id,
        "goal": episode.goal[:GOAL_CHARS],
        "env": episode.env_id,
        "split": episode.split,
        "policy": episode.policy,
        "seed": episode.seed,
        "score": episode.score,
        "success": episode.success,
        "stop": episode.stop_reason,
        "return": episode.reward,
        "turns": len(turns),
        "invalid": sum(not turn.action_valid for turn in turns),
        "tokens": _tokens(outputs),
        "terms": _terms(turns),
        "paying": sorted({name for turn in turns for name, part in _parts(turn) if part}),
        "finish": sorted(
            {output["finish_reason"] for output in outputs if output.get("finish_reason")}
        ),
    }
    if error := episode.details.get("error"):
        row["error"] = str(error)[:ERROR_CHARS]
    return row


def body_of(episode: Episode) -> dict[str, Any]:
    """Return the complete episode under the names of its record, without empty values."""
    body = {name: value for name, value in vars(episode).items() if name not in LEFT_OUT}
    return {
        **{name: value for name, value in body.items() if value not in (None, {}, "")},
        "start": vars(episode.start),
        "turns": [_turn(turn) for turn in episode.turns],
    }


def shared_of(episode: Episode) -> dict[str, Any]:
    """Return the fields that the episode shares with others."""
    values = {name: getattr(episode, name) for name in SHARED}
    return {name: value for name, value in values.items() if value}


def _turn(turn: Turn) -> dict[str, Any]:
    fields = {name: value for name, value in vars(turn).items() if value is not None}
    return {**fields, "after": vars(turn.after)}


def _tokens(outputs: Iterable[Mapping[str, Any]]) -> int | None:
    """Count the tokens that a model read and wrote; None if unknown."""
    pairs = [(output.get("prompt_tokens"), output.get("completion_tokens")) for output in outputs]
    counts = [number for pair in pairs for number in pair if number is not None]
    return sum(counts) if counts else None


def _terms(turns: Iterable[Turn]) -> Mapping[str, float]:
    """Sum the reward terms over the turns, in the order of their first occurrence."""
    parts: dict[str, list[float]] = {}
    for turn in turns:
        for name, part in _parts(turn):
            parts.setdefault(name, []).append(part)
    return {name: sum(values) for name, values in parts.items()}


def _parts(turn: Turn) -> Iterable[tuple[str, float]]:
    """Yield a turn's numeric reward terms; a third-party record may contain other values."""
    for name, part in turn.reward_terms.items():
        if isinstance(part, (int, float)):
            yield name, part

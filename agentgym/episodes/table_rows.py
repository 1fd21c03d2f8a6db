"""Episodes as rows of a table, whose columns have the same types for every family.

Data that differs between families (arguments, options, details) is stored in columns of JSON text;
reward terms and verdicts of judges are lists of names and values. Tables of all families can
therefore be concatenated.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from agentgym.core.outcome import well_formed
from agentgym.episodes.records import FORMAT, Episode, RecordedState, Turn
from agentgym.errors import DataError, require

STATE: Mapping[str, Any] = {
    "observation": "string",
    "score": "double",
    "potential": "double",
    "state_key": "string",
    "oracle_turns": "int64",
    "agent": "string",
    "agent_task": "string",
    "forgets": "bool",
}
"""Columns of a state."""
VERDICT: Mapping[str, Any] = {
    "key": "string",
    "score": "double",
    "problem": "string",
    "calls": "int64",
    "prompt_tokens": "int64",
    "completion_tokens": "int64",
}
"""Columns of a verdict, besides the name of its hook."""
COST: Mapping[str, str] = {"amount": "double", "limit": "double"}
"""Columns of a cost, besides the name of its hook."""
TURN: Mapping[str, Any] = {
    "action": "string",
    "executed": "string",
    **STATE,
    "reward": "double",
    "reward_terms": [{"name": "string", "value": "double"}],
    "action_valid": "bool",
    "success": "bool",
    "terminated": "bool",
    "truncated": "bool",
    "raw_text": "string",
    "prompt_tokens": "int64",
    "completion_tokens": "int64",
    "cached_tokens": "int64",
    "reasoning_tokens": "int64",
    "reasoning": "string",
    "finish_reason": "string",
    "reason": "string",
    "verdicts": [{"name": "string", **VERDICT}],
    "costs": [{"name": "string", **COST}],
}
"""Columns of a turn; the columns of a state describe the state after the turn."""
JSON_COLUMNS = (
    "env_kwargs", "options", "rng", "details", "reward_hooks", "packages", "extra",
)  # fmt: skip
"""Columns that hold JSON text."""
EPISODE: Mapping[str, Any] = {
    "format": "string",
    "env_id": "string",
    "task_id": "string",
    "split": "string",
    "goal": "string",
    "policy": "string",
    "seed": "int64",
    "stop_reason": "string",
    "success": "bool",
    "score": "double",
    "reward": "double",
    "num_turns": "int64",
    "start": dict(STATE),
    "turns": [dict(TURN)],
    "hooks": ["string"],
    "not_stored": ["string"],
    "panel_sha256": "string",
    "rng_key": "string",
    **dict.fromkeys(JSON_COLUMNS, "string"),
}
"""Columns of an episode: a type's name, a list ``[type]`` or a struct ``{name: type}``."""


def to_row(episode: Episode) -> dict[str, Any]:
    """Return an episode as a row with the columns of `EPISODE`.

    Lone surrogates, which tables cannot contain, become ``?``.
    """
    row: dict[str, Any] = {
        "format": FORMAT,
        "num_turns": len(episode.turns),
        "start": _state(episode.start),
        "turns": [_turn(turn) for turn in episode.turns],
        "hooks": [*map(well_formed, episode.hooks)],
        "not_stored": [*map(well_formed, episode.not_stored)],
        **{name: json.dumps(getattr(episode, name)) for name in JSON_COLUMNS},
    }
    return {name: row[name] if name in row else _plain_value(episode, name) for name in EPISODE}


def from_row(row: Mapping[str, Any]) -> Episode:
    """Return the episode of a row written by `to_row`.

    Raises:
        DataError: The row is not an episode, or has been changed.
    """
    try:
        parts = {name: json.loads(row[name]) for name in JSON_COLUMNS}
        turns = [
            {
                **{name: turn[name] for name in TURN if name not in STATE},
                "reward_terms": {term["name"]: term["value"] for term in turn["reward_terms"]},
                "verdicts": _by_name(turn["verdicts"], VERDICT),
                "costs": _by_name(turn["costs"], COST),
                "after": {name: turn[name] for name in STATE if name in turn},
            }
            for turn in row["turns"]
        ]
        fields = {name: row[name] for name in EPISODE if name != "num_turns"}
        record = {**fields, **parts, "turns": turns}
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(
            "expected a row of an episode, as agentgym export --to jsonl or parquet writes it, but "
            f"its columns cannot be read: {type(error).__name__}: {error}"
        ) from error
    return Episode.from_line(json.dumps(record))


def schema() -> Any:
    """Return `EPISODE` as a schema of pyarrow.

    Raises:
        DependencyNotInstalled: The package ``pyarrow`` is missing.
    """
    arrow = require("pyarrow", "search")
    return arrow.schema([(name, _arrow(arrow, kind)) for name, kind in EPISODE.items()])


def _arrow(arrow: Any, kind: Any) -> Any:
    if isinstance(kind, list):
        return arrow.list_(_arrow(arrow, kind[0]))
    if isinstance(kind, Mapping):
        return arrow.struct([(name, _arrow(arrow, inner)) for name, inner in kind.items()])
    return arrow.type_for_alias(kind)


def _plain_value(source: Any, name: str) -> Any:
    value = getattr(source, name)
    return well_formed(value) if isinstance(value, str) else value


def _state(state: RecordedState) -> dict[str, Any]:
    return {name: _plain_value(state, name) for name in STATE}


def _named(entries: Mapping[str, Any], parts: Iterable[str]) -> list[dict[str, Any]]:
    """Convert a mapping by name to a list of rows with a column ``name``."""
    return [
        {"name": well_formed(name), **{part: _plain_value(value, part) for part in parts}}
        for name, value in entries.items()
    ]


def _by_name(rows: Iterable[Mapping[str, Any]], parts: Iterable[str]) -> dict[str, Any]:
    """Convert such a list of rows back: the inverse of `_named`."""
    return {row["name"]: {part: row[part] for part in parts} for row in rows}


def _turn(turn: Turn) -> dict[str, Any]:
    terms = [
        {"name": well_formed(name), "value": value} for name, value in turn.reward_terms.items()
    ]
    lists = {
        "reward_terms": terms,
        "verdicts": _named(turn.verdicts, VERDICT),
        "costs": _named(turn.costs, COST),
    }
    cell_names = (name for name in TURN if name not in lists)
    cells = {name: _plain_value(turn.after if name in STATE else turn, name) for name in cell_names}
    return {name: {**cells, **lists}[name] for name in TURN}

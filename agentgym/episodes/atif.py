"""Convert episodes to ATIF trajectories and back.

ATIF (Agent Trajectory Interchange Format, version 1.8, of Harbor's RFC 1) is a JSON document per
trajectory, which viewers and trainers of other projects read. The metrics of a step have the token
ids and log-probabilities, if they were recorded. The other data of an episode is stored in the
``extra`` fields, so that :func:`from_atif` can restore the complete episode.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from agentgym.episodes.records import FORMAT, TOKENS, Episode, SampledTokens, portable
from agentgym.errors import DISTRIBUTION, DataError

VERSION = "ATIF-v1.8"
OURS = "agentgym"
"""Key in ``extra`` of the data that ATIF has no field for."""
TOOL = "act"
"""Name of the only tool: an environment takes one text per turn."""
DIGITS = 6
"""Number of digits in file names."""
IDS = ("prompt_token_ids", "completion_token_ids", "logprobs")
"""Step metrics of the tokens."""
COUNTS = ("prompt_tokens", "completion_tokens", "cached_tokens")
"""Fields of a turn that are step metrics with the same names."""


def to_atif(episode: Episode) -> dict[str, Any]:
    """Return an episode as an ATIF trajectory.

    The first step is the first observation, each further step a turn: the model's text as its
    message, the action as a call of the tool `TOOL`, the observation as its result. Lone
    surrogates, which the format cannot contain, become ``?``.

    Raises:
        DataError: The episode has tokens, but not those of each turn.
    """
    record = asdict(episode)
    start, turns = record.pop("start"), record.pop("turns")
    tokens = record["extra"].pop(TOKENS, None)
    if tokens is not None and len(tokens) != len(turns):
        raise DataError(
            f"expected the tokens of each of {len(turns)} turns of {episode.task_id}, got "
            f"{len(tokens)}: the record has been changed"
        )
    first = start.pop("observation")
    steps = [{"step_id": 1, "source": "user", "message": first, "extra": {OURS: start}}]
    steps += [_step(number, turn) for number, turn in enumerate(turns, 2)]
    for step, sampled in zip(steps[1:], _token_metrics(tokens or []), strict=False):
        step["extra"][OURS]["fresh"] = sampled.pop("fresh")
        step.setdefault("metrics", {}).update(sampled)
    totals = {
        f"total_{name}": sum(counted)
        for name in COUNTS
        if (counted := [turn[name] for turn in turns if turn.get(name) is not None])
    }
    outcome = {"reward": episode.reward, "score": episode.score, "success": episode.success}
    document = {
        "schema_version": VERSION,
        "session_id": f"{episode.env_id} {episode.task_id} {episode.seed}",
        "agent": {
            "name": episode.policy or "unknown",
            "version": episode.packages.get(DISTRIBUTION, "unknown"),
            "tool_definitions": [_tool(episode)],
        },
        "steps": steps,
        "final_metrics": {**totals, "total_steps": len(steps), "extra": outcome},
        "extra": {OURS: {"format": FORMAT, **record}},
    }
    return portable(document)


def _tool(episode: Episode) -> dict[str, Any]:
    """Describe the environment as OpenAI's function calling does."""
    action = {"type": "string", "description": "One action in the environment's own grammar."}
    parameters = {"type": "object", "properties": {"action": action}, "required": ["action"]}
    about = f"Take one turn in {episode.env_id}."
    return {
        "type": "function",
        "function": {"name": TOOL, "description": about, "parameters": parameters},
    }


def _step(number: int, turn: dict[str, Any]) -> dict[str, Any]:
    """Return a turn as a step; data that the format has no field for goes to ``extra``."""
    call = f"call-{number}"
    text, reasoning = turn.pop("raw_text"), turn.pop("reasoning")
    step: dict[str, Any] = {
        "step_id": number,
        "source": "agent",
        "message": turn["action"] if text is None else text,
        "tool_calls": [
            {
                "tool_call_id": call,
                "function_name": TOOL,
                "arguments": {"action": turn.pop("executed")},
            }
        ],
        "observation": {
            "results": [
                {"source_call_id": call, "content": turn["after"].pop("observation")},
            ]
        },
    }
    if reasoning is not None:
        step["reasoning_content"] = reasoning
    metrics = {name: turn[name] for name in COUNTS if turn[name] is not None}
    if metrics:
        step["metrics"] = metrics
    fields = {name: value for name, value in turn.items() if name not in COUNTS}
    step["extra"] = {OURS: {**fields, "message_is_raw_text": text is not None}}
    return step


def _token_metrics(tokens: Iterable[SampledTokens]) -> Iterator[dict[str, Any]]:
    """Yield the ids that the model read in each turn, all of them, and those that it sampled."""
    text: list[int] = []
    for turn in tokens:
        prompt = [*([] if turn["fresh"] else text), *turn["context"]]
        text = [*prompt, *turn["ids"]]
        values = (turn["fresh"], prompt, turn["ids"], turn["logprobs"])
        yield dict(zip(("fresh", *IDS), values, strict=True))


def from_atif(trajectory: Mapping[str, Any]) -> Episode:
    """Return the episode of a trajectory made by :func:`to_atif`.

    Raises:
        DataError: The trajectory is from another tool, or has been changed.
    """
    try:
        record = dict(trajectory["extra"][OURS])
        first, *steps = trajectory["steps"]
        record["start"] = {"observation": first["message"], **first["extra"][OURS]}
        record["turns"] = [_turn(step) for step in steps]
        if tokens := [*_tokens(steps)]:
            record["extra"] = {**record["extra"], TOKENS: tokens}
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise DataError(
            "expected an ATIF trajectory with what `agentgym export --to atif` keeps in its "
            f"extra.{OURS}, but: {type(error).__name__}: {error}; that of another agent does not "
            "say which environment, task and seed it is of"
        ) from error
    return Episode.from_line(json.dumps(record))


def _turn(step: Mapping[str, Any]) -> dict[str, Any]:
    """Return a step as the turn of a record."""
    turn = dict(step["extra"][OURS])
    is_raw = turn.pop("message_is_raw_text")
    turn.pop("fresh", None)
    (result,) = step["observation"]["results"]
    (call,) = step["tool_calls"]
    return {
        **turn,
        "executed": call["arguments"]["action"],
        "after": {"observation": result["content"], **turn["after"]},
        "raw_text": step["message"] if is_raw else None,
        "reasoning": step.get("reasoning_content"),
        **{name: step.get("metrics", {}).get(name) for name in COUNTS},
    }


def _tokens(steps: Iterable[Mapping[str, Any]]) -> Iterator[SampledTokens]:
    """Yield the tokens of each step: the inverse of `_token_metrics`."""
    known_tokens = 0
    for step in steps:
        if "fresh" not in step["extra"][OURS]:
            continue
        fresh = step["extra"][OURS]["fresh"]
        prompt, ids, logprobs = (step["metrics"][name] for name in IDS)
        yield SampledTokens(
            fresh=fresh, context=prompt[0 if fresh else known_tokens :], ids=ids, logprobs=logprobs
        )
        known_tokens = len(prompt) + len(ids)


def trajectory_files(path: Path) -> list[Path]:
    """Return the files of trajectories at a path: the file itself, or those of a folder by number.

    Empty if the file does not end in ``.json``, or if the folder contains other files.
    """
    if path.is_dir():
        return sorted(path.glob("[0-9]" * DIGITS + ".json"))
    return [path] if path.suffix == ".json" else []


@contextmanager
def trajectory_folder(folder: Path) -> Iterator[Callable[[Iterable[dict[str, Any]]], None]]:
    """Yield a function that writes trajectories to numbered files in a new folder."""
    folder.mkdir(parents=True)
    numbers = itertools.count(1)

    def write(trajectories: Iterable[dict[str, Any]]) -> None:
        for trajectory in trajectories:
            file = folder / f"{next(numbers):0{DIGITS}}.json"
            file.write_text(json.dumps(trajectory, indent=1) + "\n", encoding="ascii")

    yield write

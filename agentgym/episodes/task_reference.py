"""The task that a row of a data set is of, in a column of the row, so that it can be played."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from agentgym.episodes.records import Episode
from agentgym.errors import ConfigurationError, DataError
from agentgym.support.strict_json import parse_json
from agentgym.support.typed_json import read_json
from agentgym.trust import EVALUATION, check_trusted, env_claims, setting_claims

COLUMN = "agentgym"
"""Name of the column."""


@dataclass(frozen=True)
class TaskReference:
    """A task, and how its episode begins."""

    env: str
    """Name of the environment, which `agentgym.make` accepts."""
    task_id: str
    """The task."""
    kwargs: dict[str, Any] = field(default_factory=dict)
    """Arguments of the environment."""
    prompt: str = "default"
    """Name of the prompt."""
    seed: int | None = None
    """Seed of the reset."""
    horizon: int | None = None
    """Turn budget; None is the environment's own."""
    opening: int = 0
    """Number of messages that the model reads before its first response."""

    @classmethod
    def of(cls, episode: Episode, prompt: str, opening: int) -> TaskReference:
        """Return the task of an episode."""
        horizon = episode.options.get("horizon")
        return cls(
            episode.env_id,
            episode.task_id,
            episode.env_kwargs,
            prompt,
            episode.seed,
            horizon,
            opening,
        )

    def to_cell(self) -> str:
        """Return it as JSON text: in a column of objects, every row would get all arguments.

        Raises:
            ConfigurationError: An argument of the environment cannot be written as JSON.
        """
        try:
            return json.dumps(asdict(self), default=os.fspath)
        except (TypeError, ValueError) as error:
            raise ConfigurationError(
                f"expected arguments of {self.env} that a row can hold as JSON, but: {error}"
            ) from error


def read_reference(row: Mapping[str, Any], trusted: Sequence[str] = ()) -> TaskReference:
    """Return the task of a row.

    Args:
        row: The columns of the row.
        trusted: What it may name besides plain data, as ``NAME=VALUE``; see `agentgym.trust`.

    Raises:
        DataError: The row names no task.
        NotTrusted: It names more than plain data.
    """
    try:
        task = read_json(TaskReference, parse_json(row[COLUMN]), COLUMN)
    except (KeyError, TypeError, ValueError, DataError) as error:
        raise DataError(
            "expected a row that agentgym export --to prompts or sft wrote, with its task in the "
            f"column {COLUMN!r}, but: {type(error).__name__}: {error}"
        ) from error
    named = [
        *env_claims(task.env, task.kwargs),
        *setting_claims({"prompt": task.prompt}, EVALUATION),
    ]
    check_trusted(named, "the row of the data set", trusted)
    return task

"""Rows of AgentBench's os_interaction: read, and checked.

A row has ``description`` (the question), ``create`` (``init`` prepares the box: a command, or
``code``; ``file`` names a script that is not part of the row), ``start`` (a command that goes on in
the background) and ``evaluation``: ``match`` is the answer, as a text, or as an object with
``answer`` or ``regex``; ``check`` names scripts that run in the agent's own container.

Rows with ``match`` are played. Left out, and counted, are those that start something in the
background, which nothing does in a box between two commands, and those that are judged by scripts
inside, which an agent could have changed.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agentgym.envs.shell.engine.session import Problem
from agentgym.errors import DataError
from agentgym.support.datafiles import read_records

logger = logging.getLogger(__name__)


def read_problems(file: Path, image: str) -> list[Problem]:
    """Read the tasks of a file that can be played.

    Args:
        file: JSON lines, gzipped or not, or a JSON list.
        image: The container image of the boxes; empty for none.

    Raises:
        DataError: It cannot be read, a row is none of os_interaction (the message says which), or
            none can be played.
    """
    problems, left_out = [], 0
    for place, row in read_records(file, "search"):
        try:
            problem = _problem(row, image)
        except (KeyError, TypeError, ValueError, AttributeError, re.error) as error:
            raise DataError(
                f"expected a row of os_interaction in {file}, {place}, got {row!r:.200} "
                f"({type(error).__name__}: {error})"
            ) from error
        problems += [problem] if problem else []
        left_out += problem is None
    if not problems:
        raise DataError(
            f"expected a row in {file} that is judged by its match and starts nothing in the "
            f"background, got {left_out} others"
        )
    if left_out:
        logger.warning("%d rows of %s need a script or a process: left out", left_out, file)
    return problems


def _problem(row: Mapping[str, Any], image: str) -> Problem | None:
    """Read a row; None if it cannot be played."""
    text, evaluation = str(row["description"]), row["evaluation"]
    if row.get("start") or "match" not in evaluation:
        return None
    create = row.get("create") or {}
    init = create.get("init") or "" if isinstance(create, Mapping) else ""
    setup = init if isinstance(init, str) else init.get("code")
    if setup is None:
        return None
    match = evaluation["match"]
    pattern = isinstance(match, Mapping) and "regex" in match
    answer = match["regex" if pattern else "answer"] if isinstance(match, Mapping) else match
    if pattern:
        re.compile(answer)
    labels = row.get("labels") or ["other"]
    return Problem(text, str(labels[0]), {}, str(answer), pattern, setup=str(setup), image=image)

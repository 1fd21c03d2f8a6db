"""Read and check rows of AgentBench's os_interaction.

A row has ``description`` (the question), ``create`` (``init`` prepares the sandbox: a command, or
``code``; ``file`` names a script that is not part of the row), ``start`` (a background command) and
``evaluation``: ``match`` is the answer, as a text, or as an object with ``answer`` or ``regex``;
``check`` names scripts that run in the agent's container; in place of the first, ``example`` can
be a command that prints the answer.

Supported are rows with ``match``, and rows with a script that compares the answer with the output
of ``example``, which runs in a fresh sandbox that the agent never used. Other rows are skipped and
counted: those that start a background process, since sandboxes stop all processes after each
command, and those judged by other scripts, which an agent could have changed.

A row may also have a ``split``.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from agentgym.core.row_splits import SplitRow, by_split, file_split, named_split
from agentgym.core.tasks import canonical_json
from agentgym.envs.shell.engine.patterns import check_patterns, is_anchored
from agentgym.envs.shell.engine.session import Problem
from agentgym.errors import DataError
from agentgym.support.datafiles import read_records

COMPARING = ("integer-match.py", "string-match.py")
"""Scripts that compare the answer with the output of the example."""
logger = logging.getLogger(__name__)


def read_problems(file: Path, image: str) -> Mapping[str, tuple[Problem, ...]]:
    """Read the supported tasks of a file.

    Args:
        file: JSON lines, gzipped or not, or a JSON list.
        image: The container image of the sandboxes; empty for none.

    Returns:
        The problems of each split, see :mod:`agentgym.core.row_splits`.

    Raises:
        DataError: The file cannot be read, a row is not of os_interaction (the message says which),
            or no row is supported.
    """
    problems: list[Problem] = []
    rows: list[SplitRow] = []
    patterns: dict[str, str] = {}
    left_out = 0
    for place, row in read_records(file, "search"):
        try:
            problem = _problem(row, image)
            split = named_split(row.get("split")) or file_split(file)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise DataError(
                f"expected a row of os_interaction in {file}, {place}, got {row!r:.200} "
                f"({type(error).__name__}: {error})"
            ) from error
        if problem is None:
            left_out += 1
            continue
        if problem.pattern:
            patterns[f"{file}, {place}"] = problem.answer
        problems.append(problem)
        rows.append(SplitRow(canonical_json([problem.text, problem.setup]), split))
    if not problems:
        raise DataError(
            f"expected a row in {file} that is judged by its match and starts no background "
            f"process, got {left_out} others"
        )
    check_patterns(patterns)
    _warn_of_unanchored(patterns)
    if left_out:
        logger.warning("skipped %d rows of %s: they need a script or a process", left_out, file)
    return by_split(problems, rows)


def _warn_of_unanchored(patterns: Mapping[str, str]) -> None:
    """Say which patterns AgentBench finds anywhere in an answer, by their places."""
    loose = [place for place, pattern in patterns.items() if not is_anchored(pattern)]
    if loose:
        logger.warning(
            "%d patterns without ^ and $, such as that of %s: AgentBench pays an answer that "
            "contains a match, here the whole answer has to match",
            len(loose), loose[0],
        )  # fmt: skip


def _problem(row: Mapping[str, Any], image: str) -> Problem | None:
    """Read a row; None if it cannot be played."""
    text, evaluation = str(row["description"]), row["evaluation"]
    setup = _command((row.get("create") or {}).get("init", "")) if _is_plain(row) else None
    if row.get("start") or setup is None:
        return None
    labels = row.get("labels") or ["other"]
    if "match" not in evaluation:
        example = _command(evaluation.get("example")) if _compares(evaluation["check"]) else None
        if not example:
            return None
        return Problem(text, str(labels[0]), {}, example=example, setup=setup, image=image)
    match = evaluation["match"]
    pattern = isinstance(match, Mapping) and "regex" in match
    answer = match["regex" if pattern else "answer"] if isinstance(match, Mapping) else match
    if pattern and not isinstance(answer, str):
        raise TypeError(f"expected a text as regex, got {answer!r:.80}")
    return Problem(text, str(labels[0]), {}, str(answer), pattern, setup=setup, image=image)


def _is_plain(row: Mapping[str, Any]) -> bool:
    """Return whether a row says in the usual way how its box is made."""
    return isinstance(row.get("create") or {}, Mapping)


def _command(entry: Any) -> str | None:
    """Return a command of a row; None if it is a script that is not part of it."""
    return entry if isinstance(entry, str) else (entry or {}).get("code")


def _compares(check: Any) -> bool:
    """Return whether a row is judged by comparing the answer with what its example prints."""
    if not isinstance(check, list) or len(check) != 2 or check[0] is not None:
        return False
    return PurePosixPath(str(check[1].get("file"))).name in COMPARING

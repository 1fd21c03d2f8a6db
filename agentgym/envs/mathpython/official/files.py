"""Read sets of problems: one file, or a folder with a file for each split."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from agentgym.core.row_splits import SPLIT_NAMES, SplitRow, by_split, file_split
from agentgym.envs.mathpython.official.rows import UnusableRow, read_row
from agentgym.envs.mathpython.problem import Problem
from agentgym.errors import ConfigurationError, DataError
from agentgym.support.datafiles import ENDINGS as RECORD_ENDINGS
from agentgym.support.datafiles import JSON, read_records, stem

ENDINGS = (*RECORD_ENDINGS, JSON)


def problem_name(path: str | os.PathLike[str]) -> str:
    """Return the name of a set in task ids: the name of its file or folder."""
    return stem(Path(os.path.abspath(path))) or "problems"


def read_problems(path: str | os.PathLike[str]) -> Mapping[str, tuple[Problem, ...]]:
    """Read a set of problems.

    The split of a problem comes from its row or from its file; otherwise
    :mod:`agentgym.core.row_splits` assigns it. Duplicates within a split are dropped.

    Args:
        path: A file, or a folder that holds ``train``, ``valid`` (``dev``, ``val``) or ``test``
            with one of :data:`ENDINGS`.

    Raises:
        ConfigurationError: ``path`` is not a path.
        DataError: The file does not exist, a row cannot be used, or two splits share a question.
        DependencyNotInstalled: A parquet file needs the package ``pyarrow``.
    """
    problems: dict[str, Problem] = {}
    named: dict[str, tuple[str, str]] = {}
    for file, of_file in _files(path).items():
        for place, row in read_records(file, "math"):
            try:
                problem, of_row = read_row(row)
            except UnusableRow as fault:
                raise DataError(f"{fault}, in {place} of {file}") from None
            problems.setdefault(problem.text, problem)
            split = of_row or of_file
            if split is None:
                continue
            first_split, first = named.setdefault(problem.text, (split, f"{place} of {file}"))
            if first_split != split:
                raise DataError(
                    f"expected disjoint splits, got {problem.text!r:.80} in {split} ({place} of "
                    f"{file}) and in {first_split} ({first})"
                )
    if not problems:
        raise DataError(f"expected problems in {path}, got none")
    rows = [SplitRow(text, named[text][0] if text in named else None) for text in problems]
    return by_split([*problems.values()], rows)


def _files(path: str | os.PathLike[str]) -> dict[Path, str | None]:
    """Find the files of a set, each with its split, or None where it is one file of its own."""
    if not isinstance(path, str | os.PathLike) or not os.fspath(path):
        raise ConfigurationError(
            f"expected data to be the path of a file or folder, got {path!r:.80}"
        )
    root = Path(os.path.expanduser(path))
    if root.is_file():
        if not root.name.endswith(ENDINGS):
            raise DataError(f"expected a file that ends with {' or '.join(ENDINGS)}, got {root}")
        return {root: file_split(root)}
    some = {root / f"{name}{end}": split for name, split in SPLIT_NAMES.items() for end in ENDINGS}
    files: dict[Path, str | None] = {file: split for file, split in some.items() if file.is_file()}
    if not files:
        reason = "which does not exist" if not root.exists() else "which holds none of them"
        raise DataError(
            "expected a file of problems, or a folder with train.jsonl, dev.jsonl or test.jsonl "
            f"(.jsonl.gz, .json, .parquet), got {root}, {reason}"
        )
    return files

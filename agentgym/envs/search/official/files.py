"""Question sets in files: one file, or a folder with a file for each split."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from agentgym.core.row_splits import SPLIT_NAMES, SplitRow, by_split, file_split
from agentgym.envs.search.official.records import FIELDS, UnusableRecord, content_of, read_record
from agentgym.envs.search.question import Question
from agentgym.errors import ConfigurationError, DataError
from agentgym.support.datafiles import ENDINGS as RECORD_ENDINGS
from agentgym.support.datafiles import JSON, read_records, stem

ENDINGS = (*RECORD_ENDINGS, JSON)
"""Endings of question files."""
QuestionSet = Mapping[str, tuple[Question, ...]]
"""The questions of each split; none is empty."""


def question_name(path: str | os.PathLike[str]) -> str:
    """Return what a question set is called in task ids: the name of its file or folder."""
    return stem(Path(os.path.abspath(path))) or "questions"


def question_files(path: str | os.PathLike[str]) -> dict[Path, str | None]:
    """Find the files of a question set.

    Args:
        path: A file, or a folder that holds ``train``, ``valid`` (``dev``, ``val``) or ``test``
            with one of :data:`ENDINGS`.

    Returns:
        Each file with its split; None where the file itself tells, or nobody.

    Raises:
        ConfigurationError: It is no path.
        DataError: There is no such file.
    """
    if not isinstance(path, str | os.PathLike) or not os.fspath(path):
        raise ConfigurationError(
            f"expected questions to be the path of a file or folder, got {path!r:.80}"
        )
    root = Path(os.path.expanduser(path))
    if root.is_file():
        if not root.name.endswith(ENDINGS):
            raise DataError(
                f"expected a question file that ends with {' or '.join(ENDINGS)}, got {root}"
            )
        return {root: None}
    split_of: dict[Path, str | None] = {}
    for name, split in SPLIT_NAMES.items():
        files = [root / f"{name}{end}" for end in ENDINGS]
        split_of.update((file, split) for file in files if file.is_file())
    if len(set(split_of.values())) < len(split_of):
        names = ", ".join(file.name for file in split_of)
        raise DataError(f"expected one file for each split in {root}, got {names}: move one away")
    if not split_of:
        reason = "which does not exist" if not root.exists() else "which holds none of them"
        raise DataError(
            "expected a question file, or a folder with train.jsonl, dev.jsonl or test.jsonl "
            f"(.jsonl.gz, .json, .parquet), got {root}, {reason}"
        )
    return split_of


def read_questions(path: str | os.PathLike[str]) -> QuestionSet:
    """Read a question set.

    The split of a question in a folder is that of its file; in a lone file it is that which its
    record names, or its file. Where nothing tells, :mod:`agentgym.core.row_splits` deals it.

    Raises:
        ConfigurationError: ``path`` is no path.
        DataError: A file cannot be read, or a record holds no question or no answers: the message
            has its number.
        DependencyNotInstalled: A parquet file needs the package ``pyarrow``.
    """
    questions: list[Question] = []
    rows: list[SplitRow] = []
    for file, split in question_files(path).items():
        for place, record in read_records(file, "search", FIELDS):
            try:
                question, named_split = read_record(record)
            except UnusableRecord as problem:
                raise DataError(
                    f"{problem} in {file}, {place}; correct it or leave it out"
                ) from None
            questions.append(question)
            rows.append(SplitRow(content_of(question), split or named_split or file_split(file)))
    if not questions:
        raise DataError(f"expected questions in {path}, but there is none")
    return by_split(questions, rows)

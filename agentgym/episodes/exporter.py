"""Export files of episodes to other formats, as a stream: a file may be larger than memory."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from itertools import chain, repeat
from pathlib import Path
from typing import Any, Literal, get_args

from agentgym.conversation import Prompt
from agentgym.core.env import TextEnv
from agentgym.episodes.agenttraj import to_item
from agentgym.episodes.any_file import read_any
from agentgym.episodes.atif import to_atif, trajectory_folder
from agentgym.episodes.chats import ChatOptions, ChatWriter
from agentgym.episodes.prompt_writer import PromptWriter
from agentgym.episodes.records import Episode
from agentgym.episodes.table_rows import schema, to_row
from agentgym.errors import ConfigurationError, DataError, require
from agentgym.support.caching import SCRATCH, publish
from agentgym.support.spreadsheets import as_text_cell

Form = Literal[
    "parquet", "jsonl", "csv", "datasets", "sft", "prompts", "atif", "agenttraj", "records"
]
Row = dict[str, Any]

SPREADSHEET = (
    "env_id", "task_id", "split", "goal", "policy", "seed", "stop_reason", "success", "score",
    "reward", "num_turns",
)  # fmt: skip
"""Columns of a CSV file, for spreadsheets."""
ROWS = 256
"""Maximum number of rows in a row group of a parquet file."""
CHARACTERS = 1 << 24
"""Characters of observations and model texts after which a row group is full."""
_CARD = """---
configs:
- config_name: default
  data_files:
{files}
---
Episodes of text environments, one a row. Written by `agentgym export`; the columns are described in
`agentgym.episodes.table_rows`.
"""


@dataclass
class ExportReport:
    """Result of the export of a file of episodes."""

    episodes: int = 0
    """Episodes read."""
    exported: int = 0
    """Number of exported episodes."""
    rows: int = 0
    """Number of rows: one per episode, except for conversations with one row per turn."""
    left_out: Counter[str] = field(default_factory=Counter)
    """Number of episodes left out, by reason."""
    torn: list[int] = field(default_factory=list)
    """Numbers of truncated lines, which were skipped."""


def export(
    source: str | Path | Iterable[Episode],
    out: str | Path,
    to: Form,
    *,
    env: str = "",
    prompt: str = "",
    chats: ChatOptions | None = None,
    prompt_at: Callable[[TextEnv], Prompt] = Prompt.at,
    only_successes: bool = False,
    min_score: float | None = None,
    on_episode: Callable[[], None] | None = None,
) -> ExportReport:
    """Write a file of episodes in another format.

    Args:
        source: A JSONL file of episodes, or any other file that `agentgym.episodes.read_any` reads;
            or the episodes.
        out: File, or for ``datasets`` and ``atif`` folder, which must not exist; it appears when it
            is complete.
        to: ``parquet`` or ``jsonl``, the rows of `agentgym.episodes.to_row`; ``csv``, their
            `SPREADSHEET` columns; ``datasets``, a folder for ``datasets.load_dataset`` and the hub,
            with a parquet file for each split; ``sft``, JSON lines of conversations, see
            `agentgym.episodes.ChatWriter`; ``prompts``, a row for each task as parquet, or as JSON
            lines if ``out`` ends in ``.jsonl``, see `agentgym.episodes.prompt_writer`; ``atif``, a
            folder of trajectories in the format of Harbor, see `agentgym.episodes.atif`;
            ``agenttraj``, a file of AgentGym's trajectories, see `agentgym.episodes.agenttraj`; or
            ``records``, unchanged records.
        env: Name of the environment in rows of ``prompts``; empty: as recorded.
        prompt: Name of the prompt in these rows; empty: its own.
        chats: Options of conversations (``sft`` only).
        prompt_at: Returns the prompt for an environment (``sft``, ``prompts`` and ``agenttraj``).
        only_successes: Leave out episodes that were not solved.
        min_score: Leave out episodes with a lower final score.
        on_episode: Called after each episode, for progress display.

    Returns:
        The numbers of exported and omitted episodes.

    Raises:
        ConfigurationError: An argument is invalid, ``out`` exists, or (``sft``, ``prompts``,
            ``agenttraj``) an environment cannot be made from its record.
        DataError: The source cannot be read, or a number does not fit into 64 bits.
        DependencyNotInstalled: The package ``pyarrow`` is needed and missing.
    """
    if to not in get_args(Form):
        raise ConfigurationError(
            f"expected a form among {', '.join(get_args(Form))}; got {to!r:.80}"
        )
    if chats is not None and to != "sft":
        raise ConfigurationError(
            f"expected options of conversations with the form sft only, got them with {to}"
        )
    report, writer = ExportReport(), ChatWriter(chats, prompt_at)
    makers = {**_row_makers(writer), "prompts": PromptWriter(writer, env, prompt).rows}
    make_rows = makers.get(to, lambda episode: [to_row(episode)])
    if isinstance(source, str | Path):
        episodes, place = read_any(source, on_torn=report.torn.append), f" in {source}"
    else:
        episodes, place = iter(source), ""
    # The order matters: _open_file closes the file before new_path renames it.
    with closing(writer), new_path(out) as scratch, _open_file(to, scratch) as write:
        for episode in episodes:
            report.episodes += 1
            reason = _left_out(episode, only_successes, min_score)
            reason = reason or (writer.why_not(episode) if to == "sft" else "")
            if reason:
                report.left_out[reason] += 1
            else:
                rows = make_rows(episode)
                write(rows)
                report.exported += 1
                report.rows += len(rows)
            if on_episode:
                on_episode()
        if not report.exported:
            raise DataError(f"expected episodes to export{place}, but {_nothing(report)}")
    return report


def _nothing(report: ExportReport) -> str:
    if not report.episodes:
        return "there is none"
    reasons = "; ".join(f"{n}: {why}" for why, n in report.left_out.items())
    return f"all {report.episodes} are left out ({reasons})"


def _left_out(episode: Episode, only_successes: bool, min_score: float | None) -> str:
    if not episode.began:
        return "the environment never began"
    if only_successes and not episode.success:
        return "not solved"
    if min_score is not None and episode.score < min_score:
        return f"score below {min_score:g}"
    return ""


@contextmanager
def new_path(out: str | Path) -> Iterator[Path]:
    """Yield a temporary name beside ``out`` for a file or folder, which is renamed at the end.

    Raises:
        ConfigurationError: The name exists, or cannot be written.
    """
    target = Path(out)
    scratch = target.with_name(f"{SCRATCH}{os.getpid()}-{target.name}")
    try:
        exists = os.path.lexists(target)
        target.parent.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        raise _not_writable(out, error) from error
    if exists:
        raise ConfigurationError(
            f"expected an unused name, got {out}, which exists: choose another, or remove it"
        )
    try:
        yield scratch
        publish(scratch, target)
    except OSError as error:
        raise _not_writable(out, error) from error
    finally:
        if scratch.is_dir():
            shutil.rmtree(scratch, ignore_errors=True)
        else:
            scratch.unlink(missing_ok=True)


def _not_writable(out: str | Path, error: Exception) -> ConfigurationError:
    reason = getattr(error, "strerror", None) or error
    return ConfigurationError(f"expected a writable path, got {out}: {reason}")


def _row_makers(writer: ChatWriter) -> Mapping[str, Callable[[Episode], list[Row]]]:
    """Return the functions that make the rows of an episode, for the forms other than tables."""
    return {
        "sft": writer.rows,
        "atif": lambda episode: [to_atif(episode)],
        "agenttraj": lambda episode: [to_item(episode, writer.speech(episode))],
        "records": lambda episode: [_record(episode)],
    }


def _record(episode: Episode) -> Row:
    record: Row = json.loads(episode.to_line())
    return record


Write = Callable[[Iterable[Row]], None]


@contextmanager
def _open_file(to: Form, path: Path) -> Iterator[Write]:
    """Yield a function that writes rows in a form."""
    writers = {
        "parquet": _parquet, "csv": _csv, "datasets": _data_set, "atif": trajectory_folder,
        "agenttraj": _json_list, "prompts": _prompts,
    }  # fmt: skip
    opened = writers.get(to, _json_lines)
    with opened(path) as write:
        yield write


@contextmanager
def _json_lines(path: Path) -> Iterator[Write]:
    with path.open("x", encoding="ascii") as file:
        yield lambda rows: file.writelines(json.dumps(row) + "\n" for row in rows)


@contextmanager
def _prompts(path: Path) -> Iterator[Write]:
    """Write rows of prompts, whose columns have the types of their answers."""
    if path.suffix == ".jsonl":
        with _json_lines(path) as write:
            yield write
        return
    rows: list[Row] = []
    yield rows.extend
    arrow, parquet = require("pyarrow", "search"), require("pyarrow.parquet", "search")
    try:
        parquet.write_table(arrow.Table.from_pylist(rows), path)
    except arrow.ArrowException as error:
        raise DataError(
            f"expected tasks with one kind of answer, but: {error}; export those of one "
            "environment at a time, or to a file that ends in .jsonl"
        ) from error


def write_prompt_rows(path: Path, rows: Iterable[Row]) -> None:
    """Write rows of prompts, or of other data sets with nested columns, as ``export`` does.

    Args:
        path: New file; JSON lines if it ends in ``.jsonl``, else parquet.
        rows: The rows.

    Raises:
        DataError: A column holds several types.
        DependencyNotInstalled: pyarrow is missing.
    """
    with _prompts(path) as write:
        write(rows)


@contextmanager
def _json_list(path: Path) -> Iterator[Write]:
    separators = chain(["["], repeat(","))
    with path.open("x", encoding="ascii") as file:
        yield lambda rows: file.writelines(f"{next(separators)}\n{json.dumps(row)}" for row in rows)
        file.write("\n]\n")


@contextmanager
def _csv(path: Path) -> Iterator[Write]:
    with path.open("x", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(SPREADSHEET)
        # The csv module of Python 3.10 refuses a NUL.
        yield lambda rows: table.writerows(
            [
                as_text_cell(value).replace("\0", "\ufffd")
                if isinstance(value := row[name], str)
                else value
                for name in SPREADSHEET
            ]
            for row in rows
        )


@contextmanager
def _parquet(path: Path) -> Iterator[Write]:
    columns = schema()
    arrow, parquet = require("pyarrow", "search"), require("pyarrow.parquet", "search")
    waiting: list[Row] = []
    size = 0

    def flush() -> None:
        nonlocal size
        try:
            file.write_table(arrow.Table.from_pylist(waiting, schema=columns))
        except (arrow.ArrowInvalid, OverflowError) as error:
            raise DataError(
                f"expected numbers of at most 64 bits in episodes of {waiting[0]['env_id']}, but: "
                f"{error}"
            ) from error
        waiting.clear()
        size = 0

    def write(rows: Iterable[Row]) -> None:
        nonlocal size
        for row in rows:
            waiting.append(row)
            size += sum(
                len(turn["observation"]) + len(turn["raw_text"] or "") for turn in row["turns"]
            )
            if len(waiting) >= ROWS or size >= CHARACTERS:
                flush()

    with parquet.ParquetWriter(path, columns, compression="zstd") as file:
        yield write
        if waiting:
            flush()


@contextmanager
def _data_set(folder: Path) -> Iterator[Write]:
    """Write one parquet file per split, and a data set card that lists the files."""
    (folder / "data").mkdir(parents=True)
    writers: dict[str, Write] = {}
    with ExitStack() as stack:

        def write(rows: Iterable[Row]) -> None:
            for row in rows:
                # A record's text becomes a file name: replace separators, so that it cannot point
                # outside of the folder.
                split = re.sub(r"\W", "_", row["split"], flags=re.ASCII) or "unknown"
                if split not in writers:
                    path = folder / "data" / f"{split}.parquet"
                    writers[split] = stack.enter_context(_parquet(path))
                writers[split]([row])

        yield write
    files = "\n".join(f"  - split: {name}\n    path: data/{name}.parquet" for name in writers)
    (folder / "README.md").write_text(_CARD.format(files=files), encoding="ascii")

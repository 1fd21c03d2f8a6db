"""What a person sees of runs that are being played."""

from __future__ import annotations

import json
import multiprocessing
from functools import partial
from pathlib import Path
from typing import Any

from trainers.output.jsonl import append_line, filter_lines
from trainers.phases.multirun.cache import Keys, Run
from trainers.phases.multirun.playing import Playing


def test_a_run_is_where_its_last_record_says_also_after_the_file_was_replaced(
    tmp_path: Path,
) -> None:
    path, process = tmp_path / "metrics.jsonl", multiprocessing.Process()
    run = Run("", 3, (), Keys("seed3", "seed3"))
    playing = Playing(process, run, path)
    assert playing.look() == "seed 3: begins"
    for step in range(1, 30):
        append_line(path, json.dumps({"phase": "rl", "step": step, "success": 0.5}))
    assert playing.look() == "seed 3: training 29" == playing.look()
    with path.open("a") as file:
        file.write('{"phase": "va')  # not written whole yet
    assert playing.look() == "seed 3: training 29"
    path.write_text(path.read_text().rpartition("\n")[0] + "\n")
    filter_lines(path, lambda record: record["step"] <= 3)
    append_line(path, json.dumps({"phase": "eval", "arm": "trained-greedy", "rows": []}))
    assert playing.look() == "seed 3: compared trained-greedy"
    append_line(path, json.dumps({"phase": "health", "step": 4}))
    assert playing.look() == "seed 3: health 4"
    playing.close()


def test_a_file_is_read_from_its_beginning_also_if_it_has_the_number_of_the_last_one(
    tmp_path: Path,
) -> None:
    """A file system gives the number of a file that is gone to one of the next."""
    path, process = tmp_path / "metrics.jsonl", multiprocessing.Process()
    playing = Playing(process, Run("", 3, (), Keys("seed3", "seed3")), path)
    append_line(path, json.dumps({"phase": "rl", "step": 1}))
    assert playing.look() == "seed 3: training 1"
    number = path.stat().st_ino
    for step in range(2, 30):
        append_line(path, json.dumps({"phase": "rl", "step": step, "rows": [0] * 99}))
        filter_lines(path, partial(_is_of, step))
        if path.stat().st_ino == number:
            break
    assert playing.look() == f"seed 3: training {step}"
    playing.close()


def _is_of(step: int, record: dict[str, Any]) -> bool:
    return bool(record["step"] == step)

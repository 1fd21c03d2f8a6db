"""Compare the SWE grader with an independent judge on fuzzed submissions.

Submissions are mutations of solutions, of faults, of exploits and of both (``submissions.py``).
Each is judged by the grader and by a judge that shares no code with it (``independent_judge.py``).
Wrongly accepted and wrongly rejected submissions are listed; ``--only N`` rebuilds and prints one
of them. Rows are written as they come; with the same ``--rows`` the script continues. Exit code 1
if a wrong submission with an exploit was accepted.

Usage:
    python benchmarks/swe_fuzzed_submissions.py [--n 1000] [--data bundled-tokens] [--jobs 2]
        [--rows ROWS.jsonl] [--only N]

Smallest run: ``--n 10``
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from agentgym.envs.swe.edits import write_diff
from agentgym.envs.swe.grading import FULL, Grader
from agentgym.envs.swe.instance import FolderSource, Instance
from agentgym.envs.swe.instance_boxes import Boxes
from agentgym.envs.swe.making.red_team import sample_tasks
from agentgym.envs.swe.tasks import Source, open_instances
from agentgym.envs.swe.trees import contents
from agentgym.support.growing_file import append_line, drop_cut_line
from benchmarks.independent_judge import judge
from benchmarks.provenance import to_json
from benchmarks.submissions import KINDS, Submission, submission

TIMEOUT = 30.0


def graded(number: int, seed: int, tasks: Sequence[Instance], boxes: Boxes) -> dict[str, Any]:
    """Make a submission, and return the verdicts of grader and judge."""
    submitted = submission(number, seed, tasks)
    grade = Grader(boxes, TIMEOUT).grade(submitted.instance, submitted.edits)
    opinion = judge(boxes, submitted.instance, submitted.edits)
    plain_count = sum(name.startswith("0:") for name in opinion.wrong)
    return {
        "number": number,
        "task": submitted.instance.id,
        "kind": submitted.kind,
        "how": submitted.how,
        "full": grade.verdict == FULL,
        "reason": grade.reason,
        "tampered": grade.tampered,
        "right": opinion.right,
        "asked": opinion.questions,
        "wrong": len(opinion.wrong),
        "wrong_plain": plain_count,
        "example": list(opinion.wrong[:2]),
    }


def describe_submission(submitted: Submission) -> str:
    """Return a submission as a diff, for people."""
    assert isinstance(submitted.instance.source, FolderSource)
    sources = contents(submitted.instance.source)
    submitted_files = {
        path: text for path, text in {**sources, **submitted.edits}.items() if text is not None
    }
    head = f"# {submitted.number}: {submitted.instance.id}, {submitted.kind}: {submitted.how}\n"
    return head + write_diff(sources, submitted_files)


def summary(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return how often grader and judge agree, and their disagreements."""
    kinds = {}
    for kind in KINDS:
        kind_rows = [row for row in rows if row["kind"] == kind]
        kinds[kind] = {"submissions": len(kind_rows), **_cells(kind_rows)}
    cells = _cells(rows)
    named = ("number", "task", "kind", "how", "reason", "wrong", "wrong_plain", "asked", "example")
    disagreements = {
        name: [{key: row[key] for key in named} for row in rows if _cell(row) == name]
        for name in ("accepted though wrong", "refused though right")
    }
    return {
        "submissions": len(rows),
        "tasks": len({row["task"] for row in rows}),
        "agreement": cells["both accept"] + cells["both refuse"],
        **cells,
        "by_kind": kinds,
        "disagreements": disagreements,
    }


def _cells(rows: Sequence[dict[str, Any]]) -> dict[str, int]:
    counts = Counter(_cell(row) for row in rows)
    names = ("both accept", "both refuse", "accepted though wrong", "refused though right",
             "right beside an exploit, and refused")  # fmt: skip
    return {name: counts[name] for name in names}


def _cell(row: dict[str, Any]) -> str:
    if row["full"]:
        return "both accept" if row["right"] else "accepted though wrong"
    if not row["right"]:
        return "both refuse"
    if row["kind"] == "both":  # changes to tests are not behaviour of the library
        return "right beside an exploit, and refused"
    return "refused though right"


def main() -> int:
    """Grade submissions, and print the result."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--n", type=int, default=1000, help="submissions")
    parser.add_argument("--data", default="bundled-tokens", help="where the tasks come from")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tasks", type=int, default=128, help="tasks that are drawn from")
    parser.add_argument("--jobs", type=int, default=2, help="submissions at once")
    parser.add_argument("--rows", type=Path, help="file of the rows, to resume")
    parser.add_argument("--only", type=int, help="make this submission alone, and print it")
    options = parser.parse_args()
    instances = open_instances(Source(options.data))
    places = sample_tasks(instances, options.tasks, options.seed)
    tasks, boxes = [instances.instance(*place) for place in sorted(places)], Boxes()
    if options.only is not None:
        print(describe_submission(submission(options.only, options.seed, tasks)))
        print(json.dumps(graded(options.only, options.seed, tasks, boxes), indent=2))
        return 0
    rows: dict[int, dict[str, Any]] = {}
    if options.rows is not None:
        drop_cut_line(options.rows)
        if options.rows.exists():
            lines = map(json.loads, options.rows.read_text("utf-8").splitlines())
            rows = {row["number"]: row for row in lines}
    pending = [number for number in range(options.n) if number not in rows]
    with ThreadPoolExecutor(options.jobs) as pool:
        running = [pool.submit(graded, n, options.seed, tasks, boxes) for n in pending]
        for count, future in enumerate(as_completed(running), 1):
            row = future.result()
            rows[row["number"]] = row
            if options.rows is not None:
                append_line(options.rows, json.dumps(row) + "\n")
            sys.stderr.write(f"\r{count} of {len(pending)}")
    result = summary([rows[number] for number in range(options.n)])
    print(to_json({"data": options.data, "seed": options.seed, **result}))
    accepted_wrong = result["disagreements"]["accepted though wrong"]
    return int(any(row["kind"] in ("exploit", "both") for row in accepted_wrong))


if __name__ == "__main__":
    sys.exit(main())

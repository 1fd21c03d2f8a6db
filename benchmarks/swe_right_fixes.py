"""Check that the SWE grader accepts right repairs in other words than the stored one.

For each task the repaired function is rewritten in several behaviour-preserving ways
(``rewrites.py``); ``right_fixes.toml`` has others, written by hand. All of them must be FULL. If
one is not, the independent judge decides whether the repair or the grader is wrong. Exit code 1 if
a repair is not FULL. Rows are written as they come; with the same ``--rows`` the script continues.

Usage:
    python benchmarks/swe_right_fixes.py [--tasks 100] [--each 3] [--data bundled-tokens] [--jobs 2]
        [--rows ROWS.jsonl]

Smallest run: ``--tasks 5``
"""

from __future__ import annotations

import argparse
import ast
import json
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

from agentgym.envs.swe.diffs import apply_diff
from agentgym.envs.swe.grading import FULL, Grader
from agentgym.envs.swe.instance import FolderSource, Instance
from agentgym.envs.swe.instance_boxes import Boxes
from agentgym.envs.swe.making.red_team import sample_tasks
from agentgym.envs.swe.tasks import InstanceSet, Source, open_instances
from agentgym.envs.swe.trees import contents
from agentgym.support.growing_file import append_line, drop_cut_line
from agentgym.support.random_stream import Stream
from benchmarks.independent_judge import judge
from benchmarks.provenance import to_json
from benchmarks.rewrites import REWRITES, rewrite

BY_HAND = Path(__file__).with_name("right_fixes.toml")
TIMEOUT = 60.0


class Fix(NamedTuple):
    """A repair other than the stored one."""

    instance: Instance
    how: str
    edits: dict[str, bytes | None]

    @property
    def name(self) -> str:
        """Identifies the repair."""
        return f"{self.instance.id}: {self.how}"


def place_of_fault(instance: Instance) -> tuple[str, int]:
    """Return the file of the fault and its line in the repaired file."""
    assert isinstance(instance.source, FolderSource)
    first = instance.source.edits[0]
    sound = (instance.source.folder / first.path).read_bytes()
    return first.path, sound[: first.start].count(b"\n") + 1


def solution(instance: Instance) -> dict[str, bytes | None]:
    """Return the files of the stored solution."""
    assert isinstance(instance.source, FolderSource)
    return dict(apply_diff(instance.patch, contents(instance.source).get))


def rewritten(instance: Instance, limit: int, seed: int = 0) -> list[Fix]:
    """Return different rewrites of the solution, at most ``limit``."""
    if not isinstance(instance.source, FolderSource) or not instance.source.edits:
        return []
    edits = solution(instance)
    path, line = place_of_fault(instance)
    content = edits.get(path)
    if content is None:
        return []
    text = content.decode()
    draw = Stream("right-fixes", seed, instance.id)
    order = draw.shuffled(list(REWRITES))
    chains = [[name] for name in order] + [draw.sample(order, 2) for _ in range(20)]
    dumps, fixes = {ast.dump(ast.parse(text))}, []
    for chain in chains:
        new = rewrite(text, line, chain)
        if new is None or ast.dump(ast.parse(new)) in dumps:
            continue
        dumps.add(ast.dump(ast.parse(new)))
        fixes.append(Fix(instance, ", ".join(chain), {**edits, path: new.encode()}))
        if len(fixes) == limit:
            break
    return fixes


def by_hand(instances: InstanceSet, file: Path = BY_HAND) -> Iterator[Fix]:
    """Yield the hand-written repairs of existing tasks."""
    for repair in tomllib.loads(file.read_text("utf-8"))["fixes"]:
        place = instances.find(repair["task"])
        if place is None:
            continue
        instance = instances.instance(*place)
        assert isinstance(instance.source, FolderSource)
        path, _ = place_of_fault(instance)
        text = contents(instance.source)[path].decode()
        if text.count(repair["old"]) != 1:
            raise SystemExit(f"expected the old piece of {repair['task']} once in {path}")
        edits: dict[str, bytes | None] = {path: text.replace(repair["old"], repair["new"]).encode()}
        yield Fix(instance, "by hand", edits)


def graded(fix: Fix, boxes: Boxes) -> dict[str, Any]:
    """Grade a repair; if it is not FULL, ask the judge."""
    grade = Grader(boxes, TIMEOUT).grade(fix.instance, fix.edits)
    row: dict[str, Any] = {
        "task": fix.instance.id,
        "how": fix.how,
        "verdict": grade.verdict,
        "reason": grade.reason,
    }
    if grade.verdict != FULL:
        opinion = judge(boxes, fix.instance, fix.edits)
        row |= {"judge": opinion.right, "judge_wrong": list(opinion.wrong[:3])}
    return row


def collect(instances: InstanceSet, tasks: int, per_task: int, seed: int) -> list[Fix]:
    """Return rewritten repairs of the requested number of tasks, and all hand-written ones."""
    n_tasks = sum(instances.len(split) for split in instances.splits)
    fixes_by_task: list[list[Fix]] = []
    for place in sample_tasks(instances, n_tasks, seed):
        if len(fixes_by_task) == tasks:
            break
        fixes = rewritten(instances.instance(*place), per_task, seed)
        if len(fixes) == per_task:
            fixes_by_task.append(fixes)
    return [*(fix for fixes in fixes_by_task for fix in fixes), *by_hand(instances)]


def main() -> int:
    """Grade repairs, and print the result."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tasks", type=int, default=100, help="tasks with rewritten repairs")
    parser.add_argument("--each", type=int, default=3, help="rewritten repairs of each")
    parser.add_argument("--data", default="bundled-tokens", help="where the tasks come from")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2, help="gradings at once")
    parser.add_argument("--rows", type=Path, help="file of the rows, to resume")
    options = parser.parse_args()
    fixes = collect(open_instances(Source(options.data)), options.tasks, options.each, options.seed)
    rows: dict[str, dict[str, Any]] = {}
    if options.rows is not None:
        drop_cut_line(options.rows)
        if options.rows.exists():
            lines = map(json.loads, options.rows.read_text("utf-8").splitlines())
            rows = {f"{row['task']}: {row['how']}": row for row in lines}
    boxes = Boxes()
    with ThreadPoolExecutor(options.jobs) as pool:
        running = [pool.submit(graded, fix, boxes) for fix in fixes if fix.name not in rows]
        for number, future in enumerate(as_completed(running), 1):
            row = future.result()
            rows[f"{row['task']}: {row['how']}"] = row
            if options.rows is not None:
                append_line(options.rows, json.dumps(row) + "\n")
            sys.stderr.write(f"\r{number} of {len(running)}")
    result = summary([rows[fix.name] for fix in fixes])
    print(to_json({"data": options.data, "seed": options.seed, "each": options.each, **result}))
    return int(bool(result["refused"]))


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the figures."""
    hand = [row for row in rows if row["how"] == "by hand"]
    drawn_rows = [row for row in rows if row["how"] != "by hand"]
    ways: Counter[str] = Counter()
    for row in drawn_rows:
        ways.update(row["how"].split(", "))
    return {
        "rewritten": _share(drawn_rows),
        "by_hand": _share(hand),
        "rewrites": dict(sorted(ways.items())),
        "refused": [row for row in rows if row["verdict"] != FULL],
    }


def _share(rows: list[dict[str, Any]]) -> dict[str, int]:
    full = sum(row["verdict"] == FULL for row in rows)
    return {"tasks": len({row["task"] for row in rows}), "fixes": len(rows), "full": full}


if __name__ == "__main__":
    sys.exit(main())

"""Write bundled SWE tasks as rows of a published set, each with an image built here.

Rows have SWE-Gym's format. An image contains this machine's Debian programs and Python, pytest, and
the faulty repository in ``/testbed``; the row has the deciding tests. Images go into the store of
``agentgym images``, so no registry or daemon is needed.

Usage:
    python benchmarks/image_rows.py FOLDER [--tasks 1] [--seed 0]
    agentgym swe gold FOLDER/rows.jsonl --sandbox namespace --pull never
    python benchmarks/swe_red_team.py --data FOLDER/rows.jsonl --sandbox namespace --pull never

Smallest run: ``FOLDER``
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from agentgym.envs.swe.bundled import bundled_instances
from agentgym.envs.swe.diffs import read_diff
from agentgym.envs.swe.instance import FolderSource, ImageSource, Instance
from agentgym.envs.swe.making.red_team import sample_tasks
from agentgym.envs.swe.official import open_official
from agentgym.envs.swe.trees import contents
from tests.envs.swe.official.local_image import StoredImages


def row_of(instance: Instance) -> dict[str, Any]:
    """Return a task as an SWE-Gym row, which runs the files changed by its test patch."""
    name = instance.id.replace("-", "_")
    files = {change.new_path for change in read_diff(instance.test_patch)}
    return {
        "instance_id": f"bundled__{name}-1",
        "repo": f"bundled/{name}",
        "base_commit": "c" * 40,
        "version": "1.0",
        "created_at": "2020-01-01T00:00:00Z",
        "hints_text": "",
        "problem_statement": instance.statement,
        "patch": instance.patch,
        "test_patch": instance.test_patch,
        "FAIL_TO_PASS": [*instance.fail_to_pass],
        "PASS_TO_PASS": [x for x in instance.pass_to_pass if x.partition("::")[0] in files],
    }


def write_repository(instance: Instance, folder: Path) -> None:
    """Write the faulty repository, in one commit."""
    assert isinstance(instance.source, FolderSource)
    for path, content in contents(instance.source).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "base"]):
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments]
        subprocess.run(command, cwd=folder, check=True)


def make(folder: Path, count: int, seed: int) -> Path:
    """Make the images of some tasks of different libraries; return the file of their rows."""
    bundled = bundled_instances("bundled", hidden_tests=True)
    tasks = [bundled.instance(*place) for place in sorted(sample_tasks(bundled, count, seed))]
    folder.mkdir(parents=True, exist_ok=True)
    rows = folder / "rows.jsonl"
    rows.write_text("".join(json.dumps(row_of(task)) + "\n" for task in tasks), "utf-8")
    official = open_official(str(rows))
    [split] = official.splits
    with tempfile.TemporaryDirectory() as scratch:
        images = StoredImages(Path(scratch))
        for number, task in enumerate(tasks):
            source = official.instance(split, number).source
            assert isinstance(source, ImageSource)
            write_repository(task, Path(scratch) / task.id)
            images.build(source.image, Path(scratch) / task.id, {})
    return rows


def main() -> None:
    """Make rows and images."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tasks", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print(make(options.folder, options.tasks, options.seed))


if __name__ == "__main__":
    main()

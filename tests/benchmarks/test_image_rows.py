"""Bundled tasks as rows of a published set: what a row holds, read as anybody would read it."""

from __future__ import annotations

import json
from pathlib import Path

from agentgym.envs.swe.bundled import bundled_instances
from agentgym.envs.swe.instance import ImageSource
from agentgym.envs.swe.official import open_official
from benchmarks.image_rows import row_of


def test_a_row_names_the_tests_that_its_command_runs(tmp_path: Path) -> None:
    task = bundled_instances("bundled", hidden_tests=True).instance("train", 0)
    (tmp_path / "rows.jsonl").write_text(json.dumps(row_of(task)) + "\n")
    parsed = open_official(str(tmp_path / "rows.jsonl"))
    instance = parsed.instance(parsed.splits[0], 0)
    assert isinstance(instance.source, ImageSource) and instance.source.image
    assert (instance.patch, instance.fail_to_pass) == (task.patch, task.fail_to_pass)
    files = {test.partition("::")[0] for test in instance.fail_to_pass}
    tests_in_files = {test for test in task.pass_to_pass if test.partition("::")[0] in files}
    assert tests_in_files <= set(instance.pass_to_pass) < set(task.pass_to_pass)

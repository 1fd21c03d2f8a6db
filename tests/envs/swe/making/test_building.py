"""Making tasks: what is written, how it goes on, and that a seed gives the same again."""

from __future__ import annotations

import json

import pytest

from agentgym.envs.swe.grading import FULL, NO, Grader
from agentgym.envs.swe.instance_boxes import Boxes
from agentgym.envs.swe.making import task_builder as building
from agentgym.envs.swe.making.task_builder import TRIALS, TaskFolder, build_tasks, summary
from agentgym.envs.swe.stored_instances import INSTANCES, StoredInstances
from agentgym.errors import DataError
from tests.envs.swe.boxed import needs_box
from tests.envs.swe.making.library import make_library

pytestmark = needs_box


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Tasks of the small library, with what came of it."""
    root = tmp_path_factory.mktemp("built")
    library = make_library(root / "prices")
    counts = []
    progress = build_tasks(
        library, root / "out", {"mutation": 3}, watch=lambda state: counts.append(state.trials)
    )
    return root, progress, counts


def test_every_trial_is_counted_and_shown(built):
    root, progress, counts = built
    assert progress.usable == 3 and progress.tests == 6
    assert counts == list(range(1, progress.trials + 1))
    trials = [json.loads(line) for line in (root / "out" / TRIALS).read_text().splitlines()]
    assert len(trials) == progress.trials
    assert sum(trial["outcome"] == "usable" for trial in trials) == 3
    [cells] = summary([progress])
    assert cells[:3] == ("prices", "6", "0") and cells[5] == "3"


def test_the_tasks_can_be_solved_and_not_by_doing_nothing(built):
    root, _, _ = built
    stored = StoredInstances(root / "out")
    stored.check()
    grader = Grader(Boxes())
    places = [(split, index) for split in stored.splits for index in range(stored.len(split))]
    assert len(places) == 3
    for split, index in places:
        instance = stored.instance(split, index)
        path = instance.source.edits[0].path
        sound = (instance.source.folder / path).read_bytes()
        assert grader.grade(instance, {path: sound}).verdict == FULL
        assert grader.grade(instance, {}).verdict == NO
        assert path not in instance.statement and instance.details["kind"] not in instance.statement


@pytest.mark.slow
def test_a_run_that_was_cut_off_goes_on_where_it_stopped(built, tmp_path, monkeypatch):
    root, progress, _ = built
    instances = (root / "out" / INSTANCES).read_text()
    trials = (root / "out" / TRIALS).read_text().splitlines(keepends=True)
    # Killed in the middle of a line, after a task was written and before its trial was.
    output = tmp_path / "out"
    output.mkdir()
    lines = instances.splitlines(keepends=True)
    (output / INSTANCES).write_text("".join(lines[:2]) + lines[2][:40])
    first = next(n for n, line in enumerate(trials) if '"usable"' in line)
    (output / TRIALS).write_text("".join(trials[:first]) + trials[first][:10])
    keys = []
    real = building._try
    monkeypatch.setattr(building, "_try", lambda *a: keys.append(a[2].key) or real(*a))
    resumed = build_tasks(root / "prices", output, {"mutation": 3})
    assert (output / INSTANCES).read_text() == instances
    assert len(keys) == progress.trials - first - 1 and resumed.usable == 3
    assert build_tasks(root / "prices", output, {"mutation": 3}).trials == resumed.trials
    assert len(keys) == progress.trials - first - 1  # nothing was left to try


def test_another_seed_gives_other_tasks(built, tmp_path):
    root, _, _ = built
    build_tasks(root / "prices", tmp_path, {"mutation": 1}, seed=1)
    assert not (root / "out" / INSTANCES).read_text().startswith((tmp_path / INSTANCES).read_text())


def test_a_library_that_changed_in_between_is_refused(built, tmp_path):
    root, _, _ = built
    library = make_library(tmp_path / "prices")
    output = TaskFolder(tmp_path / "out")
    folder = output.hold(library, "prices")
    for line in (root / "out" / INSTANCES).read_text().splitlines(keepends=True)[:1]:
        (tmp_path / "out" / INSTANCES).write_text(line)
    (folder / "prices" / "more.py").write_text("x = 1\n")
    with pytest.raises(DataError, match="its files have changed"):
        build_tasks(library, tmp_path / "out", {"mutation": 1})


def test_a_folder_without_python_is_refused(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="expected Python files"):
        build_tasks(tmp_path / "empty", tmp_path / "out", {"mutation": 1})

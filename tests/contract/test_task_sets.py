from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from agentgym.core.env import TextEnv
from agentgym.core.tasks import SPLITS, canonical_json
from agentgym.errors import ConfigurationError, TaskNotFound
from tests.contract.conftest import share

ROOT = Path(__file__).resolve().parents[2]
MANY = 300
PANELS_TEST = "test_panels_are_the_same_in_every_process"

PANELS = """
import json, sys, gymnasium, agentgym
import tests.toy, tests.authoring.tools.sums, tests.contract.variants
for env_id in sys.argv[1:]:
    try:
        tasks = gymnasium.make(env_id).unwrapped.tasks
        panels = [tasks.panel(split, min(20, tasks.len(split)), seed=3) for split in tasks.splits]
    except agentgym.errors.AgentGymError:
        continue  # What it needs is missing here, and its test is skipped.
    print(json.dumps([env_id, [[panel.sha256, list(panel.ids)] for panel in panels]]), flush=True)
"""


def indices(size: int, limit: int = MANY) -> range:
    """Return about so many indices at most, spread over the split."""
    return range(0, size, max(1, size // limit))


def test_splits(env: TextEnv) -> None:
    assert {env.tasks.check(split) for split in SPLITS} == set(env.tasks.splits)
    for split in env.tasks.splits:
        assert env.tasks.len(split) > 0
        task = env.tasks.task(split, env.tasks.len(split) - 1)
        assert (task.split, task.index) == (split, env.tasks.len(split) - 1)
    for split, index in (("nowhere", 0), ("test", -1), ("test", env.tasks.len("test"))):
        with pytest.raises(TaskNotFound):
            env.tasks.task(split, index)
    with pytest.raises(TaskNotFound):
        env.tasks.find("no such task")


def test_splits_are_disjoint(env: TextEnv, env_id: str) -> None:
    ids: dict[str, str] = {}
    contents: dict[str, str] = {}
    for split in env.tasks.splits:
        for index in indices(env.tasks.len(split), share(env_id, MANY)):
            task = env.tasks.task(split, index)
            assert ids.setdefault(task.id, f"{split}/{index}") == f"{split}/{index}"
            content = canonical_json([task.goal, dict(task.content)])
            assert contents.setdefault(content, split) == split


def test_tasks_are_found_by_their_id(env: TextEnv) -> None:
    for split in env.tasks.splits:
        for index in list(indices(env.tasks.len(split)))[:50]:
            task = env.tasks.task(split, index)
            assert env.tasks.find(task.id) == task
            assert env.tasks.find(task.id).digest() == task.digest()


def test_a_task_is_chosen_by_index_or_id(env: TextEnv) -> None:
    task = env.tasks.task("valid", 1)
    observation, info = env.reset(seed=4, options={"split": "valid", "index": 1})
    assert (info["task_id"], info["split"], info["goal"]) == (task.id, task.split, task.goal)
    assert env.reset(seed=4, options={"task_id": task.id}) == (observation, info)
    for split in env.tasks.splits:
        assert env.reset(seed=4, options={"split": split})[1]["split"] == split


def test_panels(env: TextEnv) -> None:
    tasks = env.tasks
    size = min(30, tasks.len("test"))
    panel = tasks.panel("test", size, seed=1)
    assert len(panel) == size == len(set(panel.ids))
    assert all(tasks.find(task_id).split == tasks.check("test") for task_id in panel.ids)
    assert tasks.panel("test", size, seed=1) == panel
    assert tasks.panel("test", size - 1, seed=1).ids == panel.ids[:-1]
    assert tasks.panel("test", size - 1, seed=1).sha256 != panel.sha256
    with pytest.raises(ConfigurationError):
        tasks.panel("test", tasks.len("test") + 1)


@pytest.fixture(scope="module")
def other_panels(request: pytest.FixtureRequest) -> Mapping[str, Any]:
    """Panels of the ids that this session tests, as a process makes them that hashes otherwise."""
    cases = (item for item in request.session.items if PANELS_TEST in item.nodeid)
    ids = [item.callspec.params["env_id"] for item in cases]  # type: ignore[attr-defined]
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    result = subprocess.run(
        [sys.executable, "-c", PANELS, *ids],
        env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT), "LC_ALL": "C"},
        capture_output=True,
        text=True,
        check=True,
        cwd="/",
    )
    return dict(map(json.loads, result.stdout.splitlines()))


def test_panels_are_the_same_in_every_process(
    env: TextEnv, env_id: str, other_panels: Mapping[str, Any]
) -> None:
    panels = [env.tasks.panel(s, min(20, env.tasks.len(s)), seed=3) for s in env.tasks.splits]
    assert other_panels[env_id] == [[panel.sha256, list(panel.ids)] for panel in panels]

"""Whatever an environment raises, and wherever, costs the episodes in which it does."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentgym.episodes import read_episodes, replay, rescore_episode
from agentgym.errors import EnvFailure
from agentgym.evaluation import Report, evaluate
from agentgym.vector.backends import BACKENDS
from tests.raising import METHODS, RAISING_ID, RaisingEnv, faulty_method
from tests.toy import TOY_ID, ToyEnv

N = 160
ASIDE = ("_demonstrator_action", "_restore", "_snapshot")
"""Methods without which the oracle can play an episode."""


def outcomes(report: Report) -> dict[str, set[str]]:
    """Return the errors of the episodes of each faulty method."""
    tasks = RaisingEnv().tasks
    errors: dict[str, set[str]] = {}
    for row in report.rows:
        errors.setdefault(faulty_method(tasks.find(row.task_id)), set()).add(row.error)
    return errors


HERE = [name for name in BACKENDS if name != "ray"]  # of which tests/vector/test_ray.py starts one


@pytest.mark.slow
@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize("backend", HERE)
def test_every_method_may_raise_in_every_back_end(
    tmp_path: Path, backend: str, recorded: bool
) -> None:
    out = tmp_path if recorded else None
    report = evaluate("oracle", RAISING_ID, num_tasks=N, backend=backend, out=out)
    unread = ASIDE if recorded else (*ASIDE, "_potential")  # phi is for records and hooks alone
    expected = {name: {f"RuntimeError: {name}"} for name in METHODS if name not in unread}
    assert outcomes(report) == {"": {""}, **{name: {""} for name in unread}, **expected}
    assert report.success == 1.0 and len(report.rows) == N
    if recorded:
        errors = {
            episode.task_id: episode.details.get("error", "")
            for episode in read_episodes(tmp_path / "episodes.jsonl")
        }
        assert errors == {row.task_id: row.error for row in report.rows}


def raising(*args: object) -> None:
    raise RuntimeError("boom")


def test_a_policy_is_fitted_on_the_episodes_that_go_well() -> None:
    report = evaluate("blind-verbs", RAISING_ID, num_tasks=20)
    assert 0 < report.n < 20


def test_records_of_an_environment_that_raises_by_now_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "e.jsonl"
    evaluate("oracle", TOY_ID, num_tasks=1, record=path)
    [episode] = read_episodes(path)
    for name in ("_act", "potential"):
        monkeypatch.setattr(ToyEnv, name, raising)
        with pytest.raises(EnvFailure, match="boom"):
            replay(episode)
        with pytest.raises(EnvFailure, match="boom"):
            rescore_episode(episode, settings={"horizon": 9})
        monkeypatch.undo()

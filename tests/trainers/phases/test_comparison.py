from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentgym.episodes import read_episodes, replay
from agentgym.errors import EnvFailure
from tests.toy import ToyTasks
from tests.trainers import toy_runs
from trainers.config.resolve import resolve
from trainers.output.remarks import teacher_remark
from trainers.output.run_folder import RunFolder
from trainers.phases.policy_comparison import EnvComparison, PolicyComparison, evaluation_row
from trainers.rollouts.trajectory import SampledTurn, Trajectory


def arms(path: Path, *env_kwargs: str, **changes: Any) -> PolicyComparison:
    env_flags = ["--env-kwargs", *env_kwargs] if env_kwargs else []
    config = toy_runs.config(path, *env_flags, **{"eval__num_tasks": 8, **changes})
    flags = [*env_flags, "--resume"] if (path / "config.yaml").exists() else env_flags
    folder = RunFolder.open(
        path, toy_runs.config(path, *flags, **{"eval__num_tasks": 8, **changes})
    )
    return PolicyComparison(resolve(config), folder)


def part(comparison: PolicyComparison) -> EnvComparison:
    """The comparison in the only environment."""
    (env_comparison,) = comparison.parts.values()
    return env_comparison


def episodes(comparison: PolicyComparison, scores: list[float], **changes: Any) -> list[Trajectory]:
    """One episode of two turns per task of the panel."""
    turns = [SampledTurn([1], [2], [-0.5], reward=0.25), SampledTurn([3], [4], [-0.5], reward=0.5)]
    return [
        Trajectory(
            task_id=task_id,
            family=part(comparison).env.name,
            turns=turns,
            score=score,
            success=score == 1.0,
            stop_reason="horizon",
            **changes,
        )
        for task_id, score in zip(part(comparison).panel.ids, scores, strict=True)
    ]


SFT = [0.0, 0.0, 0.5, 0.5, 1.0, 1.0, 0.0, 0.5]
RL = [0.5, 0.0, 1.0, 0.5, 1.0, 1.0, 0.5, 0.5]


def test_the_panel_is_that_of_the_test_split_whatever_the_seed(tmp_path):
    first, second = arms(tmp_path / "a", seed=0), arms(tmp_path / "b", seed=9, horizon="4")
    assert part(first).panel == part(second).panel == ToyTasks().panel("test", 8)
    assert [task["task_id"] for task in first.tasks] == list(part(first).panel.ids)
    assert [task["horizon"] for task in second.tasks] == [4] * 8


def test_an_episode_becomes_a_row():
    turns = [SampledTurn([1], [2], [-0.5], reward=0.25), SampledTurn([3], [4], [-0.5], reward=0.5)]
    row = evaluation_row(Trajectory(task_id="a", turns=turns, score=0.5, stop_reason="horizon"))
    assert (row.task_id, row.score, row.success, row.turns, row.reward, row.stop_reason) == (
        "a", 0.5, False, 2, 0.75, "horizon",
    )  # fmt: skip
    assert (row.invalid, row.repeated) == (0, 0)
    repeats = [SampledTurn([1], [2], [-0.5], text="eh", valid=False) for _ in range(3)]
    row = evaluation_row(Trajectory(task_id="a", turns=repeats))
    assert (row.invalid, row.repeated) == (3, 2)


def test_arms_are_kept_and_read_again_without_playing(tmp_path, monkeypatch):
    comparison = arms(tmp_path / "run")
    comparison.add_references()
    comparison.add("warm-start", episodes(comparison, SFT))
    assert {"random", "oracle", "warm-start"} == {
        a for a in ("random", "oracle", "warm-start", "trained") if a in comparison
    }
    monkeypatch.setattr(
        "trainers.phases.policy_comparison.evaluate", lambda *a, **k: pytest.fail("played again")
    )
    reopened = arms(tmp_path / "run")
    reopened.add_references()
    reopened.add("trained", episodes(reopened, RL))
    comparison.add("trained", episodes(comparison, RL))
    assert reopened.results({}) == comparison.results({})


def test_the_paired_difference_is_taken_task_by_task(tmp_path):
    comparison = arms(tmp_path / "run")
    comparison.add("warm-start", episodes(comparison, SFT))
    comparison.add("trained", episodes(comparison, RL))
    paired = comparison.results({}).paired.trained_minus_warm_start
    assert paired.n == 8
    assert paired.score_mean == pytest.approx(1.5 / 8)
    assert paired.success_mean == pytest.approx(1 / 8)
    assert paired.score_ci95[0] < 1.5 / 8 < paired.score_ci95[1]


def test_failed_episodes_count_as_unsolved_in_means_and_pairs(tmp_path):
    comparison = arms(tmp_path / "run")
    comparison.add_references()
    episodes_before, episodes_after = episodes(comparison, SFT), episodes(comparison, RL)
    episodes_before[0].stop_reason = "error"
    episodes_after[2].stop_reason = "error"
    comparison.add("warm-start", episodes_before)
    comparison.add("trained", episodes_after)
    results, paired = (
        comparison.results({}).eval,
        comparison.results({}).paired.trained_minus_warm_start,
    )
    assert results["warm-start"].n == results["trained"].n == 8
    assert results["warm-start"].score_mean == pytest.approx(3.5 / 8)
    assert results["trained"].score_mean == pytest.approx(4 / 8)
    assert paired.n == 8
    assert paired.score_mean == pytest.approx(0.5 / 8)


def test_an_arm_whose_every_episode_failed_is_an_error_and_not_kept(tmp_path):
    comparison = arms(tmp_path / "run")
    failed = episodes(comparison, SFT, error="no power")
    for trajectory in failed:
        trajectory.stop_reason = "error"
    with pytest.raises(EnvFailure, match="all 8 failed; first: no power"):
        comparison.add("warm-start", failed)
    assert "warm-start" not in comparison
    assert "warm-start" not in arms(tmp_path / "run")


def test_the_demonstrator_is_an_arm_beside_the_oracle(tmp_path):
    comparison = arms(tmp_path / "run", "expert=red", env=toy_runs.TAUGHT_ID)
    comparison.add_references()
    comparison.add("warm-start", episodes(comparison, SFT))
    comparison.add("trained", episodes(comparison, [1.0] * 8))
    results = comparison.results({})
    assert results.eval["oracle"].success == 1.0 > results.eval["demonstrator"].success
    assert results.eval["oracle"].scaled == 100.0
    assert results.paired.trained_minus_demonstrator is not None
    assert results.paired.trained_minus_demonstrator.success_mean > 0
    assert "does better than the expert that it imitated" in teacher_remark(
        results.paired.trained_minus_demonstrator, part(comparison).env.demonstrator
    )
    plain_arms = arms(tmp_path / "plain", env=toy_runs.TAUGHT_ID)
    plain_arms.add_references()
    assert "demonstrator" not in plain_arms and "oracle" in plain_arms


def test_an_expert_no_better_than_chance_gives_no_scale(tmp_path):
    comparison = arms(tmp_path / "run", env=toy_runs.EASY_ID)
    comparison.add_references()
    assert part(comparison).scale.place(0.5) is None
    assert "these tasks need no skill" in part(comparison).no_scale


def test_an_expert_that_does_not_get_there_in_time_is_no_100(tmp_path):
    """Two turns are enough for few of the tasks, and the others are half solved then."""
    comparison = arms(tmp_path / "run", eval__horizon=2)
    comparison.add_references()
    comparison.add("warm-start", episodes(comparison, SFT))
    comparison.add("trained", episodes(comparison, RL))
    evaluations = comparison.results({}).eval
    assert 0 < evaluations["oracle"].score_mean < 1
    assert {arm.scaled for arm in evaluations.values()} == {None}
    assert "the expert solves only 0.000 of these tasks" in part(comparison).no_scale
    longer = arms(tmp_path / "whole", eval__horizon=5)
    longer.add_references()
    assert not part(longer).no_scale
    assert part(longer).scale.random < part(longer).scale.expert == 1.0


def test_without_an_expert_there_is_no_such_arm(tmp_path):
    comparison = arms(
        tmp_path / "run", env=toy_runs.NO_EXPERT_ID, sft__max_steps=None, sft__demonstrations=1
    )
    comparison.add_references()
    comparison.add("warm-start", episodes(comparison, SFT))
    comparison.add("trained", episodes(comparison, RL))
    evaluations = comparison.results({}).eval
    assert list(evaluations) == ["random", "warm-start", "trained"]
    assert {arm.scaled for arm in evaluations.values()} == {None}
    assert "has no expert" in part(comparison).no_scale


def test_the_episodes_of_the_baselines_are_kept_and_replay(tmp_path):
    """Also after a kill in the middle of them."""
    comparison = arms(tmp_path / "run")
    path = RunFolder(tmp_path / "run").eval_episodes("random")
    path.parent.mkdir()
    path.write_text("{}\n")
    comparison.add_references()
    for arm in ("random", "oracle"):
        records = list(read_episodes(RunFolder(tmp_path / "run").eval_episodes(arm)))
        assert [record.task_id for record in records] == list(part(comparison).panel.ids)
        assert {record.policy for record in records} == {arm}
        assert {record.panel_sha256 for record in records} == {part(comparison).panel.sha256}
        assert all(replay(record).equal for record in records)


def test_baselines_play_at_the_full_horizon(tmp_path):
    comparison = arms(tmp_path / "run", eval__horizon=2)
    comparison.add_references()
    rows = [row for record in toy_runs.metrics(tmp_path / "run") for row in record["rows"]]
    assert {row["turns"] for row in rows} == {2}

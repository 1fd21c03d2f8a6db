"""What the methods of a run add to its result."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.trainers import toy_runs
from trainers.config.resolve import ResolvedRun, resolve
from trainers.methods.method import Method, MethodResult
from trainers.methods.table import methods
from trainers.phases import method_results
from trainers.phases.method_results import result_of_methods

JUDGED = {
    "judge_asked": 5.0, "judge_missing": 1.0, "judge_score": 0.5,
    "judge_calls": 4.0, "judge_tokens": 90.0,
}  # fmt: skip
HOOK = "--reward-hooks=judge:model=m,url=http://localhost:1"


def run(*flags: str) -> ResolvedRun:
    return resolve(toy_runs.config(Path("unused"), *flags))


def result(resolved: ResolvedRun, *steps: dict[str, Any]) -> MethodResult:
    records = [{"phase": "rl", **step} for step in steps]
    return result_of_methods(resolved, [{"phase": "sft", "explained_variance": 9.0}, *records])


def explained(*values: float) -> list[dict[str, Any]]:
    return [{"explained_variance": value} for value in values]


def test_a_run_without_methods_has_their_figures_and_no_remark() -> None:
    figures, remarks = result(run(), *explained(0.5))
    assert (dict(figures), [*remarks]) == (
        {"explained_variance": None, "reward_ranking": None, "judges": {}},
        [],
    )
    assert list(figures) == ["explained_variance", "reward_ranking", "judges"]


@pytest.mark.parametrize(
    ("flags", "values", "mean", "remark"),
    [
        (["--preset=ppo"], [0.0, 0.1, 0.2, 0.3, 0.4, 0.6], 0.5, "critic explained 0.50 of the"),
        (
            ["--preset=ppo"],
            [0.5, -0.25],
            -0.25,
            "would. Compare with --critic.kind zero",
        ),
        (["--preset=ppo", "--critic.kind=zero"], [0.0], 0.0, "there was no critic."),
        (["--preset=archer"], [-0.1], -0.1, "Its advantages are no more reliable."),
    ],
)
def test_the_explained_variance_of_the_last_third_is_told(
    flags: list[str], values: list[float], mean: float, remark: str
) -> None:
    figures, [sentence] = result(run(*flags), *explained(*values))
    assert figures["explained_variance"] == mean and remark in sentence
    assert result(run(*flags)).figures["explained_variance"] is None


def test_the_ranking_of_a_reward_model_is_a_mean_over_pairs() -> None:
    steps = [
        {"reward_pairs": 0.0},
        {"reward_ranking": 0.0, "reward_pairs": 9.0},
        {"reward_pairs": 0.0},
        {"reward_pairs": 0.0},
        {"reward_ranking": 1.0, "reward_pairs": 3.0},
        {"reward_ranking": 0.0, "reward_pairs": 1.0},
    ]
    resolved = run("--preset=istar")
    figures, [sentence] = result(resolved, *steps)
    assert figures["reward_ranking"] == 0.75 and "ranked 75% of the pairs" in sentence
    figures, [sentence] = result(resolved, steps[0])
    assert figures["reward_ranking"] is None and "had nothing to learn from" in sentence
    assert "no better than chance" in result(resolved, steps[1]).remarks[0]


def test_verdicts_of_judges_are_added_up() -> None:
    figures, [sentence] = result(run(HOOK), JUDGED, JUDGED)
    assert figures["judges"] == {
        "judge_asked": 10, "judge_missing": 2, "judge_calls": 8, "judge_tokens": 180,
    }  # fmt: skip
    assert sentence.startswith("2 of 10 verdicts of judges are missing")
    assert not result(run(HOOK), {**JUDGED, "judge_missing": 0.0}).remarks


def test_a_method_of_another_package_has_its_say(monkeypatch: pytest.MonkeyPatch) -> None:
    table = [
        Method(name=name, figures={name: 0}, used=lambda run, used=used: used, result=part)
        for name, used, part in (
            ("mine", True, f"{__name__}:count_steps"),
            ("idle", False, "absent:x"),
        )
    ]
    monkeypatch.setattr(method_results, "methods", lambda: (*methods(), *table))
    figures, remarks = result(run(), {"steps": 1}, {"steps": 1})
    assert (figures["mine"], figures["idle"], [*remarks]) == (2, 0, ["There were 2."])


def count_steps(resolved: ResolvedRun, steps: list[dict[str, Any]]) -> MethodResult:
    return MethodResult({"mine": len(steps)}, [f"There were {len(steps)}."])

"""``agentgym.evaluate_all``: what ``agentgym eval`` of several plays, from Python."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import agentgym
from agentgym.errors import ConfigurationError, EvaluationFailed
from agentgym.evaluation.suites.named_evaluation import EvaluationProgress, NamedEvaluation
from agentgym.trust import trusting
from tests.cli.test_commands import main
from tests.toy import TOY_ID

TOY = f"tests.toy:{TOY_ID}"
BOTH = {"environments": [TOY, {"env": "webshop", "env_kwargs": {"size": 200}}], "num_tasks": 3}


def broken(observation: str, info: Any) -> str:
    raise ConnectionError("gone")


def test_every_policy_plays_every_environment(tmp_path: Path) -> None:
    suite = {**BOTH, "policies": ["random", {"policy": "oracle", "samples": 2}]}
    result = agentgym.evaluate_all(suite, tmp_path, seed=1)
    assert result.complete and not result.failures and result.out == tmp_path
    summaries = [(r.policy, r.n, r.seed, r.scale) for r in result.reports.values()]
    assert summaries == [("random", 3, 1, None), ("oracle", 6, 1, None)] * 2
    assert len(result.leaderboard.panels) == 2 and "oracle" in result._repr_html_()
    assert repr(result) == "<SuiteResult: 4 reports, 0 failed>"
    folders = json.loads((tmp_path / "leaderboard.json").read_text())["folders"]
    assert folders == [*result.reports] and (tmp_path / "leaderboard.md").exists()


def test_the_command_goes_on_where_the_library_stopped(tmp_path: Path, capsys: Any) -> None:
    toml = tmp_path / "suite.toml"
    toml.write_text(f'num_tasks = 3\nenvironments = ["{TOY}"]\npolicies = ["random", "oracle"]\n')
    with trusting(f"env={TOY}"):
        first = agentgym.evaluate_all(toml, tmp_path / "o")
    argv = ["eval", "--config", str(toml), "--out", str(tmp_path / "o"), "--num-tasks", "4"]
    assert main([*argv, "--trust", f"env={TOY}"]) == 0
    assert capsys.readouterr().out.count("3 episodes were read from") == 2
    with trusting(f"env={TOY}"):
        second = agentgym.evaluate_all(str(toml), tmp_path / "o", num_tasks=4)
    assert [*second.reports] == [*first.reports]
    assert [report.n for report in second.reports.values()] == [4, 4]


class RecordingProgress(EvaluationProgress):
    def __init__(self) -> None:
        self.events: list[str] = []

    def begin(self, evaluation: NamedEvaluation, out: Any, policy: Any, episodes: int) -> None:
        self.events.append(f"begin {evaluation.policy} {episodes}")

    def episode(self, result: Any) -> None:
        self.events.append("episode")

    def end(self) -> None:
        self.events.append("end")

    def report(self, evaluation: NamedEvaluation, report: Any) -> None:
        self.events.append(f"played {evaluation.policy} {report.n}")

    def failed(self, evaluation: NamedEvaluation, error: Exception) -> None:
        self.events.append(f"failed {error}"[:29])


def test_one_that_fails_costs_the_others_nothing(tmp_path: Path) -> None:
    progress = RecordingProgress()
    suite = {"environments": [TOY], "policies": [f"{__name__}:broken", "oracle"], "num_tasks": 2}
    result = agentgym.evaluate_all(suite, progress=progress, scale=False)
    [error] = result.failures.values()
    assert isinstance(error, EvaluationFailed) and not result.complete
    assert [report.policy for report in result.reports.values()] == ["oracle"]
    assert "gone" in result._repr_html_() and result.out is None
    episodes = ["episode"] * 2 + ["end"]
    assert progress.events == [
        f"begin {__name__}:broken 2", *episodes, "failed expected episodes, but",
        "begin oracle 2", *episodes, "played oracle 2",
    ]  # fmt: skip
    alone = agentgym.evaluate_all({**suite, "policies": [f"{__name__}:broken"]}, scale=False)
    with pytest.raises(EvaluationFailed, match=r"every evaluation failed; first: .*gone"):
        _ = alone.leaderboard


@pytest.mark.parametrize(
    ("suite", "settings", "words"),
    [
        ({"environments": ["webshop"]}, {}, "a list of policies in the suite"),
        ({**BOTH, "policies": ["random"]}, {"m": 3}, "beside the suite, got 'm'"),
        ({**BOTH, "policies": ["random"]}, {"num_tasks": 0}, "at least 1, got 0"),
        (
            {**BOTH, "policies": ["random"]},
            {"backend": "dask"},
            "'backend' to be 'sync'",
        ),
        ({**BOTH, "policies": [{"policy": "oracle", "extra": "a"}]}, {}, "as name=value"),
        (
            {**BOTH, "policies": ["random"]},
            {"env_kwargs": {"a": object()}},
            r"JSON-safe value for env_kwargs\.a",
        ),
        (
            {**BOTH, "policies": ["random", {"policy": "random", "num_tasks": 1}]},
            {},
            "name the same one",
        ),
    ],
)
def test_mistakes_are_found_before_anything_is_played(
    tmp_path: Path, suite: Any, settings: Any, words: str
) -> None:
    with pytest.raises(ConfigurationError, match=words):
        agentgym.evaluate_all(suite, tmp_path / "o", **settings)
    assert not (tmp_path / "o").exists()


def test_names_with_values_are_merged_and_the_last_wins(tmp_path: Path) -> None:
    entry = {"env": "webshop", "env_kwargs": {"size": 200, "difficulty": "hard"}}
    suite = {"environments": [entry], "policies": ["oracle"], "num_tasks": 1, "timeout": 7}
    result = agentgym.evaluate_all(suite, env_kwargs={"difficulty": "easy"})
    [report] = result.reports.values()
    assert dict(report.env_kwargs) == {"size": 200, "difficulty": "easy"}

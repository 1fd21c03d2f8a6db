"""Trainings compared by the episodes in their folders; the episodes are real ones of the toy."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from agentgym import compare_trainings, evaluate
from agentgym.cli import main
from agentgym.episodes.run_layout import EVALUATED, GREEDY, TRAINED
from agentgym.errors import ConfigurationError
from agentgym.evaluation.reports.training_comparison import TrainingComparison
from tests.toy import TOY_ID

T_2 = 4.302652729911275
"""0.975 quantile of Student's t with two degrees of freedom."""
TASKS = 10


def player(solved: int, first: int = 0) -> Callable[[str, Mapping[str, Any]], str]:
    """A policy that solves so many of the tasks that it meets after the first ones."""
    order: dict[str, int] = {}

    def policy(observation: str, info: Mapping[str, Any]) -> str:
        number = order.setdefault(info["task_id"], len(order))
        colour = observation.rsplit(" ", 1)[-1]
        return f"press {colour}" if first <= number < first + solved else "press pink"

    return policy


def write_run(
    folder: Path, seed: int, solved: int, *, n: int = TASKS, greedy: int | None = None,
    first: int = 0, envs: Sequence[str] = ("",), **settings: Any,
) -> Path:  # fmt: skip
    """Write the folder of a run whose trained policy solves so many tasks."""
    for env in envs:
        for name, count in ((TRAINED, solved), (f"{TRAINED}{GREEDY}", greedy)):
            if count is not None:
                record = folder / EVALUATED / env / f"{name}.jsonl"
                record.parent.mkdir(parents=True, exist_ok=True)
                evaluate(player(count, first), TOY_ID, num_tasks=n, record=record)
    content = {"env": TOY_ID, "seed": seed, "rl": {"beta": None}, "report_to": [str(seed)]}
    text = yaml.safe_dump({**content, "resolved": {"rl": {"beta": 0.0}, **settings}})
    (folder / "config.yaml").write_text(text)
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two trainings of three seeds, the second also as a folder of ``--seeds``."""
    root = tmp_path_factory.mktemp("runs")
    for seed, (solved_a, solved_b) in enumerate([(9, 4), (8, 5), (10, 4)]):
        write_run(root / f"a-seed{seed}", seed, solved_a)
        write_run(root / f"b-seed{seed}", seed, solved_b, steps=20)
        write_run(root / "all" / f"seed{seed}", seed, solved_b, steps=20)
        (root / "all" / f"seed{seed}.log").write_text("what it printed")
    (root / "all" / "seeds.yaml").write_text("seeds: [0, 1, 2]")
    return root


def compared(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    assert main(["compare", *map(str, arguments), "--format", "json"]) == 0
    return dict(json.loads(capsys.readouterr().out))


def refusal(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    assert main(["compare", *map(str, arguments)]) == 2
    return " ".join(capsys.readouterr().err.split())


def test_three_seeds_have_students_interval_over_their_paired_differences(folder: Path) -> None:
    comparison = compare_trainings(folder / "a-seed*", folder / "all")
    (part,) = comparison.differences
    assert part.success.by_seed == pytest.approx((0.5, 0.3, 0.6))
    mean, std = 1.4 / 3, math.sqrt(0.07 / 3)
    half = T_2 * std / math.sqrt(3)
    assert part.success.estimate == pytest.approx((mean, mean - half, mean + half))
    assert part.success.over == part.score.over == "seeds"
    assert (part.success.first, part.success.second) == pytest.approx((0.9, 13 / 30))
    assert comparison.differing == {"steps": (None, 20)}, "the seed and where it reports are none"
    name = str(folder / "a-seed*")
    assert comparison.verdict.startswith(
        f"{name} does better than {folder / 'all'}: +0.467 (+0.087 to"
    )
    assert comparison.verdict.endswith("in score over 3 seeds.")


def test_runs_are_paired_by_seed_where_one_training_has_others_too(
    folder: Path, tmp_path: Path
) -> None:
    first_runs = [*folder.glob("a-seed*"), write_run(tmp_path / "a", 3, 6)]
    other_runs = [folder / "b-seed1", folder / "b-seed2", write_run(tmp_path / "b", 3, 2, steps=20)]
    comparison = compare_trainings(first_runs, other_runs)
    (part,) = comparison.differences
    assert comparison.common_seeds == (1, 2, 3)
    assert part.success.by_seed == pytest.approx((0.3, 0.6, 0.4))
    assert part.success.over == "seeds"
    assert (part.success.first, part.success.second) == pytest.approx((0.8, 11 / 30))


def test_patterns_in_quotes_and_as_shells_expand_them_are_the_same(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    quoted = compared(capsys, "a-seed*", "b-seed?")
    expanded = compared(capsys, *sorted(folder.glob("a-seed*")), *sorted(folder.glob("b-seed?")))
    several = compared(capsys, "a-seed*", *sorted((folder / "all").glob("seed*")))
    assert quoted["differences"] == expanded["differences"] == several["differences"]
    assert (quoted["first"], quoted["second"]) == ("a-seed*", "b-seed?")
    assert expanded["first"] == f"{folder}/a-seed*"
    assert quoted["seeds"] == [[0, 1, 2], [0, 1, 2]]


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        ("a-seed[01]", "b-seed[01]", "at least 3 seeds in common, got seeds 0 1 and 0 1."),
        ("a-seed0", "b-seed1", "at least 3 seeds in common, got seeds 0 and 1."),
        ("a-seed*", "b-seed[12]", "at least 3 seeds in common, got seeds 0 1 2 and 1 2."),
    ],
)
def test_with_fewer_seeds_intervals_are_over_tasks_and_the_verdict_says_so(
    folder: Path, first: str, second: str, reason: str
) -> None:
    comparison = compare_trainings(folder / first, folder / second)
    (part,) = comparison.differences
    assert part.success.over == part.score.over == "tasks" and part.success.tasks == TASKS
    assert part.success.estimate.low < part.success.estimate.value < part.success.estimate.high
    assert comparison.verdict.endswith(reason)
    assert "over 10 tasks. Nothing can be said about other trainings: " in comparison.verdict


def test_seeds_that_do_not_differ_are_no_certainty(tmp_path: Path) -> None:
    for seed in range(3):
        write_run(tmp_path / f"a{seed}", seed, 7)
        write_run(tmp_path / f"b{seed}", seed, 6)
    comparison = compare_trainings(tmp_path / "a*", tmp_path / "b*")
    (part,) = comparison.differences
    assert part.success.over == "tasks" and part.success.by_seed == pytest.approx((0.1,) * 3)
    assert part.success.estimate.low < 0 < part.success.estimate.high
    assert "does not differ measurably from" in comparison.verdict
    assert comparison.verdict.endswith(
        "equal values in every seed give no interval over trainings."
    )


def test_tasks_are_paired(tmp_path: Path) -> None:
    """Two policies that solve other tasks differ more than two of which one solves one more."""
    run = write_run(tmp_path / "a", 0, 5)
    nested = compare_trainings(run, write_run(tmp_path / "b", 0, 4))
    apart = compare_trainings(run, write_run(tmp_path / "c", 0, 4, first=5))
    widths = [comparison.differences[0].success.estimate for comparison in (nested, apart)]
    assert widths[0].value == widths[1].value == pytest.approx(0.1)
    assert widths[0].high - widths[0].low < widths[1].high - widths[1].low


def test_greedy_actions_and_several_environments_have_rows_of_their_own(tmp_path: Path) -> None:
    runs = [
        write_run(tmp_path / name, 0, solved, greedy=greedy, envs=("maze", "shop"))
        for name, solved, greedy in (("a", 9, 5), ("b", 2, 8))
    ]
    comparison = compare_trainings(*runs)
    rows = [(part.env, part.greedy) for part in comparison.differences]
    assert rows == [
        ("", False), ("", True), ("maze", False), ("maze", True), ("shop", False), ("shop", True)
    ]  # fmt: skip
    assert comparison.differences[0].tasks == 2 * comparison.differences[2].tasks == 2 * TASKS
    assert f"With greedy actions, {runs[0]} does worse than {runs[1]}: -0.300" in comparison.verdict
    assert "shop: score, greedy" in str(comparison)


def test_broken_episodes_are_left_out(tmp_path: Path) -> None:
    first, second = write_run(tmp_path / "a", 0, 10), write_run(tmp_path / "b", 0, 10)
    file = second / EVALUATED / f"{TRAINED}.jsonl"
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    lines[0] |= {"stop_reason": "error", "details": {"error": "gone"}}
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    comparison = compare_trainings(first, second)
    assert (comparison.differences[0].tasks, comparison.differences[0].left_out) == (9, 1)
    assert "9 tasks (1 left out)" in comparison.markdown()


def test_what_is_printed_fits_80_columns_and_has_three_digits(folder: Path) -> None:
    comparison = compare_trainings(folder / "a-seed*", folder / "b-seed?")
    lines = str(comparison).splitlines()
    assert max(map(len, lines)) <= 80 and "+0.467 (+0.087 to +0.846)" in str(comparison)
    assert "0.4666" not in str(comparison) and "+0.500, +0.300, +0.600" in comparison.markdown()
    assert repr(comparison).startswith("<TrainingComparison: ") and "+0.467" in repr(comparison)
    assert isinstance(comparison, TrainingComparison)
    assert comparison.verdict in comparison.markdown()


def test_what_cannot_be_compared_ends_in_one_sentence(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a, b = folder / "a-seed*", folder / "b-seed?"
    other_run = write_run(tmp_path / "other", 0, 3, n=TASKS - 1)
    message = refusal(capsys, a, other_run)
    assert (
        "on the same held-out tasks, so these cannot be compared" in message
        and "eval.num-tasks" in message
    )
    assert "two different trainings" in refusal(capsys, a, a)
    assert "that match" in refusal(capsys, a, tmp_path / "none*")
    assert "expected two trainings, got 1 " in refusal(capsys, folder / "a-seed?")
    three = refusal(capsys, a, b, other_run)
    assert "expected two trainings, got 3 (" in three and "agentgym compare 'runs/a-s" in three
    assert "no --chart" in refusal(capsys, a, b, "--format", "latex")
    write_run(tmp_path / "twice", 0, 3)
    assert "one run for each seed in" in refusal(capsys, tmp_path / "*", a)
    evaluation = tmp_path / "evaluation"
    assert main(["eval", f"tests.toy:{TOY_ID}", "--num-tasks", "2", "--out", str(evaluation)]) == 0
    capsys.readouterr()
    assert "two evaluations, got both" in refusal(capsys, folder / "a-seed0", evaluation)


def test_runs_that_are_no_training_are_refused(tmp_path: Path) -> None:
    first = write_run(tmp_path / "a0", 0, 3)
    write_run(tmp_path / "a1", 1, 3, rl={"beta": 0.1})
    with pytest.raises(ConfigurationError, match=r"only in their seed.*rl\.beta 0\.0 and 0\.1"):
        compare_trainings(tmp_path / "a?", write_run(tmp_path / "b", 0, 3))
    unfinished = tmp_path / "unfinished"
    unfinished.mkdir()
    (unfinished / "config.yaml").write_text("seed: 0")
    with pytest.raises(ConfigurationError, match="a run that has ended"):
        compare_trainings(first, unfinished)


def test_a_comparison_of_two_reports_prints_as_a_short_table() -> None:
    import agentgym

    comparison = agentgym.compare(
        *(evaluate(policy, TOY_ID, num_tasks=7) for policy in ("oracle", "random"))
    )
    lines = str(comparison).splitlines()
    assert len(lines) < 12 and max(map(len, lines)) <= 80
    assert "oracle minus random" in lines[0] and f"{comparison.score.value:.3f}" in str(comparison)
    assert len(repr(comparison)) < 120

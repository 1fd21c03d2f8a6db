"""The table of a paper: rows, columns, averages, marks, and every format of it."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import agentgym
from agentgym import Leaderboard
from agentgym.cli import main
from agentgym.errors import ConfigurationError, DependencyNotInstalled
from agentgym.evaluation import EpisodeResult, Report, Scale
from agentgym.evaluation.reports.matrix_data import MatrixRow
from agentgym.evaluation.reports.matrix_formats import latex
from agentgym.support.statistics import mean_ci95, mean_of_estimates, wilson_ci95
from tests.toy import TOY_ID

EVIL = '=HYPERLINK("x")|\\input{/etc/passwd}&%$#_^~<script>[x]\n\\\\\x1b[2J\u202e--'


def report_of(policy: str, env: str, solved: int, n: int = 60, **more: Any) -> Report:
    """Return a report of n tasks, of which the first are solved."""
    rows = tuple(
        EpisodeResult(
            task_id=f"{env}/{i}", score=1.0 if i < solved else 0.25, success=i < solved,
            turns=3, reward=0.0, stop_reason="success" if i < solved else "horizon",
        )
        for i in range(n)
    )  # fmt: skip
    fields: dict[str, Any] = {"planned": n, **more}
    return Report(f"own/{env}-v0", policy, "test", 0, f"panel of {env}", rows, **fields)


def board(*reports: Report) -> Leaderboard:
    return Leaderboard(reports)


TWO = (
    report_of("good", "A", 54), report_of("good", "B", 48), report_of("bad", "A", 12),
    report_of("bad", "B", 42), report_of("half", "B", 52),
)  # fmt: skip


def row_of(leaderboard: Leaderboard, policy: str, value: str = "success") -> MatrixRow:
    [match] = [row for row in leaderboard.matrix(value).rows if row.policy == policy]
    return match


def test_rows_are_policies_and_columns_environments():
    matrix = board(*TWO).matrix()
    assert [row.policy for row in matrix.rows] == ["good", "bad", "half"]
    assert matrix.header == ["A", "B", "Average"]
    first, second = matrix.rows[0].entries
    assert first and second and first.figures["success"] == wilson_ci95(54, 60)
    assert first.figures["score"][:] == mean_ci95([1.0] * 54 + [0.25] * 6, (0.0, 1.0))
    score = board(*TWO).matrix("score").markdown()
    assert "| score, % | A | B | Average |" in score and "| good | **92.5 [" in score


def test_an_average_is_of_all_environments_or_there_is_none():
    leaderboard = board(*TWO)
    average = row_of(leaderboard, "good").average
    assert average and average.figures["success"] == mean_of_estimates(
        [wilson_ci95(54, 60), wilson_ci95(48, 60)]
    )
    half = row_of(leaderboard, "half")
    assert half.entries[0] is None and half.average is None
    assert "| half | — | 86.7 [75.8, 93.1] | — |" in leaderboard.matrix().markdown()
    assert "a policy that was not played in all of them has none" in leaderboard.matrix().markdown()
    alone = board(*TWO[::4])
    assert alone.matrix().header == ["A", "B"], "no policy was played everywhere"
    assert board(TWO[0], TWO[2]).matrix().header == ["A"], "the average of one is itself"


def test_the_interval_of_an_average_holds_the_truth_95_times_in_100():
    import numpy as np

    rng, rates, n = np.random.default_rng(7), (0.95, 0.6, 0.3, 0.98, 0.5), 40
    hits = 0
    for _ in range(2000):
        drawn = [wilson_ci95(int(rng.binomial(n, rate)), n) for rate in rates]
        mean = mean_of_estimates(drawn)
        hits += mean.low <= sum(rates) / 5 <= mean.high
    assert 0.94 < hits / 2000 < 0.965
    assert mean_of_estimates([wilson_ci95(7, 9)]) == pytest.approx(wilson_ci95(7, 9))
    sure = mean_of_estimates([wilson_ci95(20, 20)] * 4)
    assert sure.value == sure.high == 1.0 and 0.88 < sure.low < 0.95
    with pytest.raises(ConfigurationError, match="at least one"):
        mean_of_estimates([])


def test_an_interval_never_leaves_the_range():
    matrix = board(report_of("all", "A", 60)).matrix()
    [entry] = matrix.rows[0].entries
    figure = matrix.figure(entry)
    assert figure and figure.interval == (wilson_ci95(60, 60).low, 1.0)
    assert "100.0 [94.0, 100.0]" in matrix.markdown()


def test_only_an_interval_above_all_others_is_bold():
    table = board(*TWO).matrix().markdown()
    assert "| good | **90.0 [79.9, 95.3]** | 80.0 [68.2, 88.2] | **85.0 [77.2, 89.9]** |" in table
    assert "| half | — | 86.7 [75.8, 93.1] | — |" in table, "80.0 reaches up to 88.2"
    alone = board(report_of("m", "A", 50), report_of("random", "A", 1)).matrix().markdown()
    assert "**" not in alone and "Bold" not in alone, "there is no other model"


def test_floors_and_experts_stand_last_from_reports_and_scales():
    scale = Scale(0.3, 1.0, 0.95, random_success=0.05)
    with_scale = replace(report_of("m", "A", 30), scale=scale)
    leaderboard = board(with_scale, report_of("random", "B", 3), report_of("m", "B", 30))
    assert [row.policy for row in leaderboard.matrix().rows] == ["m", "random", "oracle"]
    first, second = row_of(leaderboard, "random").entries
    assert first and first.source == "scale" and first.figures["success"] == (0.05, None, None)
    assert second and second.source == "report" and second.figures["success"] == wilson_ci95(3, 60)
    markdown = leaderboard.matrix().markdown()
    assert "| random | 5.0 | 5.0 [1.7, 13.7] | 5.0 |" in markdown
    assert "| oracle | 95.0 | — | — |" in markdown
    assert "Without brackets: from the scale" in markdown
    other_report = replace(report_of("n", "A", 9), scale=Scale(0.2, 1.0, 0.95, random_success=0.01))
    differ = board(with_scale, other_report)
    assert [row.policy for row in differ.matrix().rows] == ["m", "n", "oracle"]
    best = board(
        report_of("oracle", "A", 60), report_of("m", "A", 9), report_of("n", "A", 8)
    ).matrix()
    assert "**" not in best.markdown(), "a yardstick is never the best, nor do models hide it"


def test_an_evaluation_measures_the_floor_of_success():
    scale = agentgym.evaluate("oracle", TOY_ID, num_tasks=20, scale=True).scale
    floor = agentgym.evaluate("random", TOY_ID, num_tasks=20)
    assert scale and (scale.random, scale.random_success) == (floor.score_mean, floor.success)


def test_what_is_incomplete_is_marked_also_in_the_average_and_never_bold():
    part = replace(TWO[0], planned=100)
    leaderboard = board(part, *TWO[1:])
    table = leaderboard.matrix().markdown()
    assert "| good | 90.0 [79.9, 95.3] † | 80.0 [68.2, 88.2] | 85.0 [77.2, 89.9] † |" in table
    assert "† Incomplete" in table and "† Incomplete" not in board(*TWO).matrix().markdown()
    assert "$^\\dagger$" in leaderboard.latex()
    broken_rows = tuple(replace(row, stop_reason="error", error="gone") for row in TWO[0].rows)
    broken_board = board(replace(TWO[0], rows=broken_rows), *TWO[1:])
    assert "| good | — † | 80.0 [68.2, 88.2] | — |" in broken_board.matrix().markdown()


def test_a_policy_is_one_row_and_is_told_apart_only_where_a_panel_needs_it():
    cold, warm = {"sampling": {"temperature": 0.0}}, {"sampling": {"temperature": 1.0}}
    across = board(
        report_of("m", "A", 30, policy_facts=cold), report_of("m", "B", 30, policy_facts=warm)
    )  # fmt: skip
    assert [row.policy for row in across.matrix().rows] == ["m"]
    assert row_of(across, "m").differing == ("temperature",)
    assert "m: not the same in all environments: temperature." in across.matrix().markdown()
    within = board(
        report_of("m", "A", 30, policy_facts=cold), report_of("m", "A", 20, policy_facts=warm),
        report_of("m", "B", 10, policy_facts=warm), report_of("m", "B", 9, policy_facts=warm),
    )  # fmt: skip
    cells = {row.policy: [bool(entry) for entry in row.entries] for row in within.matrix().rows}
    assert cells == {
        "m (temperature=0.0)": [True, False], "m (temperature=1.0)": [True, True],
        "m (temperature=1.0) no. 2": [False, True],
    }  # fmt: skip


def test_names_are_short_where_they_can_be():
    assert board(*TWO).matrix().columns[0].env_id == "own/A-v0"
    same_name = replace(report_of("m", "A", 3), env_id="other/A-v1")
    assert board(TWO[0], same_name).matrix().header[:2] == ["own/A-v0", "other/A-v1"]
    longer = replace(report_of("good", "A", 50, n=80), panel_sha256="more")
    assert board(TWO[0], longer).matrix().header[:2] == ["A (n=60)", "A (n=80)"]


def test_csv_has_a_number_a_cell():
    leaderboard = board(*TWO)
    rows = list(csv.DictReader(io.StringIO(leaderboard.csv())))
    assert len(rows) == 9
    first = rows[0]
    assert (first["policy"], first["environment"], first["n"]) == ("good", "A", "60")
    low, high = float(first["success_low"]), float(first["success_high"])
    assert (low, high) == wilson_ci95(54, 60)[1:] and first["incomplete"] == "False"
    missing = [record for record in rows if record["source"] == "missing"]
    assert [(e["policy"], e["environment"], e["success"]) for e in missing] == [
        ("half", "A", ""), ("half", "average", ""),
    ]  # fmt: skip
    assert leaderboard.to_dict()["matrix"] == leaderboard.matrix().records()
    json.dumps(leaderboard.to_dict(), allow_nan=False)


def test_a_frame_pivots_to_the_table(monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("pandas")
    frame = board(*TWO).to_frame()
    table = frame.pivot(index="policy", columns="environment", values="success")
    assert table.loc["good"].to_dict() == {"A": 0.9, "B": 0.8, "average": pytest.approx(0.85)}
    assert list(frame.columns)[:3] == ["policy", "environment", "success"]
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(DependencyNotInstalled, match=r"'pandas'.*\[notebooks\]"):
        board(*TWO).to_frame()


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@SUM(1)", " =1", "\t=1"])
def test_no_spreadsheet_computes_a_name(name: str):
    [_, first] = csv.reader(io.StringIO(board(report_of(name, "A", 3)).csv()))
    assert first[0] == f"'{name}"


def test_hostile_names_are_text_in_every_format():
    matrix = board(report_of(EVIL, EVIL, 3), report_of("m", "B", 3)).matrix()
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(matrix.table())
    renderings = [console.export_text(), matrix.markdown(), matrix.latex(), matrix.csv(),
             matrix._repr_html_()]  # fmt: skip
    assert all("\x1b" not in text and "\u202e" not in text for text in renderings)
    assert "<script>" not in renderings[1] + renderings[4]
    assert "\\input" not in renderings[2].replace("\\textbackslash{}input", "")
    assert all(line[:1] in "%\\P" or "&" in line for line in renderings[2].splitlines())


def test_latex_obeys_nothing():
    assert latex("a_b & c% $d^2$ {e}~#\\f") == (
        "a\\_b \\& c\\% \\$d\\textasciicircum{}2\\$ \\{e\\}\\textasciitilde{}\\#\\textbackslash{}f"
    )
    assert latex("[x]*--''") == "{[}x{]}{*}-{}-'{}'"
    assert latex("é 中\nx") == "é (U+4E2D) x"


def test_latex_is_a_whole_table():
    text = board(*TWO).matrix().latex()
    assert text.startswith("% \\usepackage{booktabs}\n")
    lines = [line for line in text.splitlines() if line.endswith("\\\\")]
    assert [line.count(" & ") for line in lines] == [3] * 4
    assert lines[0] == "Policy & A & B & Average \\\\"
    assert lines[1].startswith("good & \\textbf{90.0} [79.9, 95.3] & 80.0 [68.2, 88.2] & ")
    assert lines[3] == "half & --- & 86.7 [75.8, 93.1] & --- \\\\"
    assert text.count("\\begin{") == text.count("\\end{") == 2


@pytest.mark.skipif(not shutil.which("pdflatex"), reason="needs pdflatex with booktabs")
def test_latex_compiles(tmp_path: Path):
    part = replace(report_of(EVIL, "B", 3), planned=100)
    body = board(*TWO, part, report_of("[x*", "B", 4), report_of("ÐéÿÞ“中”", "A", 4)).latex()
    document = "\\documentclass{article}\n\\usepackage{booktabs}\n\\begin{document}\n"
    (tmp_path / "t.tex").write_text(f"{document}{body}\\end{{document}}\n")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"]
    process = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stdout[-2000:]


def test_an_unknown_value_is_refused():
    with pytest.raises(ConfigurationError, match="one of score, success, got 'wins'"):
        board(*TWO).matrix("wins")


def test_several_panels_show_the_matrix_and_one_does_not():
    several, single = board(*TWO), board(TWO[0], TWO[2])
    assert several.markdown().startswith("| success, % | A | B | Average |")
    assert "| score, % |" in several.markdown() and "| success, % |" not in single.markdown()
    assert len(several.tables()) == 4 and len(single.tables()) == 1
    assert "Success in percent" in several._repr_html_()
    exact = [replace(report, rows=tuple(replace(r, score=float(r.success)) for r in report.rows))
             for report in TWO]  # fmt: skip
    assert [matrix.value for matrix in board(*exact).matrices()] == ["success"]


def test_the_command_ends_with_the_table_and_prints_every_format(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    (tmp_path / "suite.yaml").write_text(
        f"num_tasks: 4\nout: o\nenvironments: [tests.toy:{TOY_ID}, webshop]\n"
        "policies: [random, oracle]\n"
    )
    trusted = ("--trust", "out=o", "--trust", f"env=tests.toy:{TOY_ID}")
    assert main(["eval", "--config", "suite.yaml", *trusted]) == 0
    out = capsys.readouterr().out
    assert out.index("success minus random") < out.index("Success in percent")
    assert re.search(r"Success in percent.*webshop:standard.*Average", out, re.DOTALL)
    for form, start in (
        ("csv", "policy,environment,success,success_low"), ("markdown", "| success, % |"),
        ("latex", "% \\usepackage{booktabs}"), ("json", "{"), ("table", " "),
    ):  # fmt: skip
        assert main(["compare", "o", "--format", form]) == 0
        assert capsys.readouterr().out.startswith(start), form
    pair = [str(path.parent) for path in sorted(tmp_path.glob("o/webshop-*/report.json"))]
    assert main(["compare", *pair, "--format", "markdown"]) == 0
    assert "minus" in capsys.readouterr().out
    assert main(["compare", *pair, "--format", "csv"]) == 0
    assert capsys.readouterr().out.count("\n") == 3

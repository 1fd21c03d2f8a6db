"""Reports as pictures: what is drawn, that it can be read, and that it is the same every time."""

from __future__ import annotations

import subprocess
import sys
import warnings
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from agentgym.errors import ConfigurationError
from agentgym.evaluation import EpisodeResult, Leaderboard, Report, Scale, evaluate
from tests.toy import TOY_ID

SIGNATURE = b"\x89PNG\r\n\x1a\n"


def row(number: int, success: bool, reason: str = "", **labels: str) -> EpisodeResult:
    reason = reason or ("success" if success else "horizon")
    return EpisodeResult(str(number), float(success), success, 3, 0.0, reason, labels=labels)


def report_of(rows: list[EpisodeResult], **fields: Any) -> Report:
    base = Report("agentgym/WebShop-v0", "mine", "test", 0, "ab" * 32, tuple(rows))
    return replace(base, **fields)


def texts(figure: Any) -> list[str]:
    """All that is written in a figure: what stands outside of its axes first."""
    strings = [text.get_text() for text in figure.texts]
    for axes in figure.axes:
        strings += [label.get_text() for label in axes.get_yticklabels()]
        strings += [text.get_text() for text in axes.texts]
    return strings


def boxes(figure: Any) -> Iterator[Any]:
    """Where everything that is written stands, in pixels."""
    renderer = FigureCanvasAgg(figure).get_renderer()
    for axes in figure.axes:
        for text in [*axes.get_yticklabels(), *axes.texts]:
            if text.get_text():
                yield text.get_window_extent(renderer)
    for text in figure.texts:
        yield text.get_window_extent(renderer)


def check_readable(figure: Any) -> None:
    """Nothing is written over something else, or beyond the picture's edge."""
    width, height = figure.canvas.get_width_height()
    rectangles = [*boxes(figure)]
    for i, box in enumerate(rectangles):
        assert box.x0 >= 0 and box.x1 <= width and box.y0 >= 0 and box.y1 <= height
        for other_rectangle in rectangles[:i]:
            apart = box.x1 <= other_rectangle.x0 or other_rectangle.x1 <= box.x0
            assert apart or box.y1 <= other_rectangle.y0 + 1 or other_rectangle.y1 <= box.y0 + 1


def lines(axes: Any, marker: str = "None") -> list[list[float]]:
    return [list(line.get_xdata()) for line in axes.lines if line.get_marker() == marker]


def test_a_report_is_drawn_with_its_kinds_and_how_episodes_ended() -> None:
    rows = [row(i, i % 4 == 0, task_type=f"kind {i % 2}") for i in range(40)]
    report = report_of([*rows, row(40, False, "error")], scale=Scale(0.1, 1.0, 1.0))
    figure = report.chart()
    check_readable(figure)
    score, success, kind_scores, kind_success, reasons = figure.axes
    assert lines(success, "o") == [[pytest.approx(10 / 41)], [0.25]]  # the bound comes first
    low, high = report.success_ci95
    assert lines(success)[1] == [pytest.approx(low), pytest.approx(high)]
    assert lines(score)[1:3] == [[0.1, 0.1], [1.0, 1.0]]  # the ends of the scale
    assert lines(score, "o") == [[pytest.approx(10 / 41)], [0.25]]
    assert [bar.get_width() for bar in kind_success.patches] == [0.5, 0.0]
    assert [bar.get_width() for bar in kind_scores.patches] == [0.5, 0.0]
    assert [bar.get_width() * 41 for bar in reasons.patches] == pytest.approx([30, 10, 1])
    strings = texts(figure)
    assert "mine on webshop:standard" in strings and "by task type" in strings
    assert any("1 of 41 episodes broken; 16.0 where random is 0" in text for text in strings)
    assert "30  (73%)" in strings and f"0.25  [{low:.2f}, {high:.2f}]" in strings
    assert {"kind 0", "kind 1", "turn limit", "broken", "20"} <= {*strings}


def test_a_report_without_a_word_on_success_draws_none() -> None:
    report = report_of([replace(row(i, False), success_unknown=True) for i in range(3)])
    score, success, *_ = report.chart().axes
    assert lines(score, "o") == [] == lines(success, "o")
    assert any("success cannot be told" in text for text in texts(report.chart()))


def test_samples_of_a_task_show_how_often_one_or_all_of_them_solve_it() -> None:
    rows = [replace(row(i % 20, i % 3 == 0), sample=i // 20) for i in range(40)]
    report = report_of(rows, samples=2)
    figure = report.chart()
    check_readable(figure)
    assert {"pass@2", "pass^2"} <= {*texts(figure)}
    points = [report.success, report.pass_at(2).value, report.pass_hat(2).value]
    assert lines(figure.axes[1], "o") == [[point] for point in points]


LONG = "meta-llama/Llama-3.1-8B-Instruct-a-very-long-name-" + "W" * 200 + "/checkpoint-12000"


@pytest.mark.parametrize(
    ("rows", "fields"),
    [
        ([row(0, True)], {}),
        ([row(0, False)], {"policy": LONG, "env_id": LONG}),
        ([row(i, True) for i in range(30)], {"scale": Scale(0.0, None)}),
        ([row(i, False, "error") for i in range(5)], {"scale": Scale(0.2, 0.2, 0.5)}),
        ([], {"planned": 10_000}),
        ([row(i, i % 3 == 0, task_type=f"W{i % 40}" * 30) for i in range(160)], {}),
        ([row(i, i % 3 == 0, **{"expert_turns": str(i % 90)}) for i in range(900)], {}),
        ([row(0, True, "$x^{_$ <b>\n\x1b[31m\0\ud800")], {"policy": "$\\frac{$ <script>"}),
    ],
    ids=["one", "long", "all", "errors", "none", "kinds", "many-kinds", "hostile"],
)
def test_every_report_can_be_read(rows: list[EpisodeResult], fields: dict[str, Any]) -> None:
    report = report_of(rows, **fields)
    check_readable(report.chart())
    check_readable(Leaderboard([report, report, replace(report, policy="another")]).chart())


def test_of_very_many_kinds_those_with_most_episodes_are_drawn() -> None:
    rows = [row(i, True, expert_turns=str(i % 90 if i < 800 else i % 7)) for i in range(900)]
    figure = report_of(rows).chart()
    assert "by expert turns: the 50 of 90 with the most episodes" in texts(figure)
    labels = [label.get_text() for label in figure.axes[2].get_yticklabels()]
    assert labels[:7] == ["0", "1", "2", "3", "4", "5", "6"] and len(labels) == 50


def test_several_reports_stand_by_their_tasks() -> None:
    rows = [row(i, i % 2 == 0) for i in range(10)]
    base = report_of(rows, scale=Scale(0.1, 0.9, 1.0), env_kwargs={"difficulty": "easy"})
    other_report = replace(base, panel_sha256="cd" * 32, env_id="agentgym/SWE-v0", scale=None)
    sampled = replace(base, policy_facts={"sampling": {"temperature": 0.7}})
    worse = replace(base, policy="worse", rows=(*base.rows[1:], row(0, False, "error")))
    figure = Leaderboard([base, other_report, replace(base, horizon=9), sampled, worse]).chart()
    check_readable(figure)
    first, _, second, _ = figure.axes
    labels = [label.get_text() for label in first.get_yticklabels()]
    assert labels[1].startswith("mine") and "horizon=9" in labels[1]
    assert "temperature=0.7" in labels[2] and labels[3] == "worse (1 broken)"
    assert labels[4] == "without the broken"
    assert len(lines(first, "o")) == 5 and len(lines(second, "o")) == 1
    assert lines(first).count([0.1, 0.1]) == 4 and [0.9, 0.9] not in lines(second)
    headings = [text for text in texts(figure) if ":standard" in text]
    assert headings == [
        f"{name}:standard + difficulty=easy: 10 tasks of test, seed 0, panel {panel}"
        for name, panel in (("webshop", "abababab"), ("swe", "cdcdcdcd"))
    ]


def test_a_picture_is_a_file_that_is_the_same_every_time(tmp_path: Path) -> None:
    report = evaluate("random", TOY_ID, num_tasks=20)
    for name in ("one.png", "two.png", "one.svg", "two.SVG"):
        report.chart(tmp_path / name)
    for first, second in (("one.png", "two.png"), ("one.svg", "two.SVG")):
        assert (tmp_path / first).read_bytes() == (tmp_path / second).read_bytes()
    assert (tmp_path / "one.png").read_bytes().startswith(SIGNATURE)
    root = ElementTree.parse(tmp_path / "one.svg").getroot()
    assert root.tag.endswith("svg")
    assert "date" not in (tmp_path / "one.svg").read_text().lower()
    Leaderboard([report]).chart(tmp_path / "several.png")
    assert (tmp_path / "several.png").read_bytes().startswith(SIGNATURE)
    with pytest.raises(ConfigurationError, match=r"ends in \.png or \.svg, got chart\.jpg"):
        report.chart("chart.jpg")
    with pytest.raises(ConfigurationError, match="file that can be written"):
        report.chart(tmp_path / "one.png" / "two.png")


@pytest.mark.slow
def test_a_notebook_shows_it_and_no_state_of_matplotlib_changes() -> None:
    code = (
        "import os, sys, matplotlib, agentgym\n"
        "os.environ.pop('DISPLAY', None)\n"
        "before = matplotlib.rcParams.copy()\n"
        "figure = agentgym.evaluate('random', 'webshop', num_tasks=2).chart()\n"
        "assert dict.__eq__(matplotlib.rcParams, before)\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
        "assert figure._repr_png_().startswith(b'\\x89PNG')\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_settings_of_the_reader_do_not_change_the_picture(tmp_path: Path) -> None:
    import matplotlib

    report = report_of([row(i, i % 2 == 0) for i in range(10)])
    report.chart(tmp_path / "usual.png")
    with matplotlib.rc_context(
        {"font.size": 30, "figure.facecolor": "black", "lines.linewidth": 9}
    ):
        report.chart(tmp_path / "odd.png")
    assert (tmp_path / "usual.png").read_bytes() == (tmp_path / "odd.png").read_bytes()


def test_nothing_is_said_on_the_side() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report_of([row(0, True)], policy="Qwen3-4B · 0,7").chart()

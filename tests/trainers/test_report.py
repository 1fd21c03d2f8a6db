from __future__ import annotations

import html
import json
from pathlib import Path

import pytest

from tests.trainers import toy_runs
from trainers.folder import RunFolder
from trainers.report import draw_curve, write_curve, write_report

PNG = b"\x89PNG\r\n\x1a\n"
ARM = {
    "n": 10, "score_mean": 0.5, "score_ci95": [0.4, 0.6], "success": 0.3,
    "success_ci95": [0.1, 0.5], "turns_mean": 4.0, "scaled": 50.0,
}  # fmt: skip
SUMMARY = {
    "env": "agentgym/<Evil>-v0",
    "preset": "turn-loo",
    "eval": {arm: ARM for arm in ("random", "sft", "rl", "oracle")},
    "paired": {
        "rl_minus_sft": {
            "n": 10, "score_mean": 0.2, "score_ci95": [0.1, 0.3],
            "success_mean": -0.1, "success_ci95": [-0.2, 0.0],
        }
    },
}  # fmt: skip


def steps(*horizons: int) -> list[dict]:
    return [
        {"phase": "rl", "step": i, "horizon": horizon, "score": 0.1 * i, "success": 0.05 * i}
        for i, horizon in enumerate(horizons, 1)
    ]


def texts(metrics) -> list[str]:
    """What is written into the picture, found by watching matplotlib."""
    from matplotlib.axes import Axes

    written: list[str] = []
    plain = Axes.text

    def text(self, x, y, s, **options):
        written.append(f"{x}: {s.strip()}")
        return plain(self, x, y, s, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Axes, "text", text)
        assert draw_curve(metrics).startswith(PNG)
    return written


def test_the_curve_marks_every_stage_at_its_first_step():
    assert texts(steps(5, 5, 8, 8, 10)) == ["1: 5 turns", "3: 8 turns", "5: 10 turns"]


def test_a_curve_without_steps_is_still_a_picture():
    assert draw_curve([]).startswith(PNG)
    assert draw_curve([{"phase": "sft", "step": 1, "loss": 0.1}]).startswith(PNG)


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    made = RunFolder.open(tmp_path / "run", toy_runs.config(tmp_path / "run"))
    for record in steps(5, 8):
        made.log(**record)
    write_curve(made)
    return made


def episode(action: str, step: int = 1) -> dict:
    turn = {"action": action, "reward": 0.5, "after": {"observation": "<b>answer</b>"}}
    return {
        "task_id": "toy/<1>", "stop_reason": "success", "turns": [turn],
        "start": {"observation": "<img src=http://evil/>"}, "options": {"training_step": step},
    }  # fmt: skip


def page(folder: RunFolder, *episodes: dict) -> str:
    lines = "".join(json.dumps(record) + "\n" for record in episodes)
    folder.episodes_path.write_text(lines)
    return write_report(folder, SUMMARY).read_text()


def test_what_models_and_environments_write_is_escaped(folder):
    action = '<script>alert("x")</script> & {braces} </pre>'
    shown = page(folder, episode(action))
    assert "<script" not in shown
    assert html.escape(action) in shown
    assert "<b>answer" not in shown
    assert "<img src=http" not in shown
    assert "toy/&lt;1&gt;" in shown
    assert "&lt;Evil&gt;" in shown


def test_the_page_needs_nothing_else(folder):
    shown = page(folder)
    assert "http:" not in shown
    assert "https:" not in shown
    assert 'src="data:image/png;base64,' in shown
    assert "<link" not in shown


def test_the_page_says_the_result(folder):
    shown = page(folder)
    for part in ("warm start", "trained", "oracle", "0.400 to 0.600", "+0.200", "-0.200 to +0.000"):
        assert part in shown
    assert "group_size: 4" in shown


def test_the_last_episodes_are_shown(folder):
    shown = page(folder, *(episode(f"press {i}", step=i) for i in range(1, 11)))
    assert "press 10 " in shown
    assert "step 5," in shown
    assert "step 4," not in shown


def test_a_page_without_episodes_is_fine(folder):
    assert "Last training episodes" in write_report(folder, SUMMARY).read_text()

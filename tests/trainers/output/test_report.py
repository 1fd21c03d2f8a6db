from __future__ import annotations

import html
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.trainers import toy_runs
from trainers.output.curve import write_curve
from trainers.output.report import write_report
from trainers.output.run_folder import RunFolder
from trainers.output.summary import (
    ARMS,
    ArmResult,
    Difference,
    Evaluation,
    GreedyResults,
    Horizon,
    Paired,
    Summary,
)

ARM = ArmResult(10, 0.5, (0.4, 0.6), 0.3, (0.1, 0.5), 4.0, 50.0)
PAIRED = Difference(10, 0.2, (0.1, 0.3), -0.1, (-0.2, 0.0))
SUMMARY = Summary(
    env="agentgym/<Evil>-v0",
    preset="turn-loo",
    steps=2,
    seed=4,
    wall_s=90.0,
    horizon=Horizon((5, 8), 1, True),
    verdict="It <went> well.",
    remarks=("The warm start missed its gate.",),
    names={"random": "random", "sft": "base model", "rl": "trained", "oracle": "oracle"},
    eval={arm: ARM for arm in ARMS},
    paired=Paired(PAIRED),
    greedy=GreedyResults(ARM, replace(ARM, score_mean=0.875), PAIRED),
    evaluation=Evaluation("test", "feed" * 16, "sampled", 8),
    packages={"agentgym-suite": "0.1", "torch": "2.13"},
)


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    made = RunFolder.open(tmp_path / "run", toy_runs.config(tmp_path / "run"))
    write_curve(made)
    return made


def episode(action: str, step: int = 1, **changes: Any) -> dict:
    turn = {"action": action, "reward": 0.5, "after": {"observation": "<b>answer</b>"}}
    return {
        "task_id": "toy/<1>", "stop_reason": "success", "score": 1.0, "turns": [turn],
        "start": {"observation": "<img src=http://evil/>"}, "options": {"training_step": step},
        "details": {}, **changes,
    }  # fmt: skip


def write(path: Path, episodes: tuple[dict, ...]) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in episodes))


def page(folder: RunFolder, *episodes: dict, **changes: Any) -> str:
    write(folder.episodes_path, episodes)
    return write_report(folder, replace(SUMMARY, **changes)).read_text()


def test_what_models_and_environments_write_is_escaped(folder):
    action = '<script>alert("x")</script> & {braces} </pre>'
    shown = page(folder, episode(action))
    assert "<script" not in shown
    assert html.escape(action) in shown
    assert "<b>answer" not in shown
    assert "<img src=http" not in shown
    assert "toy/&lt;1&gt;" in shown
    assert "&lt;Evil&gt;" in shown
    assert "It &lt;went&gt; well." in shown


def test_the_page_needs_nothing_else(folder):
    shown = page(folder)
    assert "http:" not in shown
    assert "https:" not in shown
    assert 'src="data:image/png;base64,' in shown
    assert "<link" not in shown


def test_the_page_says_the_result(folder):
    shown = page(folder)
    for part in ("base model", "trained", "oracle", "0.400 to 0.600", "missed its gate", "50.0"):
        assert part in shown
    assert "warm start<" not in shown
    assert "group_size: 4" in shown


def test_the_page_says_what_greedy_actions_reach(folder):
    shown = page(folder)
    assert "<td>0.875</td>" in shown
    assert "+0.200 (+0.100 to +0.300)" in shown
    assert "likeliest" not in page(folder, greedy=None)


def test_the_page_says_how_the_run_came_about(folder):
    shown = page(folder)
    for part in ("feed" * 16, "torch 2.13", "1.5 minutes", "checkpoints/trained", "--resume"):
        assert part in shown


def test_without_a_scale_its_column_is_empty(folder):
    arms = {arm: replace(ARM, scaled=None) for arm in ("random", "sft", "rl")}
    shown = page(folder, eval=arms)
    assert shown.count("<td>-</td>") == 3
    assert "oracle<" not in shown


def test_the_last_episodes_are_shown(folder):
    shown = page(folder, *(episode(f"press {i}", step=i) for i in range(1, 11)))
    assert "press 10 " in shown
    assert "step 5:" in shown
    assert "step 4:" not in shown


def test_held_out_tasks_are_shown_before_and_after(folder):
    for arm, word in (("sft", "before"), ("rl", "after")):
        tasks = (episode(f"{word} {i}", task_id=f"toy/{i}") for i in range(5))
        write(folder.eval_episodes(arm), tuple(tasks))
    shown = page(folder)
    places = [shown.index(f"{word} {i} ") for i in range(3) for word in ("before", "after")]
    assert places == sorted(places)
    assert "before 3" not in shown
    assert "base model: toy/0, success, score 1.00" in shown


def test_a_failed_episode_says_what_failed(folder):
    failed = episode("press red", stop_reason="error", turns=[], details={"error": "no <power>"})
    assert "no &lt;power&gt;" in page(folder, failed)


def test_a_page_without_episodes_is_fine(folder):
    assert "Last training episodes" in write_report(folder, SUMMARY).read_text()

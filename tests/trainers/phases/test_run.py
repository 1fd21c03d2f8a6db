"""A whole run on the toy environment: what it writes, and that it can be written again."""

from __future__ import annotations

import html
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from agentgym.episodes import read_episodes, replay
from agentgym.errors import ConfigurationError
from agentgym.support.folder_lock import LOCK
from agentgym.support.statistics import paired_difference, scaled
from tests.toy import TOY_ID, ToyTasks
from tests.trainers import toy_runs
from trainers.output.display import Display
from trainers.output.run_folder import RunFolder
from trainers.phases.run import train

ARMS = ("random", "warm-start", "trained", "oracle")
TASKS, VALID = toy_runs.SETTINGS["eval.num-tasks"], toy_runs.SETTINGS["eval.valid-tasks"]


def of(folder: Path, phase: str) -> list[dict[str, Any]]:
    return [record for record in toy_runs.metrics(folder) if record["phase"] == phase]


def rows(folder: Path) -> dict[str, list[dict[str, Any]]]:
    return {record["arm"]: record["rows"] for record in of(folder, "eval")}


def test_the_summary_has_the_promised_structure(finished):
    summary = json.loads((finished / "summary.json").read_text())
    promised = {
        "env": TOY_ID,
        "preset": "turn-loo",
        "steps": 6,
        "horizon": {"rounds": [3, 4, 5], "every": 2, "fit": True},
        "seed": 0,
    }
    assert {key: summary[key] for key in promised} == promised
    assert summary["wall_s"] > 0 and summary["cpu_s"] > 0
    assert set(summary["eval"]) == set(ARMS)
    for arm in summary["eval"].values():
        assert set(arm) == {
            "n", "score_mean", "score_ci95", "success", "success_ci95", "turns_mean", "scaled",
        }  # fmt: skip
        assert arm["n"] == TASKS
        for name, centre in (("score_ci95", "score_mean"), ("success_ci95", "success")):
            low, high = arm[name]
            assert 0 <= low <= arm[centre] <= high <= 1
    paired = summary["paired"]
    baselines = {"bc", "filtered_bc", "expert_iteration"}
    differences = {f"trained_minus_{arm}" for arm in (*baselines, "base_model", "demonstrator")}
    assert set(paired) == {"trained_minus_warm_start", *differences}
    assert {paired[name] for name in differences} == {None}, "this run has no such arm"
    assert (summary["strongest_baseline"], summary["baselines"], summary["cut"]) == ("", {}, {})
    assert set(paired["trained_minus_warm_start"]) == {
        "n", "score_mean", "score_ci95", "success_mean", "success_ci95",
    }  # fmt: skip
    assert summary["evaluation"]["horizon"] == 5
    assert summary["evaluation"]["decoding"] == "sampled"
    assert summary["warm_start"]["steps"] == 40
    greedy = summary["greedy"]
    absent = baselines | {f"trained_minus_{arm}" for arm in baselines}
    assert set(greedy) == {"warm_start", "trained", "trained_minus_warm_start", *absent}
    assert {greedy[name] for name in absent} == {None}
    assert set(summary) >= set(promised) | {"wall_s", "eval", "paired"}


def test_the_summary_follows_from_the_recorded_episodes(finished):
    summary, episodes = toy_runs.summary(finished), rows(finished)
    means = {arm: sum(row["score"] for row in episodes[arm]) / TASKS for arm in ARMS}
    for arm in ARMS:
        evaluation = summary["eval"][arm]
        assert evaluation["score_mean"] == pytest.approx(means[arm])
        assert evaluation["success"] == sum(row["success"] for row in episodes[arm]) / TASKS
        assert evaluation["turns_mean"] == sum(row["turns"] for row in episodes[arm]) / TASKS
        expected = scaled(means[arm], means["random"], means["oracle"])
        assert evaluation["scaled"] == pytest.approx(expected)
    pairs = zip(episodes["trained"], episodes["warm-start"], strict=True)
    difference = paired_difference(
        *zip(*((after["score"], before["score"]) for after, before in pairs), strict=True)
    )
    paired = summary["paired"]["trained_minus_warm_start"]
    assert [paired["score_mean"], *paired["score_ci95"]] == pytest.approx(list(difference))


def test_the_oracle_is_100_and_random_is_0(finished):
    arms = toy_runs.summary(finished)["eval"]
    assert arms["oracle"]["scaled"] == pytest.approx(100)
    assert arms["random"]["scaled"] == 0
    assert arms["oracle"]["success"] == 1.0


def test_every_file_of_the_folder_is_there(finished):
    names = {path.name for path in finished.iterdir()} - {LOCK}
    assert names == {
        "config.yaml", "state.json", "metrics.jsonl", "episodes.jsonl", "checkpoints",
        "curve.png", "summary.json", "report.html", "eval_episodes",
    }  # fmt: skip
    checkpoints = {path.name for path in (finished / "checkpoints").iterdir()}
    assert checkpoints == {"warm-start", "rl", "trained", "best"}
    checkpoint_names = {
        path.name for path in (finished / "checkpoints" / "rl").glob("checkpoint-*")
    }
    assert checkpoint_names == {"checkpoint-4", "checkpoint-6"}
    settings = yaml.safe_load((finished / "config.yaml").read_text())
    assert settings["env"] == TOY_ID
    assert settings["rl"]["num_generations"] == 4


def test_the_pictures_are_pictures_and_the_page_holds_its_own(finished):
    assert (finished / "curve.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    page = (finished / "report.html").read_text()
    assert page.count("<svg") == 2 + 10  # curves, and the signals that this run has
    assert not re.search(r"https?:", page)
    assert "<script" not in page


def test_every_arm_plays_the_same_panel_at_the_full_horizon(finished):
    panel = ToyTasks().panel("test", TASKS)
    records = of(finished, "eval")
    assert [record["arm"] for record in records] == [
        "random", "oracle", "warm-start", "warm-start-greedy", "trained", "trained-greedy",
    ]  # fmt: skip
    for record in records:
        assert record["panel_sha256"] == panel.sha256
        assert [row["task_id"] for row in record["rows"]] == list(panel.ids)
        assert {row["turns"] for row in record["rows"] if row["stop_reason"] == "horizon"} <= {5}
    assert any(row["stop_reason"] == "horizon" for row in records[0]["rows"])
    assert toy_runs.summary(finished)["evaluation"]["panel_sha256"] == panel.sha256


def test_held_out_episodes_of_every_arm_are_kept_and_replay(finished):
    panel = ToyTasks().panel("test", TASKS)
    arms = ("random", "oracle", "warm-start", "warm-start-greedy", "trained", "trained-greedy")
    assert {path.stem for path in (finished / "eval_episodes").iterdir()} == {*arms, "valid"}
    for arm in arms:
        episodes = list(read_episodes(finished / "eval_episodes" / f"{arm}.jsonl"))
        assert [episode.task_id for episode in episodes] == list(panel.ids)
        assert {episode.panel_sha256 for episode in episodes} == {panel.sha256}
        for episode, row in zip(episodes, rows(finished)[arm], strict=True):
            assert (episode.score, episode.success) == (row["score"], row["success"])
            assert episode.stop_reason == row["stop_reason"]
            assert len(episode.turns) == row["turns"]
            # The environment's own rewards, not those that only training pays.
            assert episode.reward == row["reward"] == float(row["success"])
            assert replay(episode).equal


def test_episodes_of_the_validations_are_kept_and_replay(finished):
    episodes = list(read_episodes(finished / "eval_episodes" / "valid.jsonl"))
    assert [episode.extra["step"] for episode in episodes] == [
        s for s in (0, 2, 4, 6) for _ in range(VALID)
    ]
    assert {episode.split for episode in episodes} == {"valid"}
    for record in of(finished, "valid"):
        scores = [e.score for e in episodes if e.extra["step"] == record["step"]]
        assert sum(scores) / VALID == pytest.approx(record["score"])
    assert all(replay(episode).equal for episode in episodes)


def test_the_summary_says_in_words_what_a_reader_must_know(finished):
    """The toy run's gate is out of reach, and its expert solves every task."""
    summary = toy_runs.summary(finished)
    paired = summary["paired"]["trained_minus_warm_start"]
    assert f"{paired['score_mean']:+.3f}" in summary["verdict"]
    assert f"{TASKS} held-out tasks" in summary["verdict"]
    remark, choice, greedy, below = summary["remarks"]
    assert "missed its target" in remark
    assert "of step 4 of 6, the best on the validation tasks" in choice
    assert greedy.startswith("With greedy actions the trained policy scores lower than warm-start")
    means = [summary["eval"][arm]["score_mean"] for arm in ("trained", "random")]
    assert below.endswith("below random actions: {:.3f} against {:.3f}.".format(*means))
    assert summary["warm_start"]["gated"] is False
    assert summary["names"]["warm-start"] == "warm-start"
    assert summary["packages"].keys() >= {"agentgym-suite", "torch", "trl"}
    page = (finished / "report.html").read_text()
    for sentence in (summary["verdict"], remark, below, summary["evaluation"]["panel_sha256"]):
        assert html.escape(sentence) in page


def test_a_run_without_an_expert_trains_and_says_so(tmp_path, capsys):
    changes = {"steps": 1, "sft__max_steps": None, "eval__every": 0}
    config = toy_runs.config(tmp_path / "run", env=toy_runs.NO_EXPERT_ID, **changes)
    summary = train(config)
    assert list(summary["eval"]) == ["random", "warm-start", "trained"]
    assert {arm["scaled"] for arm in summary["eval"].values()} == {None}
    assert summary["names"]["warm-start"] == "untrained"
    assert summary["warm_start"] is None
    message = " ".join(capsys.readouterr().err.split())
    assert message.count("this environment has no expert") == 2, "before the training and after it"
    assert "this environment has no expert" in (tmp_path / "run" / "report.html").read_text()


def test_an_expert_that_needs_more_turns_is_said_and_is_no_100(tmp_path, capsys):
    changes = {
        "steps": 1,
        "horizon": "2",
        "sft__max_steps": 5,
        "eval__every": 0,
        "fit_horizon": False,
    }
    changes["eval__num_tasks"] = 8
    summary = train(toy_runs.config(tmp_path / "run", **changes))
    assert {arm["scaled"] for arm in summary["eval"].values()} == {None}
    message = capsys.readouterr().err
    assert "the expert solves only" in message
    assert "100.0" not in message


def test_a_gate_of_the_horizon_that_never_opens_is_said(tmp_path):
    changes = {
        "steps": 2,
        "horizon": "2,5",
        "horizon_gate": 1.0,
        "horizon_every": 2,
        "eval__every": 0,
    }
    summary = train(
        toy_runs.config(
            tmp_path / "run", **changes, sft__max_steps=5, eval__num_tasks=8, fit_horizon=False
        )
    )
    remarks = " ".join(summary["remarks"])
    assert "The horizon ended at 2 of 5 turns" in remarks and "--horizon-gate 1" in remarks


def test_no_card_speaks_of_a_model_without_a_name(finished):
    cards = list(finished.rglob("README.md"))
    assert finished / "checkpoints" / "best" / "README.md" in cards
    for card in cards:
        assert "None" not in card.read_text()
    text = (finished / "checkpoints" / "best" / "README.md").read_text()
    assert TOY_ID in text
    assert "turn-loo" in text


def test_stages_switch_at_their_steps(finished):
    steps = of(finished, "rl")
    assert [(s["step"], s["horizon"], s["stage"]) for s in steps] == [
        (1, 3, 0), (2, 3, 0), (3, 4, 1), (4, 4, 1), (5, 5, 2), (6, 5, 2),
    ]  # fmt: skip
    assert all(s["turns"] <= s["horizon"] for s in steps)
    totals = [round(s["turns"] * 16) for s in steps]
    assert [s["turns_total"] for s in steps] == [sum(totals[: i + 1]) for i in range(6)]


def test_every_step_has_the_figures_of_rollouts_credit_and_optimiser(finished):
    for step in of(finished, "rl"):
        assert step.keys() >= {
            "return", "success", "score", "valid", "stopped", "ended_by_error", "loss",
            "grad_norm", "entropy", "learning_rate", "trained_fraction",
        }  # fmt: skip
    assert of(finished, "rl")[0]["probe_gap"] <= 1e-4
    assert any(step["grad_norm"] > 0 for step in of(finished, "rl"))


def test_validation_is_at_the_steps_asked_for_and_before_the_first(finished):
    assert [record["step"] for record in of(finished, "valid")] == [0, 2, 4, 6]


def test_the_warm_start_is_logged_with_its_gate(finished):
    records = of(finished, "sft")
    assert [r["step"] for r in records if "loss" in r] == [10, 20, 30, 40]
    assert [r["step"] for r in records if "success" in r] == [20, 40]


def test_training_episodes_are_of_training_tasks(finished):
    lines = (finished / "episodes.jsonl").read_text().splitlines()
    episodes = [json.loads(line) for line in lines]
    assert {e["options"]["training_step"] for e in episodes} == {1, 2, 3, 4, 5, 6}
    assert {e["split"] for e in episodes} == {"train"}
    horizon = {1: 3, 2: 3, 3: 4, 4: 4, 5: 5, 6: 5}
    for episode in episodes:
        assert episode["options"]["horizon"] == horizon[episode["options"]["training_step"]]


@pytest.mark.parametrize("checkpoint", ["warm-start", "trained", "best"])
def test_checkpoints_can_be_loaded_by_transformers(finished, checkpoint):
    from transformers import AutoModelForCausalLM, AutoTokenizer

    path = finished / "checkpoints" / checkpoint
    tokenizer = AutoTokenizer.from_pretrained(path)
    model = AutoModelForCausalLM.from_pretrained(path)
    assert model.config.vocab_size == len(tokenizer)
    assert "red" in tokenizer.get_vocab()


def test_reinforcement_changes_the_weights(finished):
    from safetensors.torch import load_file

    weights_before, weights_after = (
        load_file(finished / "checkpoints" / name / "model.safetensors")
        for name in ("warm-start", "trained")
    )
    assert weights_before.keys() == weights_after.keys()
    assert all(not weights_before[name].equal(weights_after[name]) for name in weights_before)
    assert rows(finished)["trained"] != rows(finished)["warm-start"]


@pytest.mark.slow
def test_the_same_seed_gives_the_same_run(finished, tmp_path):
    train(toy_runs.config(tmp_path / "again"), Display(quiet=True))
    assert toy_runs.metrics(tmp_path / "again") == toy_runs.metrics(finished)
    assert toy_runs.summary(tmp_path / "again") == toy_runs.summary(finished)
    first, second = (
        (folder / "episodes.jsonl").read_text().splitlines()
        for folder in (finished, tmp_path / "again")
    )
    assert first == second


@pytest.mark.slow
def test_another_seed_gives_another_run_on_the_same_panel(finished, tmp_path):
    out = tmp_path / "other"
    quick = {"steps": 1, "sft__max_steps": 10, "eval__every": 0}
    train(toy_runs.config(out, seed=1, **quick), Display(quiet=True))
    assert of(out, "rl")[0]["return"] != of(finished, "rl")[0]["return"]
    assert rows(out)["random"] == rows(finished)["random"]
    ids = [[row["task_id"] for row in rows(folder)["trained"]] for folder in (out, finished)]
    assert ids[0] == ids[1]
    assert of(out, "valid") == []


def test_a_finished_run_is_answered_without_work(finished, tmp_path, monkeypatch):
    out = tmp_path / "copy"
    shutil.copytree(finished, out)
    files_before = toy_runs.files(out)
    monkeypatch.setattr(
        "trainers.phases.run._Run.execute", lambda self: pytest.fail("worked again")
    )
    summary = train(toy_runs.config(out, "--resume"), Display(quiet=True))
    assert summary == json.loads((finished / "summary.json").read_text())
    assert toy_runs.files(out) == files_before
    with pytest.raises(ConfigurationError, match="seed was 0 and is 5"):
        train(toy_runs.config(out, "--resume", seed=5), Display(quiet=True))


def test_the_turn_budget_ends_the_training(tmp_path):
    out = tmp_path / "run"
    changes = {"steps": 50, "rl__turn_budget": 100, "sft__max_steps": 0, "eval__every": 0}
    summary = train(toy_runs.config(out, **changes), Display(quiet=True))
    totals = [record["turns_total"] for record in of(out, "rl")]
    assert totals[-1] >= 100 > totals[-2]
    assert summary["steps"] == len(totals)
    assert any(f"after {len(totals)} of 50 steps" in remark for remark in summary["remarks"])


def test_the_gate_ends_the_warm_start(tmp_path):
    out = tmp_path / "run"
    changes = {"steps": 1, "sft__target_success": 0, "eval__every": 0}
    summary = train(toy_runs.config(out, **changes), Display(quiet=True))
    assert summary["warm_start"]["steps"] == 20
    assert summary["warm_start"]["gated"] is True


@pytest.mark.slow
@pytest.mark.parametrize("preset", ["scalinginter", "gigpo"])
def test_other_presets_run_also_from_a_reference_policy(tmp_path, preset):
    changes = {"steps": 2, "sft__max_steps": 5, "eval__every": 0, "preset": preset}
    summary = train(toy_runs.config(tmp_path / "run", **changes), Display(quiet=True))
    assert (summary["preset"], summary["steps"]) == (preset, 2)


def test_greedy_evaluation_is_said(tmp_path):
    changes = {"steps": 1, "sft__max_steps": 5, "eval__every": 0}
    config = toy_runs.config(tmp_path / "run", "--eval.greedy", **changes)
    summary = train(config, Display(quiet=True))
    assert summary["evaluation"]["decoding"] == "greedy"
    assert "greedy" not in summary, "it is no extra then"
    assert [r["arm"] for r in of(tmp_path / "run", "eval")] == [
        "random",
        "oracle",
        "warm-start",
        "trained",
    ]


@pytest.mark.slow
def test_the_time_limit_ends_the_training_and_stays_ended(tmp_path, monkeypatch):
    """An hour passes in the third step; what follows is evaluated, also after a kill."""
    late = [0.0]
    seconds, log = RunFolder.seconds, RunFolder.log

    def log_and_wait(self: RunFolder, **record: Any) -> None:
        log(self, **record)
        if (record["phase"], record.get("step")) == ("rl", 2):
            late[0] = 3600.0

    monkeypatch.setattr(RunFolder, "seconds", lambda self: seconds(self) + late[0])
    monkeypatch.setattr(RunFolder, "log", log_and_wait)
    changes = {"minutes": 30, "sft__max_steps": 5, "eval__every": 0, "rl__save_every": 100}
    out = tmp_path / "run"
    with monkeypatch.context() as patch:
        patch.setattr("trainers.phases.run._Run._summarise", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            train(toy_runs.config(out, **changes), Display(quiet=True))
    records_before = of(out, "rl")
    assert [record["step"] for record in records_before] == [1, 2, 3]
    shutil.rmtree(out / "checkpoints" / "trained")
    summary = train(toy_runs.config(out, "--resume", **changes), Display(quiet=True))
    assert summary["steps"] == 3
    assert of(out, "rl") == records_before

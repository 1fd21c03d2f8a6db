"""An evaluation cannot be lost: what was played is kept, and the same call goes on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from agentgym.cli import main
from agentgym.episodes import read_episodes, replay
from agentgym.errors import ConfigurationError, DataError, EvaluationFailed, PolicyFailure
from agentgym.evaluation import EpisodeResult, Prices, Report, evaluate, read_report
from agentgym.registration import FAMILIES
from agentgym.support.caching import SCRATCH
from tests.toy import TOY_ID, ToyEnv
from tests.warm_python import run_warm


class Reader:
    """Solves tasks, and counts its episodes; fails in those that it is told to."""

    begun = 0

    def __init__(self, *failing: int, last: int = 10**9, slow: float = 0.0) -> None:
        self.failing, self.last, self.slow = failing, last, slow

    def reset(self, observation: str, info: Mapping[str, Any]) -> None:
        self.begun += 1
        if self.begun > self.last:
            raise KeyboardInterrupt
        if self.begun in self.failing:
            raise PolicyFailure("the endpoint answered 500")

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        time.sleep(self.slow)
        return f"press {observation.split()[-1]}"


class BrokenExpert(ToyEnv):
    """Its expert has a fault."""

    def _oracle_action(self) -> str | None:
        raise ValueError("planner bug")


def test_ctrl_c_keeps_what_is_done_and_the_same_call_goes_on(tmp_path: Path) -> None:
    full_report = evaluate(Reader(), TOY_ID, num_tasks=9, out=tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        evaluate(Reader(last=4), TOY_ID, num_tasks=9, out=tmp_path / "cut")
    part = read_report(tmp_path / "cut")
    assert part.rows == full_report.rows[:4] and not part.finished and part.planned == 9
    assert not (tmp_path / "cut/report.json").exists()
    reader, results = Reader(), list[EpisodeResult]()
    report = evaluate(reader, TOY_ID, num_tasks=9, out=tmp_path / "cut", on_episode=results.append)
    assert reader.begun == 5 and len(results) == 9 and report == full_report and report.finished
    files = [(tmp_path / name / "episodes.jsonl").read_bytes() for name in ("whole", "cut")]
    assert files[0] == files[1]
    third = Reader()
    assert evaluate(third, TOY_ID, num_tasks=9, out=tmp_path / "cut") == full_report
    assert third.begun == 0
    assert read_report(tmp_path / "cut/report.json") == full_report


def test_prices_and_a_scale_are_added_to_what_is_finished(tmp_path: Path) -> None:
    first = evaluate(Reader(), TOY_ID, num_tasks=4, out=tmp_path, prices=Prices(1.0, 2.0))
    reader = Reader()
    scaled = evaluate(reader, TOY_ID, num_tasks=4, out=tmp_path, scale=True)
    assert reader.begun == 0 and scaled.scaled == 100.0 and first.scale is None
    assert scaled.prices == first.prices and read_report(tmp_path) == scaled


def test_a_longer_evaluation_begins_with_the_shorter_one(tmp_path: Path) -> None:
    evaluate(Reader(), TOY_ID, num_tasks=5, out=tmp_path)
    more = Reader()
    report = evaluate(more, TOY_ID, num_tasks=8, samples=2, out=tmp_path)
    assert more.begun == 11 and len(report.rows) == 16
    assert report == evaluate(Reader(), TOY_ID, num_tasks=8, samples=2)
    with pytest.raises(ConfigurationError, match="n was 8 and is 5; samples was 2 and is 1"):
        evaluate(Reader(), TOY_ID, num_tasks=5, out=tmp_path)


ITEMS = f"""
format = "agentgym.protocol/1"
name = "listed"

["{TOY_ID}".tasks]
split = "test"
items = {{ prefix = "item_", task_id = "{{name}}", names = "names.txt", count = 5 }}
"""


@pytest.mark.parametrize("listed", ["--protocol", "--task"])
def test_a_list_of_tasks_begins_with_the_shorter_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], listed: str
) -> None:
    ids = ToyEnv().tasks.panel("test", 5, 7).ids
    (tmp_path / "names.txt").write_text(
        "".join(f"{i} {task_id}\n" for i, task_id in enumerate(ids))
    )
    (tmp_path / "listed.toml").write_text(ITEMS)

    def play(n: int, folder: str) -> tuple[int, str]:
        tasks = [word for task_id in ids[:n] for word in ("--task", task_id)]
        task_flags = tasks if listed == "--task" else ["--protocol", str(tmp_path / "listed.toml")]
        size = [] if listed == "--task" else ["--num-tasks", str(n)]
        out = str(tmp_path / folder)
        code = main(["eval", TOY_ID, "--policy", "random", *task_flags, *size, "--out", out])
        output = capsys.readouterr()
        return code, output.out + output.err

    assert play(2, "grown")[0] == 0
    code, output = play(4, "grown")
    assert code == 0 and "2 episodes were read" in output and "2 played" in output
    assert play(4, "whole")[0] == 0
    assert read_report(tmp_path / "grown") == read_report(tmp_path / "whole")
    code, output = play(3, "grown")
    assert code == 2 and "n was 4 and is 3;" in output and "tasks was" not in output
    ids = (ids[1], ids[0], *ids[2:])
    (tmp_path / "names.txt").write_text(
        "".join(f"{i} {task_id}\n" for i, task_id in enumerate(ids))
    )
    assert "tasks was [" in play(5, "grown")[1]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"seed": 1}, "seed was 0 and is 1"),
        ({"policy": "oracle"}, "policy was 'Reader' and is 'oracle'"),
        ({"horizon": 3}, "horizon was None and is 3"),
        ({"split": "valid"}, "split was 'test'"),
        ({"env_kwargs": {"grammar": "xml"}}, "env_kwargs was {} and is {'grammar': 'xml'}"),
        ({"tasks": ["toy/gold-red"]}, "tasks was None"),
    ],
)
def test_another_evaluation_does_not_go_on(
    tmp_path: Path, change: dict[str, Any], words: str
) -> None:
    settings: dict[str, Any] = {"policy": Reader(), "env": TOY_ID, "num_tasks": 3, "out": tmp_path}
    evaluate(**settings)
    with pytest.raises(ConfigurationError, match=words):
        evaluate(**{**settings, **change})
    (tmp_path / "evaluation.json").unlink()
    with pytest.raises(ConfigurationError, match="holds other files"):
        evaluate(**settings)


def test_a_failing_endpoint_costs_its_episodes(tmp_path: Path) -> None:
    report = evaluate(Reader(2, 5), TOY_ID, num_tasks=8, out=tmp_path)
    assert [row.valid for row in report.rows] == [True, False, True, True, False, True, True, True]
    assert report.rows[1].error == "the endpoint answered 500" and report.success == 1.0
    records = list(read_episodes(tmp_path / "episodes.jsonl"))
    assert records[1].stop_reason == "error" and "500" in records[1].details["error"]
    assert all(replay(record).equal for record in records if record.stop_reason != "error")
    reader = Reader()
    assert evaluate(reader, TOY_ID, num_tasks=8, out=tmp_path) == report and reader.begun == 0
    mended = evaluate(reader, TOY_ID, num_tasks=8, out=tmp_path, retry_failed=True)
    assert reader.begun == 2 and mended == evaluate(Reader(), TOY_ID, num_tasks=8)
    assert len(list(read_episodes(tmp_path / "episodes.jsonl"))) == 8


def test_a_retry_that_is_cut_off_costs_nothing_of_the_report(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"env": TOY_ID, "num_tasks": 6, "out": tmp_path}
    first = evaluate(Reader(2, 5), **settings, scale=True, prices=Prices(1.0, 2.0))
    assert first.errors == 2 and first.scale is not None
    with pytest.raises(KeyboardInterrupt):
        evaluate(Reader(last=1), **settings, retry_failed=True)
    report = read_report(tmp_path)
    assert report == first and report.commit == first.commit and report.versions
    reader = Reader()
    mended = evaluate(reader, **settings, retry_failed=True)
    assert reader.begun == 1 and mended.errors == 0
    assert (mended.scale, mended.prices) == (first.scale, first.prices)


FLAKY = """
import os

class Flaky:
    begun = 0

    def reset(self, observation, info):
        Flaky.begun += 1
        if os.environ.get("BAD") == "odd" and Flaky.begun % 2:
            raise ConnectionError("gone")
        if os.environ.get("BAD") == "kill" and Flaky.begun == 2:
            os._exit(9)

    def act(self, observation, info):
        return f"press {observation.split()[-1]}"
"""


@pytest.mark.slow
def test_a_retry_that_was_killed_is_told_by_the_report_when_it_is_read(tmp_path: Path) -> None:
    (tmp_path / "killed.py").write_text(FLAKY)
    out = tmp_path / "o"

    def play(bad: str, *flags: str) -> int:
        flags_of_play = [
            "--policy",
            "killed:Flaky",
            "--num-tasks",
            "6",
            "--no-scale",
            "--out",
            str(out),
            *flags,
        ]
        argv = ["eval", f"tests.toy:{TOY_ID}", *flags_of_play]
        return run_warm(argv, PYTHONPATH=str(tmp_path), BAD=bad).returncode

    assert play("odd") == 3 and read_report(out).errors == 3
    assert play("kill", "--retry-failed") == 9 and read_report(out).errors == 3
    assert play("") == 3
    report = read_report(out)
    records = [EpisodeResult.of(episode) for episode in read_episodes(out / "episodes.jsonl")]
    assert report.errors == 2 and report.rows == tuple(records)
    assert "2 broken" in (out / "report.md").read_text()
    assert play("", "--retry-failed") == 0 and read_report(out).errors == 0


def test_one_call_at_a_time_works_in_a_folder(tmp_path: Path) -> None:
    refused: list[ConfigurationError] = []

    class Impatient(Reader):
        def reset(self, observation: str, info: Mapping[str, Any]) -> None:
            super().reset(observation, info)
            with pytest.raises(ConfigurationError, match="no other process to work on") as error:
                evaluate(Impatient(), TOY_ID, num_tasks=3, out=tmp_path)
            refused.append(error.value)

    assert evaluate(Impatient(), TOY_ID, num_tasks=3, out=tmp_path).n == 3 == len(refused)
    # What a lock and a killed write leave behind is no other evaluation.
    (tmp_path / "evaluation.json").unlink()
    for name in ("episodes.jsonl", "report.json", "report.md"):
        (tmp_path / name).unlink()
    (tmp_path / f"{SCRATCH}1").touch()
    assert evaluate(Reader(), TOY_ID, num_tasks=3, out=tmp_path).n == 3


def test_a_failing_expert_costs_the_scale_alone(tmp_path: Path) -> None:
    def call(**more: Any) -> Report:
        return evaluate(policy, BrokenExpert(), num_tasks=25, out=tmp_path, scale=True, **more)

    policy = Reader()
    report = call()
    assert report.n == 25 and report.scaled is None and report.scale is not None
    assert report.scale.random is not None and "the expert" in report.scale.problem
    assert "planner bug" in report.scale.problem and read_report(tmp_path) == report
    assert call() == report and policy.begun == 25


@pytest.mark.parametrize("change", [{"sample": "x"}, {"labels": [1]}, {"labels": {"kind": 3}}])
def test_a_record_that_says_what_no_evaluation_does_is_played_again(
    change: Mapping[str, Any], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    report = evaluate("oracle", TOY_ID, num_tasks=3, out=tmp_path)
    file = tmp_path / "episodes.jsonl"
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    lines[1]["extra"].update(change)
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    (tmp_path / "report.json").unlink()
    assert len(read_report(tmp_path).rows) == 2 and "skipping the record of" in caplog.text
    with pytest.raises(DataError, match=f"'extra.{next(iter(change))}"):
        EpisodeResult.of(list(read_episodes(file))[1])
    assert evaluate("oracle", TOY_ID, num_tasks=3, out=tmp_path) == report


def test_it_stops_when_nearly_everything_fails(tmp_path: Path) -> None:
    down = Reader(*range(3, 100))
    with pytest.raises(
        EvaluationFailed, match=r"last 20 episodes all failed.*500.*22 of 60.*saved"
    ):
        evaluate(down, TOY_ID, num_tasks=60, out=tmp_path)
    assert down.begun == 22
    up = Reader()
    assert evaluate(up, TOY_ID, num_tasks=60, out=tmp_path).n == 60 and up.begun == 58
    flaky = Reader(*range(2, 100, 2))
    assert evaluate(flaky, TOY_ID, num_tasks=60).errors == 30


@pytest.mark.slow
def test_episodes_that_broke_before_do_not_end_a_resumed_evaluation(tmp_path: Path) -> None:
    """Thirty tasks that always fail, spread over 90, come in a row once the others are played."""

    class Refusing(Reader):
        def reset(self, observation: str, info: Mapping[str, Any]) -> None:
            super().reset(observation, info)
            if info["task_id"] in refused:
                raise PolicyFailure("the endpoint answered 500")

    refused = set(ToyEnv().tasks.panel("test", 90, 0).ids[::3])
    with pytest.raises(KeyboardInterrupt):
        evaluate(Refusing(last=75), TOY_ID, num_tasks=90, out=tmp_path / "cut")
    policy = Refusing()
    report = evaluate(policy, TOY_ID, num_tasks=90, out=tmp_path / "cut")
    assert report == evaluate(Refusing(), TOY_ID, num_tasks=90) and report.errors == 30
    assert policy.begun == 15 + 25
    retried = evaluate(Refusing(), TOY_ID, num_tasks=90, out=tmp_path / "cut", retry_failed=True)
    assert retried == report


def test_kill_9_loses_no_episode_that_has_ended(tmp_path: Path) -> None:
    code = (
        "from agentgym.evaluation import evaluate\n"
        "from tests.evaluation.test_resume import Reader\n"
        "from tests.toy import TOY_ID\n"
        f"evaluate(Reader(slow=0.02), TOY_ID, num_tasks=200, out={str(tmp_path)!r})\n"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([os.getcwd(), *sys.path])}
    process = subprocess.Popen([sys.executable, "-c", code], env=env)
    records = tmp_path / "episodes.jsonl"
    while not (records.exists() and records.read_bytes().count(b"\n") >= 3):
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    content = records.read_bytes()
    episode_count = content.count(b"\n")
    assert 3 <= episode_count < 200
    records.write_bytes(content + b'{"format": "agentgym.epis')  # a line that was being written
    reader = Reader()
    report = evaluate(reader, TOY_ID, num_tasks=200, out=tmp_path)
    assert reader.begun == 200 - episode_count
    assert report == evaluate(Reader(), TOY_ID, num_tasks=200)
    assert len(list(read_episodes(records))) == 200


def test_it_goes_on_beside_the_page_of_its_episodes(tmp_path: Path) -> None:
    command = ["eval", TOY_ID, "--policy", "oracle", "--out", str(tmp_path / "o")]
    assert main([*command, "--num-tasks", "2"]) == 0 == main(["view", str(tmp_path / "o")])
    page = (tmp_path / "o/view.html").read_bytes()
    assert main([*command, "--num-tasks", "4"]) == 0
    assert len(read_report(tmp_path / "o").rows) == 4
    assert (tmp_path / "o/view.html").read_bytes() == page


def test_changed_tasks_are_noticed(tmp_path: Path) -> None:
    evaluate(Reader(), TOY_ID, num_tasks=3, out=tmp_path)
    head = json.loads((tmp_path / "evaluation.json").read_text())
    head["settings"]["panel_sha256"] = "0" * 64
    (tmp_path / "evaluation.json").write_text(json.dumps(head))
    with pytest.raises(ConfigurationError, match="they have changed"):
        evaluate(Reader(), TOY_ID, num_tasks=4, out=tmp_path)
    (tmp_path / "evaluation.json").write_text("{")
    with pytest.raises(DataError, match="expected JSON"):
        evaluate(Reader(), TOY_ID, num_tasks=4, out=tmp_path)
    with pytest.raises(DataError, match="expected a report"):
        read_report(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ([], "format"),
        ({"settings": []}, "'settings' to be an object"),
        ({"settings": {}}, "the field 'settings.env_id', but it is missing"),
        ({"seconds": None}, "'seconds' to be a finite number"),
        ({"settings": {"n": "3"}}, "'settings.n' to be a whole number"),
        ({"settings": {"limits": {"tokens": -1, "cost": None}}}, "limit on tokens"),
    ],
)
def test_an_edited_evaluation_is_refused(
    change: Any, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "evaluation.json"
    evaluate("oracle", TOY_ID, num_tasks=3, out=tmp_path)
    (tmp_path / "report.json").unlink()
    head = json.loads(file.read_text())
    changed = change and {**head, **change}
    if settings := change and change.get("settings"):
        changed["settings"] = {**head["settings"], **settings}
    file.write_text(json.dumps(changed))
    with pytest.raises(DataError, match=words):
        read_report(tmp_path)
    for argv in (
        ["compare", str(tmp_path), str(tmp_path)],
        [
            "eval",
            f"tests.toy:{TOY_ID}",
            "--policy",
            "oracle",
            "--num-tasks",
            "3",
            "--out",
            str(tmp_path),
        ],
    ):
        assert main(argv) == 2
        message = capsys.readouterr().err.replace("\n", " ")
        assert "evaluation.json" in message and "report it" not in message


def test_a_torn_report_is_made_again_from_the_episodes(tmp_path: Path) -> None:
    report = evaluate("oracle", TOY_ID, num_tasks=3, out=tmp_path)
    file = tmp_path / "report.json"
    file.write_text(file.read_text()[:500])
    for reader in (read_report, lambda path: evaluate("oracle", TOY_ID, num_tasks=3, out=path)):
        with pytest.raises(DataError, match="remove it, and run the same agentgym eval"):
            reader(tmp_path)
    file.unlink()
    assert evaluate("oracle", TOY_ID, num_tasks=3, out=tmp_path) == report


@pytest.mark.parametrize(
    "family", [family for family in FAMILIES if family.name not in ("shell", "swe")]
)
def test_a_result_can_be_read_off_its_record(family: Any, tmp_path: Path) -> None:
    if family.packages:
        pytest.importorskip(family.packages[0])
    for policy in ("oracle", "random"):
        report = evaluate(policy, family.id, num_tasks=2, horizon=6, out=tmp_path / policy)
        records = read_episodes(tmp_path / policy / "episodes.jsonl")
        assert tuple(EpisodeResult.of(record) for record in records) == report.rows
        assert all(row.labels for row in report.rows)

"""Dashboards, through the command: what they hold afterwards, and what becomes of a lost one."""

from __future__ import annotations

import importlib
import json
import logging
import os
import shutil
import sqlite3
import sys
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.trainers import toy_runs
from trainers.cli import main, parse_config
from trainers.grpo.step_times import PARTS
from trainers.output.run_folder import RunFolder
from trainers.phases.monitoring import dashboards
from trainers.phases.monitoring.dashboards import COLUMNS, Dashboards, sample_turns
from trainers.rollouts.rollout_event import RolloutEvent
from trainers.rollouts.trajectory import SampledTurn, Trajectory

pytestmark = pytest.mark.slow

QUICK: dict[str, Any] = {
    "steps": 2, "sft__max_steps": 2, "eval__every": 1, "eval__num_tasks": 4, "eval__valid_tasks": 4,
}  # fmt: skip
BEGUN, DRAWN = threading.Event(), threading.Event()
FIGURES = {
    "train/loss", "train/entropy", "train/grad_norm", "train/rollout/return", "train/rollout/valid",
    "train/credit/group_return_std", "train/credit/zero_variance_groups",
    "train/sampling/kl_behaviour", "eval/score", "eval/success",
    *(f"train/time/{part}" for part in PARTS),
}  # fmt: skip


# -- what they hold --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def report_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that told three dashboards, none of them over a network."""
    folder = tmp_path_factory.mktemp("dashboards")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WANDB_MODE", "offline")
        patch.setenv("TRACKIO_DIR", str(folder / "trackio"))
        flags = ["--report-to", "tensorboard", "wandb", "trackio"]
        # In an interpreter of its own: when imported, trackio reads its folder and wandb makes one.
        command = toy_runs.arguments(folder / "run", *flags, **QUICK)
        process = toy_runs.run_command(command, environment=os.environ)
    assert process.returncode == 0, process.stderr
    assert not (folder / "run" / "warnings.log").exists()
    return folder


def test_tensorboard_holds_figures_and_episodes(report_folder):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(report_folder / "run" / "tensorboard"))
    events.Reload()
    assert set(events.Tags()["scalars"]) >= FIGURES
    assert [event.step for event in events.Scalars("train/loss")] == [1, 2]
    record = toy_runs.by_phase(report_folder / "run")["rl"][1]
    assert events.Scalars("train/loss")[1].value == pytest.approx(record["loss"], rel=1e-6)
    tables = events.Tensors("train/episodes/text_summary")
    assert [event.step for event in tables] == [1, 2]
    text = tables[0].tensor_proto.string_val[0].decode()
    assert text.startswith("| " + " | ".join(COLUMNS) + " |\n| ---")
    assert "press" in text


def test_wandb_holds_figures_and_episodes(report_folder):
    (path,) = (report_folder / "run" / "wandb").glob("offline-run-*/run-*.wandb")
    content = path.read_bytes()  # a log of protocol buffers, whose strings stand there as they are
    assert {name for name in FIGURES if name.encode() not in content} == set()
    tables = list(path.parent.glob("files/media/table/train/episodes_*.json"))
    assert len(tables) == 2
    assert all(f'"{column}"' in tables[0].read_text() for column in COLUMNS)


def test_trackio_holds_figures_and_episodes(report_folder):
    (path,) = (report_folder / "trackio").glob("*.db")
    with sqlite3.connect(path) as connection:
        rows = [row[0] for row in connection.execute("SELECT metrics FROM metrics")]
    text = "\n".join(row if isinstance(row, str) else row.decode() for row in rows)
    assert all(f'"{name}"' in text for name in FIGURES)
    assert '"train/episodes"' in text


@pytest.fixture(scope="module")
def resumed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that was killed twice between its checkpoints, which are at steps 2, 4 and 6."""
    folder = tmp_path_factory.mktemp("resumed")
    flags = ["--report-to", "tensorboard", "wandb", "trackio"]
    command = toy_runs.arguments(folder / "run", *flags, **{**QUICK, "steps": 6})
    variables = {**os.environ, "WANDB_MODE": "offline", "TRACKIO_DIR": str(folder / "trackio")}
    # In the second life it does not come as far as in the first.
    toy_runs.run_command(command, die_at="valid:6", environment=variables)
    shutil.rmtree(folder / "run" / "checkpoints" / "rl" / "checkpoint-4")
    toy_runs.run_command([*command, "--resume"], die_at="rl:3", environment=variables)
    process = toy_runs.run_command([*command, "--resume"], environment=variables)
    assert process.returncode == 0, process.stderr
    return folder


def test_tensorboard_draws_each_step_of_a_resumed_run_once(resumed):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    path = resumed / "run" / "tensorboard"
    assert len(list(path.iterdir())) > 1
    events = EventAccumulator(str(path))
    events.Reload()
    for name in ("train/loss", "eval/success"):
        assert [event.step for event in events.Scalars(name)] == [1, 2, 3, 4, 5, 6], name
    tables = [event.step for event in events.Tensors("train/episodes/text_summary")]
    assert tables == [1, 2, 3, 4, 5, 6]


def test_trackio_is_told_each_step_of_a_resumed_run_once(resumed):
    (path,) = (resumed / "trackio").glob("*.db")
    with sqlite3.connect(path) as connection:
        rows = [row[0] for row in connection.execute("SELECT metrics FROM metrics")]
    records = [json.loads(row) for row in rows]
    steps = [record["train/global_step"] for record in records if "train/loss" in record]
    # What was still on its way when the process was killed is lost.
    assert len(steps) == len(set(steps)) and set(steps) <= {1, 2, 3, 4, 5, 6}
    assert 6 in steps


# -- which are asked for ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("flags", "names"),
    [
        ([], ()),
        (["--report-to", "none"], ()),
        (["--report-to", "wandb"], ("wandb",)),
        (["--report-to", "wandb", "--report-to", "tensorboard"], ("wandb", "tensorboard")),
    ],
)
def test_none_one_or_several(tmp_path, flags, names):
    from trainers.config.resolve import resolve

    config = parse_config(toy_runs.arguments(tmp_path, *flags))
    assert resolve(config).config.report_to == names


@pytest.mark.parametrize("name", ["wandb", "trackio"])
def test_what_a_dashboard_imports_in_its_thread_disturbs_no_picture(tmp_path, monkeypatch, name):
    """Matplotlib reads the version of an IPython that another thread is half through importing."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    (tmp_path / "IPython.py").write_text(
        "import threading\nimport tests.trainers.phases.monitoring.test_dashboards as here\n"
        "here.BEGUN.set()\n"
        "if threading.current_thread() is not threading.main_thread():\n"
        "    here.DRAWN.wait(5)\n"
        "version_info = (9, 0)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(sys.modules, "IPython", None)  # what is there comes back afterwards
    del sys.modules["IPython"]
    BEGUN.clear()
    DRAWN.clear()
    config = parse_config(toy_runs.arguments(tmp_path / "run", "--report-to", name))
    dashboards.reporter_makers(config.report_to, RunFolder(tmp_path / "run"))
    thread = threading.Thread(target=importlib.import_module, args=["IPython"])
    thread.start()
    assert BEGUN.wait(5)

    class Canvas(FigureCanvasAgg):
        """What has never been drawn: matplotlib looks once for each class."""

    try:
        Canvas(Figure()).draw()
    finally:
        DRAWN.set()
        thread.join()


# -- what becomes of a lost one --------------------------------------------------------------------


class Listener:
    """A dashboard that notes what it is told, and fails or falls silent at a message."""

    purges = False

    def __init__(self, fails_at: int = 99, silent_at: int = 99) -> None:
        self.events: list[str] = []
        self._fails_at, self._silent_at = fails_at, silent_at
        self.released = threading.Event()

    def _hear(self, event: str) -> None:
        self.events.append(event)
        if len(self.events) == self._fails_at:
            raise ConnectionError("the server is gone\nand more")
        if len(self.events) == self._silent_at:
            self.released.wait()

    def on_train_begin(self, *_: Any, **__: Any) -> None:
        self._hear("begin")

    def on_log(self, *_: Any, logs: Any = None, **__: Any) -> None:
        self._hear("log")

    def on_train_end(self, *_: Any, **__: Any) -> None:
        self._hear("end")

    def table(self, *_: Any) -> None:
        self._hear("table")


def trajectory(reward: float, group: int = 0) -> Trajectory:
    turn = SampledTurn(
        [1], [2], [-0.1], observation="a | page\nof two", text=f"go {reward}", reward=reward,
        reward_terms={"task": reward},
    )  # fmt: skip
    return Trajectory(group=group, task_id=f"toy/{group}", turns=[turn], stop_reason="horizon")


def three_steps(callback: Dashboards) -> None:
    """What a short training tells."""
    state: Any = SimpleNamespace(is_world_process_zero=True, global_step=0)
    event: tuple[Any, ...] = (None, state, None)
    callback.on_train_begin(*event)
    for step in (1, 2, 3):
        state.global_step = step
        callback.on_rollout(RolloutEvent(step, 3, [trajectory(0.0), trajectory(1.0)], {}))
        callback.on_log(*event, logs={"loss": 0.1})
    callback.close()


def test_a_dashboard_that_fails_is_left_alone_after_one_warning(caplog):
    failing, well = Listener(fails_at=3), Listener()
    with caplog.at_level(logging.WARNING):
        three_steps(Dashboards({"lost": lambda: failing, "well": lambda: well}))
    assert failing.events == ["begin", "log", "table"]
    assert well.events == ["begin", *["log", "table"] * 3, "end"]
    (warning,) = caplog.messages
    assert warning.startswith(
        "lost gets no more metrics, and training continues: the server is gone;"
    )


def test_one_that_does_not_answer_holds_the_training_up_for_no_longer_than_is_said(
    caplog, monkeypatch
):
    monkeypatch.setattr(dashboards, "CLOSE_SECONDS", 0.2)
    silent, well = Listener(silent_at=2), Listener()
    with caplog.at_level(logging.WARNING):
        three_steps(Dashboards({"silent": lambda: silent, "well": lambda: well}))
    silent.released.set()
    assert silent.events[:2] == ["begin", "log"]
    assert well.events[-1] == "end"
    assert [m.split(" gets no")[0] for m in caplog.messages] == ["silent"]
    assert "has not answered for 0.2 s" in caplog.text


def test_a_run_whose_tracker_cannot_be_reached_or_written_ends_well(tmp_path, monkeypatch):
    """For real: nobody listens at that port, and a file stands where TensorBoard wants a folder."""
    monkeypatch.setattr(dashboards, "INIT_SECONDS", 2.0)
    monkeypatch.setenv("WANDB_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("WANDB_API_KEY", "a" * 40)
    monkeypatch.setenv("WANDB_MODE", "online")
    out = tmp_path / "run"
    make = dashboards.reporter_makers

    def without_a_folder(run: Any, folder: Any) -> Any:
        (folder.path / "tensorboard").write_text("in the way")
        return make(run, folder)

    monkeypatch.setattr("trainers.phases.reinforcement.reporter_makers", without_a_folder)
    flags = ["--report-to", "wandb", "tensorboard"]
    assert main(toy_runs.arguments(out, *flags, **QUICK)) == 0
    warnings = (out / "warnings.log").read_text()
    for name in ("wandb", "tensorboard"):
        assert warnings.count(f"{name} gets no more metrics, and training continues") == 1
    assert (out / "summary.json").exists()


WANDB_BUCKET = {
    "id": "i", "name": "r", "displayName": "d", "project": {"name": "p", "entity": {"name": "e"}},
}  # fmt: skip
WANDB_VIEWER = {"id": "v", "entity": "e", "username": "u", "flags": "{}", "teams": {"edges": []}}
WANDB_ANSWERS: Mapping[bytes, Any] = {
    b"createRunFiles": {"errors": [{"message": "no files, please"}]},
    b"upsertBucket": {"data": {"upsertBucket": {"bucket": WANDB_BUCKET, "inserted": True}}},
    b"viewer": {"data": {"viewer": WANDB_VIEWER}},
}


class WandbServer(BaseHTTPRequestHandler):
    """As much of wandb's server as a run needs to believe in it; a connection for each request."""

    believed = threading.Event()
    """Set when a run has been made."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        answers = (answer for name, answer in WANDB_ANSWERS.items() if name in body)
        text = json.dumps(next(answers, {})).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)
        if b"upsertBucket" in body:
            self.believed.set()

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


# Of a thread of wandb's that asks on after the end.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_run_whose_wandb_server_is_lost_on_the_way_ends_well_and_soon(tmp_path, monkeypatch):
    import wandb

    wandb.teardown()  # It would go on asking the server of the test before.
    server = ThreadingHTTPServer(("127.0.0.1", 0), WandbServer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setattr(dashboards, "FINISH_SECONDS", 2.0)
    monkeypatch.setattr(dashboards, "sample_turns", lambda *_: [])  # wandb tries a table for 10 s.
    monkeypatch.setenv("WANDB_BASE_URL", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("WANDB_API_KEY", "a" * 40)
    monkeypatch.setenv("WANDB_MODE", "online")
    log = RunFolder.log

    def losing(self: RunFolder, **record: Any) -> None:
        log(self, **record)
        if (record["phase"], record.get("step")) == ("rl", 1):
            assert WandbServer.believed.wait(60.0)
            server.shutdown()
            server.server_close()

    monkeypatch.setattr(RunFolder, "log", losing)
    out = tmp_path / "run"
    assert main(toy_runs.arguments(out, "--report-to", "wandb", **QUICK)) == 0
    # What the end of the process waits for.
    ending = threading.Thread(target=wandb.teardown, daemon=True)
    ending.start()
    ending.join(30.0)
    assert not ending.is_alive()
    warnings = (out / "warnings.log").read_text()
    assert warnings.count("wandb gets no more metrics, and training continues") == 1
    assert "Timed out" in warnings  # wandb itself gave up; it was not left waiting.
    assert [record["step"] for record in toy_runs.by_phase(out)["rl"]] == [1, 2]


class Steps:
    """A dashboard that notes the steps it is told, and those of validations."""

    def __init__(self, purges: bool) -> None:
        self.purges = purges
        self.steps: list[int] = []
        self.validated: list[int] = []
        self.tables: list[int] = []

    def on_train_begin(self, args: Any, state: Any, *_: Any, **__: Any) -> None:
        """Forget what comes again, if it can."""
        if self.purges:
            self.steps = [step for step in self.steps if step <= state.global_step]

    def on_log(self, args: Any, state: Any, *_: Any, logs: Any, **__: Any) -> None:
        (self.validated if "eval_score" in logs else self.steps).append(state.global_step)

    def on_train_end(self, *_: Any, **__: Any) -> None:
        pass

    def table(self, rows: Any, step: int) -> None:
        self.tables.append(step)


def life(callback: Dashboards, *steps: int) -> None:
    """What is told from one start of a training to its next, with a validation of each step."""
    state: Any = SimpleNamespace(is_world_process_zero=True, global_step=steps[0] - 1)
    event: tuple[Any, ...] = (None, state, None)
    callback.on_train_begin(*event)
    for step in steps:
        callback.figures(step, eval_score=0.5)
        state.global_step = step
        callback.on_rollout(RolloutEvent(step, 3, [trajectory(0.0), trajectory(1.0)], {}))
        callback.on_log(*event, logs={"loss": 0.1})


@pytest.mark.parametrize("purges", [True, False])
def test_a_resumed_run_tells_each_step_once(purges):
    tracker = Steps(purges)
    for callback, steps in (
        (Dashboards({"seen": lambda: tracker}), (1, 2, 3, 4)),
        (Dashboards({"seen": lambda: tracker}, reported=4), (3, 4, 5, 6)),
    ):
        life(callback, *steps)
        callback.close()
    assert tracker.steps == [1, 2, 3, 4, 5, 6]
    if not purges:
        assert tracker.steps == tracker.tables == tracker.validated


def test_after_a_rollback_steps_are_told_again_as_they_have_other_figures():
    tracker = Steps(False)
    callback = Dashboards({"seen": lambda: tracker}, reported=4)
    life(callback, 3, 4, 5)
    life(callback, 3, 4)
    callback.close()
    assert tracker.steps == [5, 3, 4]


# -- sample episodes -------------------------------------------------------------------------------


def test_the_best_and_the_worst_of_the_first_group_are_shown():
    rows = sample_turns(7, [trajectory(r) for r in (0.5, 1.0, -0.5)] + [trajectory(9.0, group=1)])
    assert [row[4] for row in rows] == ["go 1.0", "go -0.5"]
    assert rows[0] == [7, "toy/0", 1, "a | page\nof two", "go 1.0", 1.0, "task=1"]
    assert sample_turns(1, []) == []
    assert len(sample_turns(1, [trajectory(0.0)])) == 1

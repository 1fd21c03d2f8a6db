from __future__ import annotations

import json
from pathlib import Path

import pytest

from agentgym.cli import main as agentgym
from agentgym.errors import ConfigurationError, DataError
from agentgym.support.caching import SCRATCH
from tests.disk import file_size_limit
from tests.trainers import toy_runs
from tests.viewer.records import make_episodes, write
from trainers.output.jsonl import append_line, read_jsonl
from trainers.output.run_folder import COMPLETE, RunFolder


def opened(path: Path, *flags: str, **changes) -> RunFolder:
    return RunFolder.open(path, toy_runs.config(path, *flags, **changes))


def test_a_new_folder_holds_the_settings(tmp_path):
    folder = opened(tmp_path / "deep" / "run")
    assert folder.checkpoints.is_dir()
    text = (folder.path / "config.yaml").read_text()
    assert "num_generations: 4" in text
    assert str(tmp_path) not in text, "a run may be moved"


# -- records ---------------------------------------------------------------------------------------


def test_records_come_back_in_order(tmp_path):
    folder = opened(tmp_path / "run")
    folder.log(phase="rl", step=1, loss=0.5)
    folder.log(phase="rl", step=2, loss=float("nan"))
    assert [record["step"] for record in folder.metrics()] == [1, 2]


def test_a_half_written_last_line_is_no_record(tmp_path):
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(b'{"step": 1}\n{"step": 2, "lo')
    assert list(read_jsonl(path)) == [{"step": 1}]


def test_a_broken_line_in_the_middle_is_an_error_that_names_it(tmp_path):
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(b'{"step": 1}\nnonsense\n{"step": 3}\n')
    with pytest.raises(DataError, match=r"line 2 of .*metrics.jsonl"):
        list(read_jsonl(path))


def test_no_file_is_no_records(tmp_path):
    assert list(read_jsonl(tmp_path / "metrics.jsonl")) == []


@pytest.mark.parametrize(
    ("torn", "left"),
    [
        (b'{"phase": "rl", "step": 1}\n{"phase": "r', b'{"phase": "rl", "step": 1}\n'),
        (b'{"phase": "r', b""),
        (b"", b""),
        (b"x" * 70_000 + b"\n" + b"y" * 140_000, b"x" * 70_000 + b"\n"),
    ],
)
def test_resuming_cuts_off_an_unfinished_line_so_that_the_next_one_is_whole(tmp_path, torn, left):
    folder = opened(tmp_path / "run")
    for path in (folder.metrics_path, folder.episodes_path):
        path.write_bytes(torn)
    opened(tmp_path / "run", "--resume")
    assert folder.metrics_path.read_bytes() == left
    assert folder.episodes_path.read_bytes() == left


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs Linux's /dev/full")
def test_a_line_that_does_not_fit_on_the_disk_is_an_error(tmp_path):
    (tmp_path / "metrics.jsonl").symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left"):
        append_line(tmp_path / "metrics.jsonl", "{}")


def test_a_line_is_written_whole_or_not_at_all(tmp_path):
    """A file-size limit cuts a write short, as a full disk does."""
    path = tmp_path / "metrics.jsonl"
    append_line(path, "a" * 600)
    with file_size_limit(1000), pytest.raises(OSError, match="too large"):
        append_line(path, "b" * 600)
    assert path.read_text() == "a" * 600 + "\n"


def test_rewinding_drops_the_later_records_of_one_phase(tmp_path):
    folder = opened(tmp_path / "run")
    for phase, step in [("sft", 3), ("rl", 1), ("rl", 2), ("valid", 2), ("rl", 3)]:
        folder.log(phase=phase, step=step)
    folder.log(phase="eval", arm="warm-start")
    folder.rewind("rl", 1)
    records = [(record["phase"], record.get("step")) for record in folder.metrics()]
    assert records == [("sft", 3), ("rl", 1), ("valid", 2), ("eval", None)]


def test_rewinding_drops_later_episodes(tmp_path):
    folder = opened(tmp_path / "run")
    for step in (1, 2, 3):
        append_line(folder.episodes_path, json.dumps({"options": {"training_step": step}}))
    folder.rewind_episodes(2)
    steps = [record["options"]["training_step"] for record in read_jsonl(folder.episodes_path)]
    assert steps == [1, 2]


def test_rewinding_a_folder_without_records_does_nothing(tmp_path):
    folder = opened(tmp_path / "run")
    folder.rewind("rl", 0)
    folder.rewind_episodes(0)
    assert not folder.metrics_path.exists()


def test_notes_add_up(tmp_path):
    folder = opened(tmp_path / "run")
    folder.note(other=1)
    folder.note(sft={"steps": 3})
    state = RunFolder(folder.path).state()
    assert (state["other"], state["sft"]) == (1, {"steps": 3})


def test_the_time_spent_goes_on_after_a_kill(tmp_path, monkeypatch):
    now_list, worked = [1000.0], [4.0]
    monkeypatch.setattr("trainers.output.run_folder.time.monotonic", lambda: now_list[0])
    monkeypatch.setattr("trainers.output.run_folder.time.process_time", lambda: worked[0])
    folder = opened(tmp_path / "run")
    now_list[0], worked[0] = 1060, 20.0
    folder.note()
    now_list[0], worked[0] = 5.0, 3.0  # another process, other clocks
    resumed = opened(tmp_path / "run", "--resume")
    now_list[0], worked[0] = 35.0, 7.0
    assert (resumed.seconds(), resumed.cpu_seconds()) == (90, 27)


def test_only_complete_checkpoints_count_and_the_highest_step_wins(tmp_path):
    folder = opened(tmp_path / "run")
    assert folder.latest_checkpoint("sft") is None
    for name, complete in [("sft-9", 1), ("sft-10", 1), ("sft-11", 0), ("sft-best", 1)]:
        (folder.checkpoints / name).mkdir()
        if complete:
            (folder.checkpoints / name / COMPLETE).touch()
    assert folder.latest_checkpoint("sft") == folder.checkpoints / "sft-10"


# -- whose folder is it? ---------------------------------------------------------------------------


def refused(path: Path, *flags: str, **changes) -> str:
    """The reason why a folder is refused; nothing in it may change."""
    files_before = toy_runs.files(path) if path.is_dir() else {}
    with pytest.raises(ConfigurationError, match="expected") as caught:
        opened(path, *flags, **changes)
    assert (toy_runs.files(path) if path.is_dir() else {}) == files_before
    return str(caught.value)


def test_another_run_is_refused_without_resume(tmp_path):
    opened(tmp_path / "run").log(phase="rl", step=1)
    reason = refused(tmp_path / "run")
    assert "--resume" in reason
    assert "another --out" in reason


def test_other_files_are_refused(tmp_path):
    (tmp_path / "thesis.tex").write_text("precious")
    assert "other files" in refused(tmp_path)


def test_a_file_is_refused(tmp_path):
    (tmp_path / "file").write_text("precious")
    assert "is a file" in refused(tmp_path / "file")
    assert (tmp_path / "file").read_text() == "precious"


@pytest.mark.parametrize("content", ["- a list\n", "just words", "a: [", "\x00", ""])
def test_a_config_of_something_else_is_refused(tmp_path, content):
    (tmp_path / "config.yaml").write_text(content)
    assert "config.yaml" in refused(tmp_path, "--resume")


def test_nothing_to_resume_is_said(tmp_path):
    assert "leave out --resume" in refused(tmp_path / "run", "--resume")
    assert not (tmp_path / "run").exists()


def test_a_folder_that_cannot_be_made_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    assert "Not a directory" in refused(tmp_path / "file" / "run")
    with pytest.raises(ConfigurationError, match="name too long"):
        opened(tmp_path / ("x" * 300))


def test_changed_settings_are_named_with_both_values(tmp_path):
    opened(tmp_path / "run")
    reason = refused(tmp_path / "run", "--resume", seed=7, rl__learning_rate=0.5)
    assert "seed was 0 and is 7" in reason
    assert "rl.learning_rate was 0.01 and is 0.5" in reason
    assert "group_size" not in reason


def test_what_was_filled_in_is_kept_and_compared(tmp_path):
    config = toy_runs.config(tmp_path / "run")
    RunFolder.open(tmp_path / "run", config, {"every": 40, "env": {"size": 10}})
    resumed = toy_runs.config(tmp_path / "run", "--resume")
    RunFolder.open(tmp_path / "run", resumed, {"every": 40, "env": {"size": 10}})
    with pytest.raises(ConfigurationError, match=r"env\.size was 10 and is 20"):
        RunFolder.open(tmp_path / "run", resumed, {"every": 40, "env": {"size": 20}})


def test_only_one_process_works_on_a_run(tmp_path):
    first, second = opened(tmp_path / "run"), opened(tmp_path / "run", "--resume")
    first.lock()
    with pytest.raises(ConfigurationError, match="no other process to work on the run"):
        second.lock()
    first.close()
    second.lock()
    second.close()


def test_a_run_resumes_beside_the_page_of_its_episodes(tmp_path):
    write(opened(tmp_path / "run").episodes_path, make_episodes(2))
    assert agentgym(["view", str(tmp_path / "run")]) == 0
    page = (tmp_path / "run/view.html").read_bytes()
    opened(tmp_path / "run", "--resume")
    assert (tmp_path / "run/view.html").read_bytes() == page


def test_the_same_settings_resume_also_elsewhere(tmp_path):
    opened(tmp_path / "run", env_kwargs="horizon=9")
    (tmp_path / "run").rename(tmp_path / "moved")
    opened(tmp_path / "moved", "--resume", env_kwargs="horizon=9")


def test_an_empty_folder_and_one_killed_while_it_was_made_are_taken(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / f"{SCRATCH}123").write_text("half")
    opened(tmp_path / "run")
    opened(tmp_path / "run", "--resume")

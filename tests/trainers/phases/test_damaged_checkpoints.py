"""A checkpoint that is damaged is passed over or named, with the remedy; never a raw error."""

from __future__ import annotations

import pickle
import shutil
from pathlib import Path
from typing import Any

import pytest

from agentgym.errors import ConfigurationError
from agentgym.support.folder_links import check_no_link_leads_out
from tests.trainers import toy_runs
from trainers.cli import main
from trainers.output.display import Display
from trainers.output.run_checkpoints import FINISHED
from trainers.output.whole_checkpoint import SIZES, damage, newest_whole
from trainers.phases.run import train

pytestmark = pytest.mark.slow

SHORT: dict[str, Any] = {
    "steps": 4, "rl__save_every": 1, "rl__keep_checkpoints": 3, "eval__every": 2,
    "eval__num_tasks": 4, "eval__valid_tasks": 4, "sft__max_steps": 10, "sft__eval_every": 10,
}  # fmt: skip


def cut(path: Path) -> None:
    """Cut a file in half."""
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def pickled(path: Path) -> None:
    """Put a pickle in the place of a file."""
    path.write_bytes(pickle.dumps({"path": Path("x")}))


def same_size(path: Path) -> None:
    """Overwrite a file with as many bytes of nothing."""
    path.write_bytes(bytes(path.stat().st_size))


DAMAGES = {
    "cut": cut, "empty": lambda path: path.write_bytes(b""), "missing": Path.unlink,
    "pickle": pickled, "zeros": same_size,
}  # fmt: skip
FILES = (
    "optimizer.pt", "scheduler.pt", "model.safetensors", "trainer_state.json", "rng_state.pth",
    "config.json",
)  # fmt: skip


@pytest.fixture(scope="module")
def checkpointed_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run with checkpoints after steps 2, 3 and 4."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    train(toy_runs.config(folder, **SHORT), Display(quiet=True))
    return folder


def unfinished(checkpointed_run: Path, tmp_path: Path) -> tuple[Path, Path]:
    """A copy of the run that still has to end, and its newest checkpoint."""
    folder = tmp_path / "run"
    shutil.copytree(checkpointed_run, folder)
    (folder / "summary.json").unlink()
    shutil.rmtree(folder / "checkpoints" / "trained")
    newest = toy_runs.newest_checkpoint(folder / "checkpoints" / "rl")
    assert newest is not None and newest.name == "checkpoint-4"
    return folder, newest


@pytest.mark.parametrize("how", DAMAGES)
@pytest.mark.parametrize("file", FILES)
def test_damage_is_told_with_the_name_of_the_file(checkpointed_run, tmp_path, file, how):
    copied = tmp_path / "checkpoint-4"
    shutil.copytree(checkpointed_run / "checkpoints" / "rl" / "checkpoint-4", copied)
    assert damage(copied) == ""
    DAMAGES[how](copied / file)
    assert str(copied / file) in damage(copied)
    path_before = copied.with_name("checkpoint-3")
    shutil.copytree(checkpointed_run / "checkpoints" / "rl" / "checkpoint-3", path_before)
    assert newest_whole([copied, path_before])[0] == path_before
    # Without the list of sizes what can be read tells, but for a file that is gone.
    (copied / SIZES).unlink()
    if how != "missing" and (how, file) != ("zeros", "model.safetensors"):
        assert file in damage(copied)


@pytest.mark.parametrize(
    ("file", "how"),
    [("optimizer.pt", "cut"), ("trainer_state.json", "empty"), ("rng_state.pth", "pickle")],
)
def test_a_run_goes_on_from_the_checkpoint_before_and_ends_the_same(
    checkpointed_run, tmp_path, capsys, file, how
):
    folder, newest = unfinished(checkpointed_run, tmp_path)
    DAMAGES[how](newest / file)
    assert main(["--resume", "--out", str(folder)]) == 0
    captured = capsys.readouterr()
    assert "training goes on from checkpoint-3" in captured.err + captured.out
    assert file in captured.err + captured.out
    assert toy_runs.by_phase(folder)["rl"] == toy_runs.by_phase(checkpointed_run)["rl"]
    weights = "checkpoints/trained/model.safetensors"
    assert (folder / weights).read_bytes() == (checkpointed_run / weights).read_bytes()


def test_where_all_are_damaged_one_sentence_names_file_and_remedy(
    checkpointed_run, tmp_path, capsys
):
    folder, newest = unfinished(checkpointed_run, tmp_path)
    for checkpoint in newest.parent.glob("checkpoint-*"):
        cut(checkpoint / "model.safetensors")
    assert main(["--resume", "--out", str(folder)]) == 2
    message = toy_runs.last_line(capsys.readouterr().err)
    assert str(newest / "model.safetensors") in message and f"remove {newest.parent}" in message


def test_a_damaged_warm_start_is_named(checkpointed_run, tmp_path, capsys):
    folder, _ = unfinished(checkpointed_run, tmp_path)
    place = folder / "checkpoints" / FINISHED
    cut(place / "model.safetensors")
    assert main(["--resume", "--out", str(folder)]) == 2
    message = toy_runs.last_line(capsys.readouterr().err)
    assert str(place / "model.safetensors") in message and f"remove {place}" in message


def test_a_link_that_leads_out_of_a_run_is_refused_and_nothing_is_touched(
    checkpointed_run, tmp_path, capsys
):
    for name in ("checkpoints/rl", "checkpoints", "eval_episodes", "metrics.jsonl"):
        folder = tmp_path / name.replace("/", "-") / "run"
        shutil.copytree(checkpointed_run, folder)
        outside = folder.parent / "outside"
        (folder / "summary.json").unlink()
        shutil.move(folder / name, outside)
        (folder / name).symlink_to(outside)
        files_before = toy_runs.files(folder.parent)
        assert main(["--resume", "--out", str(folder)]) == 2
        message = toy_runs.last_line(capsys.readouterr().err)
        assert f"{folder / name}, a link to {outside}" in message
        assert toy_runs.files(folder.parent) == files_before


def test_links_that_wandb_keeps_in_its_folder_are_fine_and_no_link_in_its_place(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (tmp_path / "run/wandb/logs").mkdir(parents=True)
    (tmp_path / "run/wandb/logs/core.log").symlink_to(outside)
    check_no_link_leads_out(tmp_path / "run", own_links=["wandb"])
    with pytest.raises(ConfigurationError, match="a link to"):
        check_no_link_leads_out(tmp_path / "run")
    (tmp_path / "other").mkdir()
    (tmp_path / "other/wandb").symlink_to(outside)
    with pytest.raises(ConfigurationError, match="a link to"):
        check_no_link_leads_out(tmp_path / "other", own_links=["wandb"])


def test_a_run_folder_that_is_itself_a_link_and_links_within_it_are_fine(
    checkpointed_run, tmp_path
):
    shutil.copytree(checkpointed_run, tmp_path / "disk" / "run")
    (tmp_path / "run").symlink_to(tmp_path / "disk" / "run")
    (tmp_path / "disk" / "run" / "newest").symlink_to("checkpoints/trained")
    assert main(["--resume", "--out", str(tmp_path / "run")]) == 0

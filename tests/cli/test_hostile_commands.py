"""No input ends a command with a traceback: one sentence, and a telling exit code."""

from __future__ import annotations

import functools
import io
import json
import math
import operator
import os
import random
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from agentgym.cli import main
from agentgym.cli.arguments import Play
from agentgym.errors import ConfigurationError
from agentgym.registration.making import parse_pairs
from agentgym.support.exits import run_command
from agentgym.support.flag_parsing import split_words
from agentgym.support.help_page import flag_rows
from tests.toy import TOY_ID
from tests.warm_python import run_warm
from trainers.cli import main as train
from trainers.cli import parse_config

ROOT = Path(__file__).parents[2]
FULL = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs Linux's /dev/full")
LATER = "expected --out to be a folder that can be written"
"""What the trainer says of `/dev/null/run`, when it found no fault with anything else."""


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")


def ended(
    command: Callable[[Sequence[str]], int], argv: Sequence[str], capsys: pytest.CaptureFixture[str]
) -> tuple[int, str]:
    """Run a command in this process; returns exit code and standard error."""
    capsys.readouterr()
    try:
        code = command(argv)
    except SystemExit as stop:
        code = int(stop.code or 0)
    output = capsys.readouterr()
    assert "Traceback" not in output.out + output.err
    return code, output.err


# -- one sentence ----------------------------------------------------------------------------------

ONE = ("--num-tasks", "1")
CHAT = (*ONE, "--policy", "chat", "--model", "x")
HOSTILE = [
    (["eval", "webshop", "--seed", "-1"], "expected the seed to be at least 0, got -1"),
    (["play", "webshop", "--seed", "-1"], "expected the seed to be at least 0, got -1"),
    (["play", "webshop", "--env-kwargs", "size=[1]"], "size"),
    (["eval", "webshop", *ONE, "--env-kwargs", "goals_per_product=abc"], "goals_per_product"),
    (["eval", "webshop", *ONE, "--env-kwargs", "size=1e999"], "got inf"),
    (["eval", "webshop", *ONE, "--env-kwargs", "data=5"], "data"),
    (["eval", "webshop", *ONE, "--env-kwargs", "data=/etc"], "items_shuffle"),
    (["eval", "webshop", *ONE, "--env-kwargs", "world=1"], "expected world and tasks together"),
    (["eval", "webshop", *ONE, "--env-kwargs", "reward_hooks=[1]"], "expected reward hooks"),
    (["eval", "webshop", *ONE, "--env-kwargs", "split=[]"], "split"),
    (["eval", "webshop", *ONE, "--env-kwargs", "grammar=[]"], "expected grammar"),
    (["eval", "webshop", *ONE, "--env-kwargs", "id=5"], "'id': 5"),
    (["eval", "webshop", *ONE, "--env-kwargs", "max_episode_steps=abc"], "max_episode_steps"),
    (["eval", "alfworld", *ONE, "--env-kwargs", "reward_scale=abc"], "reward_scale"),
    (["eval", "alfworld", *ONE, "--env-kwargs", "difficulty=[1]"], "expected generator settings"),
    (["eval", "alfworld", *ONE, "--env-kwargs", 'difficulty={"receptacles": "x"}'], "receptacles"),
    (["eval", "alfworld", *ONE, "--env-kwargs", "task_types=5"], "task_types"),
    (["eval", "alfworld", *ONE, "--env-kwargs", "data=/etc"], "expected official games"),
    (["eval", "textworld", *ONE, "--env-kwargs", "games=abc"], "abc"),
    (["eval", "textworld", *ONE, "--env-kwargs", "difficulty=5"], "TextWorld difficulty"),
    (["eval", "textworld", *ONE, "--env-kwargs", "data=5"], "data"),
    (["eval", TOY_ID, *ONE, "--env-kwargs", "="], "expected --env-kwargs as name=value"),
    (
        ["eval", TOY_ID, *ONE, "--env-kwargs", "horizon=1", "--env-kwargs", "horizon=2"],
        "got 1 and 2",
    ),
    (["eval", TOY_ID, *ONE, "--grammar", "xml", "--env-kwargs", "grammar=react"], "one grammar"),
    (["eval", TOY_ID, "--num-tasks", "-5"], "got -5"),
    (["eval", TOY_ID, "--num-tasks", "1e3"], "--num-tasks"),
    (["eval", TOY_ID, *ONE, "--horizon", "0"], "'horizon' to be an integer"),
    (["eval", TOY_ID, *ONE, "--out", "/"], "holds other files"),
    (["eval", TOY_ID, *ONE, "--out", "a" * 300], "File name too long"),
    (["eval", TOY_ID, *ONE, "--out", "a\0b"], "null"),
    (["eval", TOY_ID, *ONE, "--out", "/dev/full"], "expected a folder"),
    (["eval", TOY_ID, *CHAT, "--base-url", "http://[::1"], "expected base_url"),
    (["eval", TOY_ID, *CHAT, "--base-url", "http://h/v1", "--temperature", "nan"], "temperature"),
    (["eval", TOY_ID, *CHAT, "--base-url", "http://h/v1", "--window", "0"], "window"),
    (["play", TOY_ID, "--task-index", "9" * 30], "expected an index"),
    (["eval", "CartPole-v1"], "expected CartPole-v1 to be an environment of text"),
    (["eval", ""], "MODULE:ID"),
    (["eval", "no_such_module:Id-v0"], "No module named"),
    (["eval", ":webshop"], "Empty module name"),
    (["eval", ".relative:webshop"], "relative import"),
    (["eval", "tests.toy:No-v0"], "expected MODULE:ID with an id that tests.toy registers"),
    (["replay", "/"], "a folder that holds episodes.jsonl"),
    (["replay", sys.executable], "expected a file of episodes"),
    (["replay", str(ROOT / "README.md")], "line 1"),
    (["replay", "a" * 5000], "File name too long"),
    (["list", "extra"], "extra"),
]


@pytest.mark.parametrize(("argv", "words"), HOSTILE, ids=lambda value: str(value)[:60])
def test_agentgym_says_what_is_wrong(argv, words, capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    code, message = ended(main, argv, capsys)
    assert code == 2 and words in message
    sentences = [line for line in message.splitlines() if line.startswith("agentgym: ")]
    assert sentences or "agentgym --help" in message, "a sentence, or the parser's box"
    assert len(sentences) <= 1


TRAIN = [
    (["--env", "webshop", "--env-kwargs", "size=[1]"], "size"),
    (["--env", "webshop", "--env-kwargs", "goals_per_product=abc"], "goals_per_product"),
    (["--env", "webshop", "--env-kwargs", "backend=process"], "backend"),
    (["--env", "alfworld", "--env-kwargs", "reward_scale=abc"], "reward_scale"),
    (["--env", "textworld", "--env-kwargs", "data=5"], "data"),
    (["--env", TOY_ID, "--env-kwargs", "horizon=5", "--env-kwargs", "horizon=6"], "got 5 and 6"),
    (["--env", TOY_ID, "--template-args", "a=1", "--template-args", "a=2"], "got 1 and 2"),
    (["--env", TOY_ID, "--template-args", "a"], "--template-args"),
    (["--env", TOY_ID, "--horizon", ""], "expected turn budgets"),
    (["--env", TOY_ID, "--horizon", "1e5"], "expected turn budgets"),
    (["--env", TOY_ID, "--rl.learning-rate", "nan"], "--rl.learning-rate"),
    (["--env", TOY_ID, "--minutes", "nan"], "--minutes"),
    (["--env", TOY_ID, "--tiny.head-dim", "-2"], "--tiny.head-dim"),
    (["--env", TOY_ID, "--fit-horizon", "maybe"], "maybe"),
    (["--env", TOY_ID, "--model", "/"], "expected --model"),
    (["--env", TOY_ID, "--out", "/proc/self/run"], "/proc/self/run cannot"),
    (["--env", TOY_ID, "--env-kwargs", "horizon=7"], LATER),
    (["--env", "CartPole-v1"], "environment of text"),
    (["--env", "no_such_module:Id-v0"], "No module named"),
    (["--env", "tests.toy:No-v0"], "expected MODULE:ID with an id that tests.toy registers"),
]


@pytest.mark.parametrize(("argv", "words"), TRAIN, ids=lambda value: str(value)[:60])
def test_agentgym_train_says_what_is_wrong(argv, words, capsys):
    argv = argv if "--out" in argv else [*argv, "--out", "/dev/null/run"]
    code, message = ended(train, argv, capsys)
    assert code == 2 and words in message


@pytest.mark.parametrize("name", ["alfworld", "textworld", "webshop"])
@pytest.mark.parametrize("command", ["agentgym", "agentgym-train"])
def test_a_mistyped_argument_is_named_beside_the_valid_ones(name, command, capsys):
    if command == "agentgym":
        code, message = ended(
            main, ["eval", name, *ONE, "--env-kwargs", "show_admisible=true"], capsys
        )
    else:
        argv = ["--env", name, "--env-kwargs", "show_admisible=true", "--out", "/dev/null/run"]
        code, message = ended(train, argv, capsys)
    assert code == 2 and "show_admisible" in message
    valid = "highlights" if name == "webshop" else "world_size" if name == "textworld" else "hidden"
    assert valid in message


def test_an_environment_that_fails_to_be_made_without_arguments_is_not_the_users_fault(
    capsys, monkeypatch, tmp_path
):
    def broken(self: object, **kwargs: object) -> None:
        raise ZeroDivisionError("division\nby zero")

    monkeypatch.setattr("tests.toy.ToyEnv.__init__", broken)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    code, message = ended(main, ["eval", TOY_ID], capsys)
    [log] = tmp_path.iterdir()
    assert code == 70 and "unexpected ZeroDivisionError: division by zero" in message
    assert str(log) in message and message.count("\n") == 1
    assert 'raise ZeroDivisionError("division' in log.read_text()


WORDS = st.sampled_from(
    ["", "-1", "0", "1", "2.5", "1e999", "nan", "[]", "[[", "{}", '"x"', "null", "true", "x",
     "9" * 30, "a=b", "\ud800", "ż", "\0", "../..", "text", "easy", "--", "-", "[1, 2]"]
)  # fmt: skip
NAMES = st.sampled_from(
    ["size", "difficulty", "split", "grammar", "horizon", "reward", "expert", "render_mode",
     "reward_hooks", "expose_oracle", "observation_mode", "tasks", "world", "data", "games",
     "challenge", "engine", "task_types", "receptacles", "hidden", "order", "nouns",
     "results_per_page", "num_products", "generator_seed", "human_goals", "level", "x"]
)  # fmt: skip
PAIRS = st.lists(st.builds("{}={}".format, NAMES, WORDS), max_size=3)
FLAGS = {
    "--split": WORDS, "--task-index": WORDS, "--seed": WORDS, "--horizon": WORDS,
    "--grammar": WORDS,
}  # fmt: skip
FUZZ = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@FUZZ
@given(
    env=st.sampled_from([TOY_ID, "webshop", "alfworld", "textworld"]),
    pairs=PAIRS,
    flags=st.dictionaries(st.sampled_from(sorted(FLAGS)), WORDS, max_size=2),
)
@example(env="webshop", pairs=["size=[]", "expert=nan"], flags={"--seed": "-1"})
def test_no_flag_ends_agentgym_with_an_unexpected_error(env, pairs, flags, capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("1\n"))
    argv = ["play", env, *(f"--env-kwargs={pair}" for pair in pairs)]
    argv += [f"{flag}={value}" for flag, value in flags.items()]
    code, message = ended(main, argv, capsys)
    assert code in (0, 2), message


TRAIN_FLAGS = (
    "--seed", "--horizon", "--steps", "--horizon-every", "--minutes", "--preset", "--model",
    "--rl.groups", "--rl.learning-rate", "--temperature", "--sft.learning-rate", "--sft.max-steps",
    "--lora.r",
    "--eval.num-tasks", "--eval.horizon", "--tiny.hidden", "--tiny.heads", "--tiny.head-dim", 
    "--fit-horizon", "--env-kwargs", "--template-args",
)  # fmt: skip


@pytest.mark.slow
@FUZZ
@given(
    env=st.sampled_from([TOY_ID, "webshop", "alfworld", "textworld"]),
    pairs=PAIRS,
    flags=st.dictionaries(st.sampled_from(TRAIN_FLAGS), WORDS, max_size=3),
)
def test_no_flag_ends_agentgym_train_with_an_unexpected_error(env, pairs, flags, capsys):
    argv = [f"--env={env}", *(f"--env-kwargs={pair}" for pair in pairs), "--out=/dev/null/run"]
    argv += [f"{flag}={value}" for flag, value in flags.items()]
    code, message = ended(train, argv, capsys)
    assert code == 2, message


def places(value: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of everything inside a JSON value."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in pairs:
        yield (*above, key)
        if isinstance(item, dict | list):
            yield from places(item, (*above, key))


@pytest.mark.slow
def test_no_damage_to_a_record_ends_replay_with_an_unexpected_error(tmp_path, capsys):
    record = tmp_path / "e.jsonl"
    lines = []
    for i, env in enumerate((TOY_ID, "webshop", "alfworld", "textworld")):
        main(
            ["eval", env, "--num-tasks", "1", "--policy", "oracle", "--out", str(tmp_path / str(i))]
        )
        lines += (tmp_path / str(i) / "episodes.jsonl").read_text().splitlines()
    rng = random.Random(0)
    codes = set()
    for _ in range(120):
        episode = json.loads(rng.choice(lines))
        *above, last = rng.choice(list(places(episode)))
        inner = functools.reduce(operator.getitem, above, episode)
        inner[last] = rng.choice(
            [None, -1, 0, 1e308, 10**30, "", "x", "\ud800", [], {}, [[]], True, {"a": 1}, math.nan]
        )
        record.write_text(json.dumps(episode) + "\n")
        code, message = ended(main, ["replay", str(record)], capsys)
        assert code in (0, 1, 2), (above, last, inner[last], message)
        codes.add(code)
    assert codes >= {1, 2}


# -- lists add up ----------------------------------------------------------------------------------


def test_repeated_lists_add_up(capsys, monkeypatch):
    for argv in (
        ["--env=x", "--env-kwargs", "a=1", "b=2", "--seed", "3", "--env-kwargs", "c=3"],
        ["--env=x", "--env_kwargs=a=1", "--env-kwargs=b=2", "--env-kwargs", "c=3", "--seed=3"],
    ):
        config = parse_config([*argv, "--template-args=d=4", "--template-args", "e=5"])
        assert sorted(config.env_kwargs) == ["a=1", "b=2", "c=3"] and config.seed == 3
        assert config.template_args == ("d=4", "e=5")
    monkeypatch.setattr(sys, "stdin", io.StringIO("1\n"))
    assert (
        main(
            ["play", TOY_ID, "--env-kwargs", "horizon=3", "--seed", "1", "--env-kwargs=grammar=xml"]
        )
        == 0
    )
    output = capsys.readouterr().out
    assert ". <press>red</press>" in output and "turn 1 of 3" in output


def test_pairs():
    assert parse_pairs(["a=1", "b=x=y", "c=[1]", "a=1", "d="], "--env-kwargs") == {
        "a": 1, "b": "x=y", "c": [1], "d": "",
    }  # fmt: skip
    deep = "[" * 100_000
    assert parse_pairs([f"a={deep}"], "--env-kwargs") == {"a": deep}
    for pairs in (["a=1", "a=true"], ["a"], ["=1"], ["a b=1"]):
        with pytest.raises(ConfigurationError, match="--env-kwargs"):
            parse_pairs(pairs, "--env-kwargs")


@given(st.lists(st.sampled_from(["--env-kwargs", "--horizon=3", "a=1", "--env-kwargs=b=2", "c=x"])))
def test_adding_up_loses_nothing(argv):
    bare, typed = split_words(argv, list(flag_rows(Play)), "agentgym play")
    pairs = [
        word.removeprefix("--env-kwargs=") for word in argv if "--" not in word or "=b" in word
    ]
    assert sorted([*bare, *typed.get("--env-kwargs", ())]) == sorted(pairs)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="TRL needs Python 3.11")
def test_both_commands_find_an_environment_of_ones_own(tmp_path, capsys, monkeypatch):
    (tmp_path / "own_shop.py").write_text(
        "import gymnasium\n"
        "if 'Own-v0' not in gymnasium.registry:\n"
        "    gymnasium.register('Own-v0', entry_point='tests.toy:ToyEnv')\n"
    )
    monkeypatch.chdir(tmp_path)
    code, message = ended(main, ["eval", "own_shop:Own-v0", "--num-tasks", "2"], capsys)
    assert code == 0, message
    argv = ["--env", "own_shop:Own-v0", "--out", "/dev/null/run"]
    assert LATER in ended(train, argv, capsys)[1]


# -- output, signals -------------------------------------------------------------------------------


def shell(line: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a line of bash in which ``agentgym`` is this command."""
    call = "import sys; from agentgym.cli import main; sys.exit(main())"
    line = line.replace("agentgym", f"'{sys.executable}' -c '{call}'", 1)
    return subprocess.run(
        ["bash", "-c", f"set -o pipefail; {line}"], cwd=ROOT, capture_output=True, text=True,
        timeout=60, check=False, env={**os.environ, "COLUMNS": "200", **variables},
    )  # fmt: skip


@pytest.mark.slow
@FULL
@pytest.mark.parametrize(
    "line",
    ["list webshop", "list webshop --json", "doctor", "--help", "eval webshop --num-tasks 1"],
)
def test_a_full_disk_is_one_sentence(line):
    with open("/dev/full", "w") as full:
        process = run_warm(line.split(), stdout=full)
    assert process.returncode == 2
    assert re.fullmatch(r"agentgym: expected .*No space left on device.*\n", process.stderr)


@FULL
def test_a_full_disk_for_messages_changes_nothing_else():
    with open("/dev/full", "w") as full:
        assert run_warm(["eval", "nope"], stderr=full).returncode == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    "line",
    ["list webshop", "list webshop --json", "doctor", "eval webshop --num-tasks 2", "--help"],
)
def test_a_reader_that_has_gone_is_no_error_of_ours(line):
    reader, writer = os.pipe()
    os.close(reader)
    process = run_warm(line.split(), stdout=writer)
    os.close(writer)
    assert (process.returncode, process.stderr) == (141, "")


def test_a_reader_that_takes_one_line_gets_it():
    process = shell("agentgym doctor --json | head -1")
    assert process.returncode in (0, 141) and (process.stdout, process.stderr) == ("[\n", "")


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
@pytest.mark.parametrize("line", ["list", "doctor", "eval webshop --num-tasks 1", "play webshop"])
def test_any_encoding_of_the_output_will_do(line, encoding):
    process = run_warm(line.split(), PYTHONIOENCODING=encoding, COLUMNS="200")
    assert (process.returncode, process.stderr) == (0, "") and process.stdout


@pytest.mark.slow
@pytest.mark.parametrize("line", ["list webshop >&-", "list webshop >&- 2>&-", "play webshop <&-"])
def test_streams_may_be_closed(line):
    process = shell(f"agentgym {line}")
    assert (process.returncode, process.stderr) == (0, "")


def test_input_may_be_of_any_encoding():
    process = shell(r"printf '\xff\xfe\n1\n' | agentgym play webshop")
    assert (process.returncode, process.stderr) == (0, "")
    assert "stopped after 2 of" in process.stdout


@pytest.mark.parametrize(
    ("module", "line"), [("yaml", "eval --config suite.yaml"), ("rich", "list webshop")]
)
def test_ctrl_c_is_quiet_while_packages_are_imported(module, line, tmp_path):
    (tmp_path / f"{module}.py").write_text("import os, signal; os.kill(os.getpid(), signal.SIGINT)")
    (tmp_path / "suite.yaml").write_text("environments: [textcraft]")
    process = shell(f"cd {tmp_path} && agentgym {line}", PYTHONPATH=f"{tmp_path}:{ROOT}")
    assert (process.returncode, process.stderr) == (130, "stopped\n")


def test_ctrl_c_is_quiet_at_any_later_time():
    def body() -> int:
        os.kill(os.getpid(), signal.SIGINT)
        raise AssertionError("the signal comes first")

    assert run_command("agentgym", body) == 130

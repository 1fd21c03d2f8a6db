"""``agentgym eval`` of several environments and policies, from flags and from a file."""

from __future__ import annotations

import importlib
import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentgym import read_report
from agentgym.cli.arguments import Eval
from agentgym.cli.evaluate import suite_of
from agentgym.cli.parsing import parse
from agentgym.errors import ConfigurationError
from agentgym.evaluation import Prices
from agentgym.trust import trusting
from tests.cli.test_commands import run, wide  # noqa: F401 (a fixture)
from tests.toy import TOY_ID

TOY = f"tests.toy:{TOY_ID}"


@pytest.fixture(autouse=True)
def files_of_the_user() -> Iterator[None]:
    """The user of these files has written them."""
    named = ("lost_connection:broken", "costly:broken", "stops:Stopped", "stops:broken")
    policies = (f"policy={name}" for name in (*named, f"{__name__}:press"))
    url = "base_url=http://127.0.0.1:9/v1"
    with trusting(f"env={TOY}", url, "out=o", *policies, say=lambda text: None):
        yield


def write_suite(tmp_path: Path, text: str) -> str:
    file = tmp_path / "suite.yaml"
    file.write_text(text)
    return str(file)


def test_every_policy_plays_every_environment(capsys, tmp_path):
    out = tmp_path / "out"
    argv = ("eval", TOY, "webshop", "--policy", "random", "--policy", "oracle", "--num-tasks", "3")
    code, output, _ = run(capsys, *argv, "--out", str(out))
    assert code == 0 and "4 of 4: oracle on webshop: score 1.000" in output
    data = json.loads((out / "leaderboard.json").read_text())
    assert [row["policy"] for row in data["rows"]] == ["oracle", "random"] * 2
    assert [(out / name / "report.json").exists() for name in data["folders"]] == [True] * 4
    assert "success minus random" in (out / "leaderboard.md").read_text()


def test_a_finished_one_is_not_played_again_and_a_longer_one_goes_on(capsys, tmp_path):
    argv = ("eval", TOY, "--policy", "random", "--policy", "oracle", "--out", str(tmp_path / "o"))
    run(capsys, *argv, "--num-tasks", "3")
    files = sorted((tmp_path / "o").glob("*/episodes.jsonl"))
    old_text = [file.read_text() for file in files]
    assert run(capsys, *argv, "--num-tasks", "3")[0] == 0
    assert [file.read_text() for file in files] == old_text
    run(capsys, *argv, "--num-tasks", "5")
    assert all(file.read_text().count("\n") == 5 for file in files)


@pytest.mark.parametrize("policies", [("random",), ("random", "oracle")])
def test_a_shorter_one_is_refused_and_shows_no_other_results(capsys, tmp_path, policies):
    flags = [word for policy in policies for word in ("--policy", policy)]
    argv = ("eval", TOY, *flags, "--out", str(tmp_path / "o"))
    run(capsys, *argv, "--num-tasks", "3")
    old_text = {file: file.read_text() for file in (tmp_path / "o").glob("**/*.json")}
    code, output, errors = run(capsys, *argv, "--num-tasks", "2")
    assert code != 0 and "n was 3 and is 2" in output + errors
    assert "score" not in output and "Run the same command" not in output
    assert {file: file.read_text() for file in (tmp_path / "o").glob("**/*.json")} == old_text


def test_one_that_fails_costs_the_others_nothing(capsys, tmp_path, monkeypatch):
    (tmp_path / "lost_connection.py").write_text(
        "def broken(observation, info):\n    raise ConnectionError('gone')\n"
    )
    (tmp_path / "both.yaml").write_text(
        f"num_tasks: 3\nenvironments: [{TOY}]\npolicies: [lost_connection:broken, oracle]"
    )
    monkeypatch.chdir(tmp_path)
    code, output, _ = run(capsys, "eval", "--config", "both.yaml")
    assert code == 1 and "lost_connection:broken on" in output and "gone" in output
    assert "oracle on" in output and "success 1.000" in output
    [folder] = (tmp_path / "runs").glob("eval-both-*")
    rows = json.loads((folder / "leaderboard.json").read_text())["rows"]
    assert [(row["policy"], row["n"], row["errors"]) for row in rows] == [
        ("oracle", 3, 0), ("lost_connection:broken", 0, 3),
    ]  # fmt: skip


COSTLY = """
from agentgym.policies import ModelOutput

def broken(observation, info):
    raise ConnectionError('gone')

class Stopped:
    played = 0

    def reset(self, observation, info):
        Stopped.played += 1
        if Stopped.played > 2:
            raise KeyboardInterrupt

    def act(self, observation, info):
        self.last_output = ModelOutput('', 1_000_000, 0)
        return f'press {observation.split()[-1]}'
"""


def test_one_with_a_limit_on_its_cost_may_fail_too(capsys, tmp_path, monkeypatch):
    (tmp_path / "costly.py").write_text(COSTLY)
    monkeypatch.chdir(tmp_path)
    file = write_suite(
        tmp_path,
        "num_tasks: 3\nscale: false\nlimit_cost: 100\nprice: [1, 2]\nout: o\n"
        f"environments: [{TOY}]\npolicies: [costly:broken, oracle]",
    )
    code, output, _ = run(capsys, "eval", "--config", file)
    assert code == 1 and "failed: expected episodes" in output and "gone" in output
    assert "2 of 2: oracle on" in output and "success 1.000" in output
    rows = json.loads((tmp_path / "o/leaderboard.json").read_text())["rows"]
    assert [(row["policy"], row["n"], row["cost"]) for row in rows] == [
        ("oracle", 3, 0.0), ("costly:broken", 0, 0.0),
    ]  # fmt: skip


def test_what_was_played_under_a_limit_on_its_cost_is_shown_when_it_is_stopped(
    capsys, tmp_path, monkeypatch
):
    (tmp_path / "costly_too.py").write_text(COSTLY)
    monkeypatch.chdir(tmp_path)
    argv = (
        "eval",
        TOY,
        "--policy",
        "costly_too:Stopped",
        "--num-tasks",
        "5",
        "--no-scale",
        "--out",
        "o",
    )
    code, output, _ = run(capsys, *argv, "--limit-cost", "100", "--price", "1", "2")
    assert code == 130 and "2 episodes are saved in o" in output
    report = read_report("o")
    turns = sum(row.turns for row in report.rows)
    assert report.prices == Prices(1.0, 2.0) and report.cost == turns > 0


def test_a_table_that_goes_on_keeps_its_rows_until_they_are_played_anew(
    capsys, tmp_path, monkeypatch
):
    (tmp_path / "stops.py").write_text(COSTLY)
    monkeypatch.chdir(tmp_path)
    file = f"num_tasks: 3\nscale: false\nout: o\nenvironments: [{TOY}]\npolicies: "

    def play(policies: str) -> tuple[int, str]:
        return run(capsys, "eval", "--config", write_suite(tmp_path, file + policies))[:2]

    def listed() -> list[tuple[str, int]]:
        data = json.loads((tmp_path / "o/leaderboard.json").read_text())
        assert len(data["folders"]) == len(data["rows"])
        return sorted((row["policy"], row["n"]) for row in data["rows"])

    three = [("blind-first", 3), ("oracle", 3), ("random", 3)]
    assert play("[random, oracle, blind-first]")[0] == 0 and listed() == three
    code, _ = play("[random, stops:Stopped, oracle, blind-first]")
    assert code == 130 and listed() == three
    code, output, _ = run(capsys, "compare", "o")
    assert code == 0 and "oracle" in output and "blind-first" in output
    code, output = play(
        "[random, {policy: oracle, num_tasks: 2}, stops:broken]"
    )  # num_tasks: 2 is refused
    assert code == 1 and "n was 3 and is 2" in output
    assert listed() == [("oracle", 3), ("random", 3), ("stops:broken", 0)]
    folders = json.loads((tmp_path / "o/leaderboard.json").read_text())["folders"]
    assert [name.split("-")[-2] for name in folders] == ["random", "oracle", "broken"]


def test_several_evaluations_are_not_mixed_with_a_single_one(capsys, tmp_path):
    argv = ("eval", TOY, "--num-tasks", "2", "--out", str(tmp_path / "o"), "--policy", "random")
    assert run(capsys, *argv)[0] == 0
    files_before = sorted((tmp_path / "o").iterdir())
    code, output, error = run(capsys, *argv, "--policy", "oracle")
    assert code == 2 and "holds a single one; choose another --out" in error
    assert "1 of" not in output
    assert sorted((tmp_path / "o").iterdir()) == files_before


def test_a_mistake_is_found_before_anything_is_played(capsys, tmp_path):
    argv = ("eval", TOY, "webshopp", "--out", str(tmp_path / "o"))
    code, output, error = run(capsys, *argv, "--policy", "random", "--policy", "oracle")
    assert code == 2 and "webshopp" in error and "1 of" not in output
    code, _, error = run(capsys, "eval", TOY, TOY)
    assert code == 2 and "every environment and policy once" in error
    code, _, error = run(capsys, "eval")
    assert code == 2 and "expected the name of an environment" in error


def test_policies_in_the_place_of_environments_get_their_flag(capsys):
    code, _, error = run(capsys, "eval", TOY, "--policy", "random", "oracle")
    assert code == 2 and "--policy random --policy oracle" in error


def test_the_scale_is_played_once_for_each_panel(capsys, tmp_path):
    names = ("--policy", "random", "--policy", "blind-last", "--policy", "blind-first")
    run(
        capsys,
        "eval",
        TOY,
        *names,
        "--num-tasks",
        "4",
        "--scale",
        "True",
        "--out",
        str(tmp_path / "o"),
    )
    reports = [read_report(folder) for folder in sorted((tmp_path / "o").glob("*-*"))]
    assert len(reports) == 3 and len({report.scale for report in reports}) == 1
    assert reports[0].scale is not None


@pytest.mark.parametrize(
    ("environment", "policies", "scaled"),
    [
        (f"{{env: {TOY}, scale: true}}", "[random, oracle]", [True, True]),
        (f"{{env: {TOY}, scale: true}}", "[random]", [True]),
        (TOY, "[random, {policy: oracle, scale: true}, blind-last]", [False, True, False]),
        (f"{{env: {TOY}, scale: false}}", f"[random, {__name__}:press]", [False, False]),
    ],
)
def test_an_entry_says_whether_its_scale_is_played(capsys, tmp_path, environment, policies, scaled):
    out = tmp_path / "o"
    file = write_suite(
        tmp_path, f"num_tasks: 2\nenvironments: [{environment}]\npolicies: {policies}"
    )
    assert run(capsys, "eval", "--config", file, "--out", str(out))[0] == 0
    several = len(scaled) > 1
    folders = json.loads((out / "leaderboard.json").read_text())["folders"] if several else ["."]
    assert [read_report(out / name).scale is not None for name in folders] == scaled
    if any(scaled):  # a flag that is typed wins
        shutil.rmtree(out)
        assert run(capsys, "eval", "--config", file, "--out", str(out), "--no-scale")[0] == 0
        assert all(read_report(out / name).scale is None for name in folders)


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("num_tasks: 0", "num_tasks to be an integer of at least 1, got 0"),
        ("samples: 0", "the number of samples to be an integer from 1"),
        ("limit_cost: .inf, price: [1, 2]", "limit on cost"),
        ("limit_tokens: 0", "limit on tokens"),
        ("price: [1, -2]", "price of completion tokens"),
        ("concurrency: 0", "concurrency to be an integer of at least 1"),
    ],
)
def test_a_number_that_cannot_be_is_found_before_anything_is_played(
    capsys, tmp_path, setting, words
):
    text = f"num_tasks: 1\nenvironments: [{TOY}, {{env: webshop, {setting}}}]\npolicies: [random]"
    argv = ("eval", "--config", write_suite(tmp_path, text), "--out", str(tmp_path / "o"))
    code, output, error = run(capsys, *argv)
    assert code == 2 and words in error.replace("\n", " ") and "1 of" not in output
    assert not (tmp_path / "o").exists()


def press(observation, info):
    """A policy of somebody's own, which gets a scale if nothing is said."""
    return "press " + observation.split()[-1]


@pytest.mark.parametrize(
    ("flags", "scaled"),
    [
        ((), True),
        (("--no-scale",), False),
        (("--no_scale",), False),
        (("--scale", "False"), False),
        (("--scale", "None"), True),
    ],
)
def test_a_scale_can_be_left_out(capsys, tmp_path, flags, scaled):
    argv = (
        "eval",
        TOY,
        "--policy",
        f"{__name__}:press",
        "--num-tasks",
        "2",
        "--out",
        str(tmp_path),
    )
    assert run(capsys, *argv, *flags)[0] == 0
    assert (read_report(tmp_path).scale is not None) == scaled


FILE = f"""
num_tasks: 3
seed: 5
environments:
  - env: {TOY}
    horizon: 4
  - env: webshop
    num_tasks: 2
    env_kwargs: {{difficulty: easy, size: 200}}
policies:
  - oracle
  - policy: chat
    model: a-model
    base_url: http://127.0.0.1:9/v1
    stop-after: 1
"""


def test_a_file_names_environments_and_policies_with_settings(tmp_path):
    file = write_suite(tmp_path, FILE.replace("    stop-after: 1\n", "    max-tokens: 7\n"))
    command = parse(["eval", "--config", file, "--seed", "0", "--no-stream"])
    assert isinstance(command, Eval)
    evaluations = suite_of(command).evaluations
    assert [(evaluation.env, evaluation.policy) for evaluation in evaluations] == [
        (TOY, "oracle"), (TOY, "chat"), ("webshop", "oracle"), ("webshop", "chat"),
    ]  # fmt: skip
    first, _, _, last = (evaluation.settings for evaluation in evaluations)
    assert (first.num_tasks, first.horizon, first.seed, first.env_kwargs) == (3, 4, 0, ())
    assert (last.num_tasks, last.horizon, last.model, last.max_tokens) == (2, None, "a-model", 7)
    assert last.env_kwargs == ('difficulty="easy"', "size=200")
    assert len({evaluation.name for evaluation in evaluations}) == 4


def test_a_file_is_played_and_flags_win(capsys, tmp_path):
    file = write_suite(
        tmp_path, f"num_tasks: 9\nout: {tmp_path}/o\nenvironments: [{TOY}]\npolicies: [random]"
    )
    trusted = ("--trust", f"out={tmp_path}/o")
    code, output, _ = run(capsys, "eval", "--config", file, "--num-tasks", "2", *trusted)
    assert code == 0 and read_report(tmp_path / "o").n == 2
    assert "random on" in output


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[]", "the lists environments and policies"),
        ("environments: [webshop]", "a list of policies"),
        ("environments: webshop\npolicies: [random]", "a list of environments"),
        ("environments: [{split: test}]\npolicies: [random]", r"environments\[0\]"),
        ("environments: [webshop]\npolicies: [random]\nnumber: 3", "number"),
        ("environments: [{env: webshop, out: x}]\npolicies: [random]", "out"),
        ("envs: [webshop]\npolicies: [random]", r"'envs' \(did you mean 'environments'\?\)$"),
        (
            "environments: [webshop]\npolicies: [{policy: chat, modle: m}]",
            r"policies\[0\], got 'modle' \(did you mean 'model'\?\)$",
        ),
        (
            "environments: [webshop]\npolicies: [{policy: oracle, num_tasks: [[1]]}]",
            "'num_tasks' to be a whole number",
        ),
        ("environments: [webshop]\npolicies: [{policy: oracle, n: many}]", r"policies\[0\]"),
        (
            "environments: [{env: webshop, env_kwargs: {difficulty: {b: 2024-01-01}}}]\n"
            "policies: [random]",
            r"JSON-safe value for env_kwargs\.difficulty in .*environments\[0\]",
        ),
    ],
)
def test_a_wrong_file_is_told_where(tmp_path, text, words):
    command = parse(["eval", "--config", write_suite(tmp_path, text)])
    assert isinstance(command, Eval)
    with pytest.raises(ConfigurationError, match=words):
        suite_of(command)


@pytest.mark.parametrize(
    ("lists", "first", "second"),
    [
        (
            "environments: [{env: webshop, num_tasks: 2}, {env: webshop, num_tasks: 4}]\n"
            "policies: [oracle]",
            "environments[0] and policies[0]", "environments[1] and policies[0]",
        ),
        (
            "environments: [webshop]\npolicies: [random, {policy: oracle, samples: 2}, oracle]",
            "environments[0] and policies[1]", "environments[0] and policies[2]",
        ),
        (
            "environments: [webshop]\npolicies: [random, random]",
            "environments[0] and policies[0]", "environments[0] and policies[1]",
        ),
    ],
)  # fmt: skip
def test_two_of_a_file_that_would_share_a_folder_are_refused(
    capsys, tmp_path, lists, first, second
):
    out = tmp_path / "o"
    code, output, error = run(
        capsys, "eval", "--config", write_suite(tmp_path, "horizon: 3\n" + lists), "--out", str(out)
    )
    assert code == 2 and f"but {first} name the same one as {second}: " in error
    assert "leave one out" in error and "1 of" not in output and not out.exists()


def test_names_beside_a_file_and_files_that_are_none_are_refused(capsys, tmp_path):
    file = write_suite(tmp_path, "environments: [webshop]\npolicies: [random]")
    code, _, error = run(capsys, "eval", "webshop", "--config", file)
    assert code == 2 and "in the --config alone" in error
    assert run(capsys, "eval", "--config", str(tmp_path / "none.yaml"))[0] == 2
    assert run(capsys, "eval", "--config", write_suite(tmp_path, "a: [1"))[0] == 2


def test_compare_reads_a_folder_of_several(capsys, tmp_path):
    out = str(tmp_path / "o")
    run(
        capsys,
        "eval",
        TOY,
        "--policy",
        "random",
        "--policy",
        "oracle",
        "--num-tasks",
        "3",
        "--out",
        out,
    )
    code, output, _ = run(capsys, "compare", out)
    assert code == 0 and "success minus random" in output
    data = json.loads(run(capsys, "compare", out, "--format", "json")[1])
    assert data["format"] == "agentgym.leaderboard/1" and data["rows"][0]["policy"] == "oracle"
    folders = [str(file.parent) for file in sorted((tmp_path / "o").glob("*/report.json"))]
    assert "oracle minus random" in run(capsys, "compare", *folders)[1]
    (tmp_path / "o" / "leaderboard.json").rename(tmp_path / "kept")
    copied = json.loads(run(capsys, "compare", out, "--format", "json")[1])
    assert [row["policy"] for row in copied["rows"]] == ["oracle", "random"], "any such folder"
    code, _, error = run(capsys, "compare", folders[0])
    assert code == 2 and "two evaluations or more" in error
    (tmp_path / "o" / "leaderboard.json").write_text("{}")
    assert run(capsys, "compare", out)[0] == 2


def test_charts_are_drawn(capsys, tmp_path):
    pictures = [tmp_path / name for name in ("one.png", "several.svg", "compared.png")]
    run(capsys, "eval", TOY, "--num-tasks", "3", "--chart", str(pictures[0]))
    names = ("--policy", "random", "--policy", "oracle")
    out = str(tmp_path / "o")
    run(capsys, "eval", TOY, *names, "--num-tasks", "3", "--chart", str(pictures[1]), "--out", out)
    run(capsys, "compare", out, "--chart", str(pictures[2]))
    assert all(picture.stat().st_size > 1000 for picture in pictures)
    code, _, error = run(capsys, "eval", TOY, "--num-tasks", "3", "--chart", "picture.bmp")
    assert code == 2 and ".png or .svg" in error


@pytest.mark.parametrize("several", [False, True])
def test_an_edited_policy_is_played_and_what_is_read_is_said(
    capsys, tmp_path, monkeypatch, several
):
    monkeypatch.chdir(tmp_path)
    name = f"own_edited_{several}"
    policies = ["--policy", f"{name}:agent", *["--policy", "random"] * several]
    argv = ("eval", TOY, *policies, "--num-tasks", "4", "--scale", "False")

    def play(body: str, *flags: str) -> tuple[str, str]:
        (tmp_path / f"{name}.py").write_text(f"def agent(observation, info):\n    {body}\n")
        monkeypatch.delitem(sys.modules, name, raising=False)
        importlib.invalidate_caches()
        return run(capsys, *argv, *flags)[1:]

    good, bad = "return f'press {observation.split()[-1]}'", "raise ConnectionError('edited')"
    assert "read from" not in play(good)[0]
    summary = play(good)[0]
    assert "4 episodes were read from runs/eval-" in summary and "0 played." in summary
    summary = play(good, "--num-tasks", "6")[0]
    assert "4 episodes were read" in summary and "2 played." in summary
    output, error = play(bad)
    assert "edited" in output + error and "read from" not in error
    assert len([*(tmp_path / "runs").iterdir()]) == 2
    assert "4 episodes were read from kept" not in play(good, "--out", "kept")[0]
    assert "4 episodes were read from kept" in play(good, "--out", "kept")[0]

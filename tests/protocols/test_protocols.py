"""Protocols of papers: files, tasks by item, figures, departures."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import gymnasium
import pytest

import agentgym
from agentgym.cli import main
from agentgym.errors import ConfigurationError, DataError
from agentgym.evaluation import Leaderboard, compare, evaluate, load_protocol, read_report
from agentgym.protocols import bundled
from agentgym.protocols.protocol_file import read_protocol
from tests.envs.alfworld.data import shared_pack
from tests.envs.webshop.conftest import shared_data
from tests.toy import TOY_ID

TOY = f"""
format = "agentgym.protocol/1"
name = "buttons"

["{TOY_ID}"]
horizon = 6
grammar = "xml"

["{TOY_ID}".tasks]
split = "valid"
also = ["test"]
sizes = {{ valid = 160, test = 200 }}

[["{TOY_ID}".figures]]
name = "All"
scale = 100.0

[["{TOY_ID}".figures]]
name = "Three"
value = "score"
where = {{ expert_turns = "3" }}

[["{TOY_ID}".figures]]
name = "None"
where = {{ expert_turns = "30" }}
"""


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    path = tmp_path / "buttons.toml"
    path.write_text(TOY)
    return path


@pytest.fixture(autouse=True)
def no_data(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ALFWORLD_DATA", "SEARCH_QUESTIONS", "TEXTWORLD_GAMES", "WEBSHOP_DATA"):
        monkeypatch.delenv(name, raising=False)


PROTOCOLS = {
    "agentgym": ["alfworld", "webshop"],
    "balrog": ["textworld"],
    "mini-swe-agent": ["swe"],
    "official": ["alfworld", "webshop"],
    "search-r1": ["search"],
    "verl-agent": ["alfworld", "webshop"],
}


@pytest.mark.parametrize("name", PROTOCOLS)
def test_the_protocols_of_the_package(name: str) -> None:
    protocol = load_protocol(name)
    assert protocol.name == name and protocol.about and protocol.sources and protocol.differences
    assert list(protocol.setups) == PROTOCOLS[name]
    assert len({setup.sha256 for setup in protocol.setups.values()}) == 1
    assert list(bundled()) == list(PROTOCOLS)


def test_what_the_protocols_say() -> None:
    verl, gym = load_protocol("verl-agent").setups, load_protocol("agentgym").setups
    assert (verl["alfworld"].horizon, verl["webshop"].horizon) == (50, 15)
    assert verl["alfworld"].sampling == {"temperature": 0.4, "top_p": 1.0, "max_tokens": 512}
    assert verl["alfworld"].tasks.split == "valid_seen"
    assert (gym["alfworld"].horizon, gym["webshop"].horizon) == (30, 10)
    items = gym["alfworld"].tasks.items
    assert items is not None and list(items.names) == list(range(2420, 2620))
    assert len(set(items.names.values())) == 200
    assert load_protocol("official").setups["alfworld"].tasks.split == "valid_unseen"
    search = load_protocol("search-r1").setups["search"]
    assert (search.horizon, search.arguments["topk"], search.arguments["grammar"]) == (5, 3, "xml")
    swe = load_protocol("mini-swe-agent").setups["swe"]
    assert (swe.horizon, swe.tasks.sizes) == (250, {"test": 500})
    assert swe.sampling == {"max_tokens": 8192}
    assert swe.arguments["command_timeout"] == 60
    game = load_protocol("balrog").setups["textworld"]
    assert (game.horizon, game.sampling["temperature"]) == (80, 1.0)


def test_an_evaluation_follows_a_file(toy: Path, tmp_path: Path) -> None:
    report = evaluate("oracle", TOY_ID, protocol=toy, out=tmp_path / "out")
    assert (report.split, report.n, report.horizon) == ("valid", 160, 6)
    assert report.env_kwargs == {"grammar": "xml"} and report.departures == {}
    overall, three, none = report.figures()
    assert overall[:3] == ("All", overall.estimate, 160) and overall.estimate is not None
    assert overall.estimate.value == overall.estimate.high == 100.0 and overall.estimate.low > 97
    three_turn_rows = [row for row in report.rows if row.labels["expert_turns"] == "3"]
    assert three.estimate is not None and three.n == len(three_turn_rows) > 1
    assert (three.estimate.value, three.scale) == (1.0, 1.0)
    assert (none.estimate, none.n) == (None, 0)
    data = json.loads((tmp_path / "out/report.json").read_text())
    assert data["format"] == "agentgym.report/1" and data["protocol"]["name"] == "buttons"
    assert [figure["name"] for figure in data["figures"]] == ["All", "Three", "None"]
    assert data["figures"][0]["ci95"] == [overall.estimate.low, overall.estimate.high]
    assert read_report(tmp_path / "out") == report
    assert "| All | 100.0" in report.markdown() and "no task of this kind" in report.markdown()
    assert "buttons, sha256" in report._repr_html_()


def test_an_unfinished_evaluation_knows_its_protocol(toy: Path, tmp_path: Path) -> None:
    full_report = evaluate("oracle", TOY_ID, protocol=toy, num_tasks=5, out=tmp_path / "out")
    (tmp_path / "out/report.json").unlink()
    part = read_report(tmp_path / "out")
    assert part.protocol == full_report.protocol and part.figures() == full_report.figures()
    longer = evaluate("oracle", TOY_ID, protocol=toy, num_tasks=9, out=tmp_path / "out")
    assert longer.rows[:5] == full_report.rows and longer.departures == {"num_tasks": (160, 9)}


def test_the_report_names_what_departs(toy: Path) -> None:
    report = evaluate("oracle", TOY_ID, "train", 10, protocol=toy, horizon=9)
    assert report.departures == {"horizon": (6, 9), "split": ("valid", "train")}
    assert "departs: horizon | 9; the protocol has 6" in report.markdown()
    assert evaluate("oracle", TOY_ID, "test", None, protocol=toy).departures == {}
    other_report = evaluate(
        "oracle", TOY_ID, protocol=toy, num_tasks=3, env_kwargs={"grammar": "react"}
    )
    assert other_report.departures == {"env.grammar": ("xml", "react"), "num_tasks": (160, 3)}
    env = gymnasium.make(TOY_ID)
    one_task = evaluate("oracle", env, protocol=toy, tasks=["toy/red-blue"])
    assert one_task.departures["env.grammar"] == ("xml", "native")
    with pytest.raises(ConfigurationError, match="expected a list of tasks"):
        evaluate("oracle", env, protocol=toy, tasks="toy/red-blue")
    with_split = evaluate("oracle", env, "test", protocol=toy, tasks=["toy/blue-red"])
    assert [row.task_id for row in with_split.rows] == ["toy/blue-red"]
    assert one_task.departures["tasks"] == ("its own", "others, by their ids") and one_task.n == 1


def test_another_protocol_is_another_evaluation(toy: Path, tmp_path: Path) -> None:
    plain_report = evaluate("oracle", TOY_ID, "valid", None, horizon=6,
                            env_kwargs={"grammar": "xml"}, out=tmp_path / "plain")  # fmt: skip
    with pytest.raises(ConfigurationError, match="protocol was None and is 'buttons "):
        evaluate("oracle", TOY_ID, protocol=toy, out=tmp_path / "plain")
    report = evaluate("oracle", TOY_ID, protocol=toy, out=tmp_path / "toy")
    (old_hash, new_hash) = compare(plain_report, report).differing["protocol"]
    assert old_hash is None and new_hash.startswith("buttons ")
    toy.write_text(TOY + "# another version\n")
    with pytest.raises(ConfigurationError, match=r"protocol was 'buttons .* and is 'buttons "):
        evaluate("oracle", TOY_ID, protocol=toy, out=tmp_path / "toy")
    assert "protocol" in compare(report, evaluate("oracle", TOY_ID, protocol=toy)).differing


def test_a_leaderboard_has_the_figures_of_a_protocol_that_all_follow(toy: Path) -> None:
    reports = [
        evaluate(policy, TOY_ID, protocol=toy, num_tasks=40) for policy in ("random", "oracle")
    ]
    table = Leaderboard(reports).markdown()
    assert re.search("protocol buttons [0-9a-f]{16}, with other settings\n", table)
    assert "| policy | All | Three | None |" in table
    assert "| oracle | 100.0 | 1.000 |  |" in table
    assert "protocol buttons " in Leaderboard(reports)._repr_html_()
    assert len(Leaderboard(reports).tables()) == 2
    assert [row["protocol"] for row in Leaderboard(reports).to_dict()["rows"]] == [
        reports[0].protocol.identity if reports[0].protocol else ""
    ] * 2
    toy.write_text(TOY + "#")
    mixed = [*reports, evaluate("oracle", TOY_ID, protocol=toy, num_tasks=40)]
    table = Leaderboard(mixed).markdown()
    assert "| All |" not in table and "oracle (protocol=buttons " in table


def test_several_evaluations_follow_a_protocol(toy: Path, tmp_path: Path, capsys: Any) -> None:
    names = ["--policy", "random", "--policy", "oracle", "--protocol", str(toy), "--num-tasks", "6"]
    assert main(["eval", TOY_ID, *names, "--out", str(tmp_path / "out")]) == 0
    data = json.loads((tmp_path / "out/leaderboard.json").read_text())
    assert [(row["split"], row["n"]) for row in data["rows"]] == [("valid", 6)] * 2
    assert main(["eval", TOY_ID, "alfworld", *names]) == 2
    output = capsys.readouterr()
    assert "got alfworld" in output.err and "1 of 4" not in output.out


def test_reports_of_earlier_versions_are_read(tmp_path: Path) -> None:
    report = evaluate("oracle", TOY_ID, num_tasks=2)
    data = {k: v for k, v in report.to_dict().items() if k not in ("protocol", "figures")}
    (tmp_path / "old.json").write_text(json.dumps(data))
    assert read_report(tmp_path / "old.json") == report and report.figures() == []
    assert report.departures == {}


@pytest.mark.parametrize(
    ("old", "new", "error", "words"),
    [
        ("protocol/1", "protocol/2", DataError, 'have format = "agentgym.protocol/1"'),
        ("name =", "name", DataError, "expected TOML in"),
        ("horizon = 6", "horizon = true", ConfigurationError, "horizon' to be a whole number"),
        (
            "horizon = 6",
            "rounds = 6",
            ConfigurationError,
            "Toy-v0' to be made of the keys tasks, horizon, .*'rounds'",
        ),
        (
            'split = "valid"',
            "",
            ConfigurationError,
            "expected the field '.*tasks.split', but it is missing",
        ),
        ("valid = 160", 'valid = "160"', ConfigurationError, "sizes.valid' to be a whole number"),
        ('value = "score"', 'value = "reward"', ConfigurationError, "one of score, success"),
        (
            "scale = 100.0",
            'scale = "100"',
            ConfigurationError,
            r"figures\[0\].scale' to be a finite number",
        ),
        ('name = "buttons"', 'name = ""', ConfigurationError, "with a name and a section"),
        ('name = "buttons"', 'name = "b"\nmore = 1', ConfigurationError, "'more' to be an object"),
    ],
)
def test_a_file_that_says_what_it_cannot_is_refused(
    toy: Path, old: str, new: str, error: type[Exception], words: str
) -> None:
    assert old in TOY
    toy.write_text(TOY.replace(old, new, 1))
    with pytest.raises(error, match=words) as raised:
        load_protocol(toy)
    assert str(toy) in str(raised.value)


@pytest.mark.parametrize(
    ("section", "words"),
    [
        ("sampling]\nseed = 1", "sampling' to be made of the keys temperature, top_p, max_tokens"),
        ("sampling]\ntemperature = '1'", "temperature' to be a finite number"),
        ('prompt]\nkind = "step"\nfirst = "{goal}"\nlater = ""', "got {goal}"),
        ('prompt]\nkind = "step"\nfirst = ""', "prompt.later', but it is missing"),
        ('prompt]\nkind = "step"\nfirst = ""\nlater = ""\nwindow = "2"', "window' to be a whole"),
        ('data]\nargument = "data"', "--trust argument=data"),
        ("figures]\n", "figures"),
    ],
)
def test_a_section_that_says_what_it_cannot_is_refused(toy: Path, section: str, words: str) -> None:
    head = TOY.partition(f'\n[["{TOY_ID}".figures]]')[0]
    toy.write_text(f'{head}\n["{TOY_ID}".{section}\n')
    with pytest.raises(ConfigurationError, match=words):
        read_protocol(toy)


def test_what_is_no_protocol_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"\(agentgym, balrog, .*verl-agent\) or a file"):
        load_protocol("no-such")
    with pytest.raises(DataError, match="expected the file of a protocol at"):
        load_protocol(tmp_path / "none.toml")
    with pytest.raises(ConfigurationError, match=r"\(alfworld, webshop\), got textworld"):
        evaluate("random", "textworld", protocol="official")
    big = tmp_path / "big.toml"
    big.write_text("#" * ((1 << 20) + 1))
    with pytest.raises(DataError, match="more than 1,048,576 bytes"):
        load_protocol(big)


@pytest.mark.parametrize(
    ("env", "variable", "remedy"),
    [("alfworld", "ALFWORLD_DATA", "alfworld-download"), ("webshop", "WEBSHOP_DATA", "setup.sh")],
)
def test_official_data_that_is_missing_is_asked_for(env: str, variable: str, remedy: str) -> None:
    words = f"official data of {env}.*set {variable} to its folder.*{remedy}.*data=null"
    with pytest.raises(DataError, match=words):
        evaluate("random", env, protocol="verl-agent")
    with agentgym.make(env) as environment, pytest.raises(DataError, match=words):
        evaluate("random", environment, protocol="verl-agent")


@pytest.mark.slow
def test_generated_tasks_are_a_departure() -> None:
    report = evaluate("oracle", "alfworld", protocol="verl-agent", num_tasks=12,
                      env_kwargs={"data": None})  # fmt: skip
    expected = {"data": ("official data", "generated tasks"), "num_tasks": (140, 12)}
    assert report.departures == expected and report.split == "valid_seen"
    names = [figure.name for figure in report.figures()]
    assert names == ["Pick", "Look", "Clean", "Heat", "Cool", "Pick2", "All"]
    assert sum(figure.n for figure in report.figures()[:-1]) == report.figures()[-1].n == 12
    shop = evaluate(
        "oracle", "webshop", protocol="verl-agent", num_tasks=4, env_kwargs={"data": None}
    )
    score, success = shop.figures()
    assert (score.name, success.name) == ("Score", "Succ.") and score.estimate and success.estimate
    assert score.estimate.value == pytest.approx(100 * shop.score_mean)
    assert success.estimate.value == pytest.approx(100 * shop.success)
    assert set(shop.departures) == {"data", "num_tasks"} and shop.horizon == 15


def test_a_question_set_of_search_r1_is_no_departure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "nq").mkdir()
    question = {"id": "1", "question": "who wrote Emma", "golden_answers": ["Jane Austen"]}
    (tmp_path / "nq/test.jsonl").write_text(json.dumps(question) + "\n")
    passages = [f'{{"id": "{i}", "contents": "\\"Book {i}\\"\\nwritten {i}"}}' for i in range(9)]
    (tmp_path / "corpus.jsonl").write_text("\n".join(passages))
    monkeypatch.setenv("SEARCH_QUESTIONS", str(tmp_path / "nq"))
    with pytest.raises(ConfigurationError, match="expected corpus or retriever_url together"):
        evaluate("random", "search", protocol="search-r1")
    corpus = {"corpus": str(tmp_path / "corpus.jsonl")}
    answer = lambda observation, info: "<answer>jane austen!</answer>"  # noqa: E731
    report = evaluate(answer, "search", protocol="search-r1", env_kwargs=corpus)
    assert report.departures == {} and report.horizon == 5
    assert [(f.name, f.estimate and f.estimate.value) for f in report.figures()] == [("EM", 1.0)]


def test_a_folder_of_games_is_played_as_balrog_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEXTWORLD_GAMES", str(tmp_path))
    with agentgym.make("textworld") as env:
        games: Any = env.unwrapped.tasks
        for index in range(3):
            game = dict(games.problem(games.task("test", index)))
            (tmp_path / "test").mkdir(exist_ok=True)
            (tmp_path / f"test/{index}.json").write_text(json.dumps(game))
    report = evaluate("oracle", "textworld", protocol="balrog")
    assert (report.departures, report.n, report.horizon) == ({}, 3, 80)
    assert [figure.name for figure in report.figures()] == ["Progression", "Won"]


@pytest.mark.slow
def test_the_official_games_by_type() -> None:
    pack = shared_pack("valid_seen.json.gz").parent
    report = evaluate("oracle", "alfworld", "valid_seen", protocol="official",
                      env_kwargs={"data": str(pack)})  # fmt: skip
    assert report.departures == {} and report.horizon == 50
    assert [figure.n for figure in report.figures()] == [35, 13, 27, 16, 25, 24, 140]
    with pytest.raises(DataError, match=r"split 'valid_unseen'.*only; alfworld-download"):
        evaluate("oracle", "alfworld", protocol="official", env_kwargs={"data": str(pack)})


@pytest.mark.slow
def test_the_items_of_agentgym_are_the_games_of_valid_train() -> None:
    pack = {"data": str(shared_pack("valid_train.json.gz").parent)}
    report = evaluate("oracle", "alfworld", protocol="agentgym", env_kwargs=pack)
    assert report.n == 200 and report.departures == {} and report.split == "valid_train"
    with gymnasium.make("agentgym/ALFWorld-v0", **pack, grammar="react") as env:
        tasks = env.unwrapped.tasks
        names = [tasks.find(row.task_id).content["official_name"] for row in report.rows]
        items = load_protocol("agentgym").setups["alfworld"].tasks.items
        assert items is not None and names == list(items.names.values())
        single = evaluate("oracle", env, protocol="agentgym", tasks=["alfworld_2431"])
        assert single.rows[0].task_id == report.rows[11].task_id and single.departures == {
            "num_tasks": (200, 1)
        }
        with pytest.raises(DataError, match="from alfworld_2420 to alfworld_2619, got alfworld_7"):
            evaluate("oracle", env, protocol="agentgym", tasks=["alfworld_7"])
    only_seen = {"data": str(Path(pack["data"]) / "valid_seen.json.gz")}
    with pytest.raises(DataError, match=r"valid_train.*agentenv-alfworld/setup\.sh"):
        evaluate("oracle", "alfworld", protocol="agentgym", env_kwargs=only_seen)
    with pytest.raises(DataError, match="of item alfworld_2420, but the data does not hold it"):
        evaluate("oracle", "alfworld", protocol="agentgym", env_kwargs=only_seen,
                 tasks=["alfworld_2420"])  # fmt: skip


@pytest.mark.slow
def test_the_items_of_webshop_count_its_goals(tmp_path: Path) -> None:
    shop = {"data": str(shared_data("webshop") / "catalogue")}
    with pytest.raises(DataError, match=r"webshop_test.json of the data set AgentGym/AgentEval"):
        evaluate("oracle", "webshop", protocol="agentgym", env_kwargs=shop)
    with pytest.raises(DataError, match="from webshop_0 to webshop_6909"):
        evaluate("oracle", "webshop", protocol="agentgym", env_kwargs=shop, tasks=["webshop_6910"])
    file = tmp_path / "webshop_test.json"
    numbers = [5238, 0, 499, 500, 1499, 1500, 6909]
    file.write_text(
        json.dumps([{"conversations": None, "item_id": f"webshop_{n}"} for n in numbers])
    )
    report = evaluate("oracle", "webshop", protocol="agentgym", env_kwargs=shop, tasks=[str(file)])
    assert [row.task_id.split("/", 2)[2] for row in report.rows] == [
        "train/3738", "test/0", "test/499", "valid/0", "valid/999", "train/0", "train/5409"
    ]  # fmt: skip
    assert report.departures == {"num_tasks": (200, 7)} and report.horizon == 10
    with gymnasium.make("agentgym/WebShop-v0", **shop, goal_mode="official",
                        split_mode="official-index") as env:  # fmt: skip
        pack = json.loads((tmp_path / "webshop_test.json").read_text())
        assert len(pack) == 7 and env.unwrapped.tasks.task("test", 0).id == report.rows[1].task_id


@pytest.mark.parametrize("n", ["-1", "0"])
def test_a_number_of_tasks_is_at_least_one_where_a_protocol_lists_them(
    n: str, toy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "names.txt").write_text("1 red-blue\n2 gold-red\n")
    items = '{ prefix = "button_", task_id = "toy/{name}", names = "names.txt" }'
    toy.write_text(toy.read_text().replace('split = "valid"', f'split = "valid"\nitems = {items}'))
    argv = ["eval", TOY_ID, "--policy", "oracle", "--protocol", str(toy)]
    assert main([*argv, "--num-tasks", n]) == 2
    assert "expected num_tasks to be an integer of at least 1" in capsys.readouterr().err
    assert main([*argv, "--num-tasks", "1"]) == 0


@pytest.mark.parametrize("text", ["{", "[]", "[1]", '[{"item": "webshop_0"}]', '{"item_id": "a"}'])
def test_a_file_that_holds_no_items_is_refused(toy: Path, tmp_path: Path, text: str) -> None:
    file = tmp_path / "items.json"
    file.write_text(text)
    with pytest.raises(DataError, match="JSON"):
        evaluate("oracle", TOY_ID, protocol=toy, tasks=[str(file)])


def test_the_command_follows_a_protocol(
    toy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["eval", TOY_ID, "--policy", "oracle", "--protocol", str(toy)]
    assert main([*command, "--num-tasks", "4", "--out", str(tmp_path / "out")]) == 0
    out = capsys.readouterr().out
    assert "buttons with other settings (below)" in out and "departs: n" in out
    report = read_report(tmp_path / "out")
    assert (report.n, report.split, report.horizon) == (4, "valid", 6)
    assert report.env_kwargs["grammar"] == "xml"
    assert main([*command, "--grammar", "react", "--split", "test", "--task", "toy/red-blue"]) == 0
    assert "departs: env.grammar" in capsys.readouterr().out
    assert main(["eval", "alfworld", "--policy", "oracle", "--protocol", "verl-agent"]) == 2
    assert "set ALFWORLD_DATA" in capsys.readouterr().err


def test_the_command_plays_what_it_did_without_a_protocol(capsys: Any, tmp_path: Path) -> None:
    assert main(["eval", TOY_ID, "--policy", "oracle", "--out", str(tmp_path / "out")]) == 0
    report = read_report(tmp_path / "out")
    assert (report.n, report.split, report.protocol) == (100, "test", None)


def test_the_command_shows_protocols(capsys: Any, tmp_path: Path) -> None:
    assert main(["protocols"]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in bundled())
    assert "--protocol FILE" in " ".join(out.split()) and "…" not in out
    assert main(["protocols", "official"]) == 0
    copy = tmp_path / "mine.toml"
    copy.write_text(capsys.readouterr().out)
    from_file, from_name = load_protocol(copy), load_protocol("official")
    assert dataclasses.replace(from_file, path=from_name.path) == from_name
    assert main(["protocols", "none"]) == 2

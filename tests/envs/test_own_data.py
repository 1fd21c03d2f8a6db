"""The how-to pages about data of one's own: their commands, as they stand there."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from agentgym.cli import main as agentgym
from agentgym.envs.textworld.tasks import GameTasks
from tests.envs.swe.boxed import needs_box
from tests.envs.swe.making.library import make_library

PAGES = Path(__file__).parents[2] / ".site" / "how-to"
SWE = "swe-tasks-from-a-repository"
SMALL = shlex.split(
    "--steps 1 --sft.max-steps 4 --sft.demonstrations 8 --sft.eval-every 4 --eval.valid-tasks 1 "
    "--rl.groups 1 --rl.num-generations 2 --eval.baselines none"
)
"""What makes the training of a page as short as can be."""


def commands(page: str) -> list[list[str]]:
    """Return the commands of a page that call agentgym."""
    text = (PAGES / f"{page}.md").read_text(encoding="utf-8")
    blocks = "\n".join(re.findall(r"```bash\n(.*?)```", text, flags=re.DOTALL))
    lines = blocks.replace("\\\n", " ").splitlines()
    return [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("agentgym ")]


def write_rows(name: str, rows: list[dict[str, object]]) -> None:
    Path(name).write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")


def write_search() -> None:
    places = ("Harrow", "Belden", "Tarn", "Ostley", "Quill", "Merrow")
    Path("docs").mkdir()
    for number, place in enumerate(places, 3):
        text = f"# {place}\n\n{place} has {number} bridges."
        Path("docs", f"{place}.md").write_text(text, encoding="utf-8")
    write_rows(
        "questions.jsonl",
        [
            {"question": f"How many bridges has {place}?", "answer": str(number)}
            for number, place in enumerate(places, 3)
        ],
    )


def write_database() -> None:
    lines = "\n".join(f"{n},thing {n},{n * 3 % 7 + 0.5}" for n in range(1, 20))
    Path("sales.csv").write_text(f"id,product,price\n{lines}\n", encoding="utf-8")
    query = "SELECT count(*) FROM sales WHERE price >"
    rows: list[dict[str, object]] = [
        {"question": f"How many products cost more than {n}?", "sql": f"{query} {n}"}
        for n in range(7)
    ]
    change = {"question": "Delete product 4.", "sql": "DELETE FROM sales WHERE id = 4"}
    write_rows("sales.jsonl", [*rows, {"question": "What is 3?", "answer": "thing 3"}, change])


def write_sums() -> None:
    write_rows(
        "sums.jsonl",
        [{"problem": f"What is {n} times {n + 2}?", "answer": n * (n + 2)} for n in range(10)],
    )


def write_games() -> None:
    games = GameTasks()
    Path("games").mkdir()
    for number in range(4):
        text = json.dumps(games.problem(games.task("train", number)))
        Path("games", f"{'mine' if number == 0 else number}.json").write_text(text)


FAMILIES = {
    "search": write_search,
    "database": write_database,
    "mathpython": write_sums,
    "textworld": write_games,
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")


def run(argv: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert agentgym(argv) == 0, capsys.readouterr().err
    return capsys.readouterr().out


def check_page(
    page: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Carry out what a page says, but the training."""
    lines = commands(page)
    assert {line[0] for line in lines} >= {"play", "eval", "certify", "train"}
    monkeypatch.setattr("builtins.input", lambda *args: "quit")
    for line in lines:
        if line[:2] == ["swe", "build"]:
            output = run(["swe", "build", "prices", *line[3:], "--num-tasks", "4"], capsys)
            assert "4 tasks in my-tasks (train 2, valid 1, test 1)" in output
        elif line[:2] == ["swe", "list"]:
            assert "train: 2 tasks" in run(line, capsys)
        elif line[0] == "play":
            run(line, capsys)
        elif line[0] == "eval":
            report = run([*line, "--num-tasks", "9"], capsys)
            assert re.search(r"success +│ 1\.000", report) and "panel       │ test" in report
            assert "│ all, seed" in run([*line, "--split", "all"], capsys)
        elif line[0] == "certify":
            checked = run([*line, "--checks", "unique_ids", "expert", "idle"], capsys)
            assert " 0 fail, 0 not app" in checked and "train" in checked


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_a_page_plays_evaluates_and_checks(
    family: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    FAMILIES[family]()
    check_page(f"own-data-{family}", capsys, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_a_page_trains(family: str, capsys: pytest.CaptureFixture[str]) -> None:
    FAMILIES[family]()
    train(f"own-data-{family}", capsys)


@pytest.mark.slow
@needs_box
def test_the_page_of_swe_builds_plays_evaluates_and_trains(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    make_library(Path("prices"))
    check_page(SWE, capsys, monkeypatch)
    train(SWE, capsys)


def train(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Train as a page says, for one step."""
    trainers = pytest.importorskip("trainers.cli")
    (line,) = [line for line in commands(page) if line[0] == "train"]
    assert trainers.main([*line[1:], *SMALL]) == 0, capsys.readouterr().err
    (summary,) = Path("runs").glob("*/summary.json")
    assert json.loads(summary.read_text())["eval"]["oracle"]["success"] == 1.0

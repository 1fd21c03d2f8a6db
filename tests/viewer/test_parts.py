"""The head of the list: what differs is not averaged together, and what is missing is said."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentgym.cli import main
from agentgym.episodes import Episode
from agentgym.errors import PolicyFailure
from agentgym.evaluation import evaluate
from tests.toy import TOY_ID
from tests.viewer.chromium import Page
from tests.viewer.records import episode, make_episodes, turn, write
from tests.viewer.test_in_browser import CONTRAST, NOTHING, figures

pytestmark = pytest.mark.slow

Viewer = Callable[..., Path]


def solved(task: str, **changes: Any) -> Episode:
    return episode(task, [turn(1, success=True)], stop_reason="success", **changes)


def table(tab: Page) -> list[list[str]]:
    rows = "[...document.querySelectorAll('.parts tr')]"
    return tab.run(f"{rows}.map((row) => [...row.children].map((cell) => cell.innerText))")


def mixed() -> list[Episode]:
    other_fields = {"env_id": "agentgym/Other-v0"}
    return [
        episode("a", 2, policy="random"),
        solved("a", policy="oracle"),
        solved("b", policy="oracle"),
        episode("c", 1, policy="oracle", **other_fields),
        episode("d", 1, policy="oracle", stop_reason="error", **other_fields),
    ]


def test_what_differs_has_a_row_of_its_own(viewer: Viewer, tab: Page) -> None:
    tab.open(viewer(mixed()))
    head, *rows = table(tab)
    assert head[:6] == [
        "Environment", "Policy", "episodes", "mean score", "solved", "solved, at least",
    ]  # fmt: skip
    assert [row[:6] for row in rows] == [
        ["agentgym/Toy-v0", "random", "1", "0.5", "0 %", NOTHING],
        ["agentgym/Toy-v0", "oracle", "2", "0.25", "100 %", NOTHING],
        ["agentgym/Other-v0", "oracle", "2", "0.25", "0 %", "0 %"],
    ]
    assert tab.count("#summary dl") == 0, "no mean over everything"
    assert "1 of 5 episodes is broken" in tab.text("#summary .notice.bad")


def test_a_row_chooses_its_part(viewer: Viewer, tab: Page) -> None:
    tab.open(viewer(mixed()))
    tab.run("document.querySelectorAll('.parts button')[1].click()")
    tab.wait("document.querySelectorAll('#space .row').length === 2")
    numbers = figures(tab)
    assert (numbers["episodes"], numbers["solved"]) == ("2 of 5", "100 %")
    assert tab.count("#summary .notice") == 0
    tab.run("document.querySelector('#clear').click()")
    assert len(table(tab)) == 4


def test_parts_of_a_training_run_are_rows(tab: Page, tmp_path: Path) -> None:
    (tmp_path / "eval_episodes").mkdir()
    write(tmp_path / "eval_episodes" / "oracle.jsonl", [solved("a"), solved("b")])
    write(tmp_path / "eval_episodes" / "trained.jsonl", [episode("a"), solved("b")])
    assert main(["view", str(tmp_path)]) == 0
    tab.open(tmp_path / "view.html")
    head, *rows = table(tab)
    assert (head[0], [row[0] for row in rows]) == ("Part", ["oracle", "trained"])
    assert [row[3] for row in rows] == ["100 %", "50 %"]


def test_parts_of_two_runs_are_compared_part_by_part(viewer: Viewer, tab: Page) -> None:
    other_fields = {"env_id": "agentgym/Other-v0"}
    first = [episode("a", 1), episode("c", 1, **other_fields)]
    second = [episode("a", 3), episode("c", 2, **other_fields)]
    tab.open(viewer(first, second))
    rows = table(tab)[1:]
    assert [row[0].split() for row in rows[:4]] == [
        [side, name] for side in "AB" for name in ("agentgym/Toy-v0", "agentgym/Other-v0")
    ]
    assert tab.text("caption") == "Paired, B \u2212 A"
    assert rows[4][:3] == ["Environment", "pairs", "score"]
    assert [row[:3] for row in rows[5:]] == [
        ["agentgym/Toy-v0", "1", "+0.5"], ["agentgym/Other-v0", "1", "+0.25"],
    ]  # fmt: skip


class Failing:
    """Solves every task but those in which its endpoint fails."""

    def __init__(self, failing: Callable[[int], bool]) -> None:
        self.failing, self.begun = failing, 0

    def reset(self, observation: str, info: Any) -> None:
        self.begun += 1
        if self.failing(self.begun):
            raise PolicyFailure("the endpoint answered 500")

    def act(self, observation: str, info: Any) -> str:
        return f"press {observation.split()[-1]}"


@pytest.mark.parametrize("samples", [1, 2])
def test_broken_episodes_are_said_in_words(
    tab: Page, tmp_path: Path, capsys: Any, samples: int
) -> None:
    out = tmp_path / "e"
    report = evaluate(Failing(lambda i: i % 4 == 0), TOY_ID, num_tasks=8, samples=samples, out=out)
    assert report.success == 1.0 and report.errors == 2 * samples
    assert main(["view", str(out)]) == 0
    assert f"{8 * samples} episodes, {2 * samples} broken" in capsys.readouterr().out
    tab.open(out / "view.html")
    numbers = figures(tab)
    assert (numbers["solved"], numbers["solved, at least"]) == ("100 %", "75 %")
    assert numbers["broken"] == str(2 * samples)
    notice = tab.text("#summary .notice.bad")
    assert notice.startswith(f"{2 * samples} of {8 * samples} episodes are broken: ")
    height = "parseFloat(getComputedStyle(document.querySelector('#summary .notice')).fontSize)"
    assert tab.run(height) >= 14


def test_episodes_that_were_never_played_are_said(tab: Page, tmp_path: Path) -> None:
    out = tmp_path / "e"
    evaluate(Failing(lambda i: False), TOY_ID, num_tasks=8, out=out)
    file = out / "episodes.jsonl"
    file.write_text("".join(file.read_text().splitlines(keepends=True)[:5]))
    assert main(["view", str(out)]) == 0
    tab.open(out / "view.html")
    assert figures(tab)["solved, at least"] == "62.5 %"
    assert tab.text("#summary .notice").startswith("3 planned episodes were not played.")
    assert main(["view", str(out), "--max-episodes", "4"]) == 0
    tab.open(out / "view.html")
    assert tab.count("#summary .notice") == 0, "--max-episodes left them out, and says so itself"


@pytest.mark.parametrize("content", ["[", "{}", '{"settings": {"n": "8", "samples": 1}}', "[" * 9])
def test_a_damaged_plan_says_nothing(tab: Page, tmp_path: Path, content: str) -> None:
    write(tmp_path / "episodes.jsonl", make_episodes(3))
    (tmp_path / "evaluation.json").write_text(content)
    assert main(["view", str(tmp_path)]) == 0
    tab.open(tmp_path / "view.html")
    assert figures(tab)["episodes"] == "3"
    assert tab.count("#summary .notice") == 0


def test_the_chosen_row_reaches_the_edge(viewer: Viewer, tab: Page) -> None:
    for count in (3, 200):
        tab.open(viewer(make_episodes(count)))
        edge = "document.querySelector({}).getBoundingClientRect().right"
        row, table = (tab.run(edge.format(json.dumps(name))) for name in (".row.at", "#scroll"))
        bar = tab.run("(() => { const s = document.querySelector('#scroll');"
                      "return s.offsetWidth - s.clientWidth; })()")  # fmt: skip
        assert row == table - bar
        cells = [
            tab.run(f"document.querySelector('{selector} .cell:nth-child(2)')"
                    ".getBoundingClientRect().right")
            for selector in ("#head", "#space")
        ]  # fmt: skip
        assert cells[0] == cells[1], "headings stand above their columns"


@pytest.mark.parametrize("dark", [False, True])
def test_parts_can_be_read_on_every_screen(viewer: Viewer, tab: Page, dark: bool) -> None:
    page = viewer(mixed(), mixed())
    for width, height in ((1280, 800), (390, 844)):
        tab.resize(width, height, dark=dark)
        tab.open(page)
        assert tab.run(CONTRAST) == []
        assert tab.run("document.documentElement.scrollWidth <= innerWidth")
        rows = "document.querySelector('#scroll').getBoundingClientRect().height"
        assert tab.run(rows) > height / 5, "the figures leave room for the episodes"
        row = "document.querySelector('.row.at')"
        assert tab.run(f"{row}.scrollHeight <= {row}.clientHeight"), "no line of a row is cut"


def test_a_policy_for_each_episode_makes_no_endless_table(viewer: Viewer, tab: Page) -> None:
    tab.open(viewer([episode(f"t/{i}", 1, policy=f"p{i}") for i in range(1000)]))
    assert len(table(tab)) == 202
    assert table(tab)[-1] == ["and 800 more: filter"]

"""The page as a person finds it, in a real browser."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from agentgym.cli import main
from agentgym.episodes import RecordedState
from agentgym.errors import PolicyFailure
from agentgym.evaluation import Report, compare, evaluate
from tests.toy import TOY_ID
from tests.viewer.chromium import Page
from tests.viewer.records import HOSTILE, episode, hostile, make_episodes, turn

pytestmark = pytest.mark.slow

Viewer = Callable[..., Path]
HASH = "decodeURIComponent(location.hash)"
NOTHING = "\u2013"
AT = "document.querySelector('.turn.at')?.dataset.turn"


def list_tasks(tab: Page) -> list[str]:
    """Return the tasks of the list, as far as they are drawn, in their order."""
    return tab.run(
        "[...document.querySelectorAll('#space .row')]"
        ".sort((a, b) => a.ariaRowIndex - b.ariaRowIndex)"
        ".map((row) => row.querySelector('a').innerText)"
    )


def choose(tab: Page, name: str, value: str) -> None:
    tab.run(
        f"(() => {{ const s = document.querySelector('select[name={name}]');"
        f"s.value = {json.dumps(value)}; s.dispatchEvent(new Event('change')); }})()"
    )


def test_the_list_shows_every_episode_and_its_figures(viewer: Viewer, tab: Page) -> None:
    tab.open(viewer(make_episodes(8)))
    assert list_tasks(tab) == [f"toy/{i}" for i in range(8)]
    assert "find the way of toy/3" in tab.text("#space")
    summary = tab.text("#summary")
    assert "8" in summary and "33.3 %" in summary and "2 of 8 episodes are broken" in summary
    assert tab.run("document.querySelector('#table').ariaRowCount") == "9"
    assert tab.text("#status") == "8 episodes"


def figures(tab: Page, line: int = 1) -> dict[str, str]:
    """Return the figures of a line of the summary, by their labels."""
    parts = tab.texts(f"#summary dl:nth-child({line}) > div")
    return dict(part.split("\n")[:2] for part in parts)


class Solver:
    """Presses nothing in tasks that end with a colour, and fails in some of its episodes."""

    def __init__(self, failing: Callable[[int], bool], last: str) -> None:
        self.failing, self.last, self.begun = failing, last, 0

    def reset(self, observation: str, info: Mapping[str, Any]) -> None:
        self.begun += 1
        self.gives_up = info["goal"].endswith(self.last)
        if self.failing(self.begun):
            raise PolicyFailure("the endpoint answered 500")

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        if self.gives_up:
            return "press pink"
        return f"press {observation.split()[-1]}"


@pytest.mark.parametrize("samples", [1, 3])
def test_the_page_says_what_the_report_says(tab: Page, tmp_path: Path, samples: int) -> None:
    def play_and_view(name: str, failing: Callable[[int], bool], last: str) -> Report:
        policy, out = Solver(failing, last), tmp_path / name
        report = evaluate(policy, TOY_ID, num_tasks=12, samples=samples, out=out)
        assert report.errors > 1 and 0 < report.success < 1
        assert main(["view", str(out)]) == 0
        return report

    first = play_and_view("a", lambda i: i % 5 == 3 or 20 < i < 24, "red")
    for name, expected in (("a", first), ("b", play_and_view("b", lambda i: i % 3 == 2, "gold"))):
        tab.open(tmp_path / name / "view.html")
        numbers = figures(tab)
        assert numbers["episodes"] == str(12 * samples)
        assert numbers["broken"] == str(expected.errors)
        assert float(numbers["mean score"]) == pytest.approx(expected.score_mean, abs=5e-4)
        percent = float(numbers["solved"].removesuffix(" %"))
        assert percent == pytest.approx(100 * expected.success, abs=0.051)
        assert float(numbers["mean turns"]) == pytest.approx(expected.turns_mean, abs=0.051)


def test_pairs_are_those_that_compare_compares(tab: Page, tmp_path: Path) -> None:
    solver, other_policy = (
        Solver(lambda i: i in (2, 5), "red"),
        Solver(lambda i: i in (5, 7), "gold"),
    )
    first, second = (
        evaluate(policy, TOY_ID, num_tasks=12, out=tmp_path / name)
        for name, policy in (("a", solver), ("b", other_policy))
    )
    comparison = compare(second, first)
    assert main(["view", str(tmp_path / "a"), str(tmp_path / "b")]) == 0
    tab.open(tmp_path / "a" / "view-vs-b.html")
    numbers = figures(tab, 3)
    assert (numbers["pairs"], numbers["left out, one broken"]) == (str(comparison.n), "3")
    change = float(numbers["score"].replace("\u2212", "-"))
    assert change == pytest.approx(comparison.score.value, abs=5e-4) and change
    assert tab.texts("#space .row .diff").count("") == 3


def test_where_everything_failed_nothing_is_averaged(viewer: Viewer, tab: Page) -> None:
    broken = [episode(f"toy/{i}", stop_reason="error") for i in range(2)]
    tab.open(viewer(broken, broken))
    for line in (1, 2):
        numbers = figures(tab, line)
        assert (numbers["mean score"], numbers["solved"], numbers["mean turns"]) == (NOTHING,) * 3
        assert numbers["broken"] == "2"
    assert (figures(tab, 3)["pairs"], figures(tab, 3)["score"]) == ("0", NOTHING)


FILTERS = (
    ("outcome", "solved", [0, 4]),
    ("stop", "failure", [2, 6]),
    ("outcome", "broken", [3, 7]),
    ("policy", "other", [1]),
    ("term", "bonus", [5]),
    ("finish", "length", [6]),
    ("env", "agentgym/Other-v0", [2]),
    ("actions", "all valid", [0, 2, 3, 6, 7]),
)
"""Name and value of a filter, and the tasks that it leaves."""


def test_filters(viewer: Viewer, tab: Page) -> None:
    from dataclasses import replace

    records = [replace(record, turns=record.turns[:1]) for record in make_episodes(8)]
    records[1] = replace(records[1], policy="other")
    records[2] = replace(records[2], env_id="agentgym/Other-v0")
    paid = replace(records[5].turns[0], reward_terms={"bonus": 0.25})
    records[5] = replace(records[5], turns=(paid,))
    records[6] = replace(records[6], turns=(replace(records[6].turns[0], finish_reason="length"),))
    records = [
        replace(record, turns=(replace(record.turns[0], action_valid=i not in (1, 4, 5)),))
        for i, record in enumerate(records)
    ]
    page = viewer(records)
    tab.open(page)
    for name, value, tasks in FILTERS:
        if value == "solved":
            tasks = [i for i, record in enumerate(records) if record.success]
        choose(tab, name, value)
        tab.wait(f"document.querySelectorAll('#space .row').length === {len(tasks)}")
        assert list_tasks(tab) == [f"toy/{i}" for i in tasks], (name, value)
        tab.wait("location.hash.includes('?')")
        tab.open(page, tab.run("location.hash"))
        assert list_tasks(tab) == [f"toy/{i}" for i in tasks], f"{name} survives a reload"
        tab.run("document.querySelector('#clear').click()")
        assert len(list_tasks(tab)) == 8, (name, value)
        tab.wait("!location.hash.includes('?')")


def test_free_text_and_sorting(viewer: Viewer, tab: Page) -> None:
    tab.open(viewer(make_episodes(30)))
    tab.key("/")
    tab.type("WAY toy/2")
    tab.wait("document.querySelectorAll('#space .row').length === 11")
    assert list_tasks(tab) == ["toy/2", *(f"toy/{i}" for i in range(20, 30))]
    choose(tab, "sort", "-turns")
    turns = [int(text) for text in tab.texts("#space .row .cell[data-label=Turns]")]
    assert turns == sorted(turns, reverse=True) and turns[0] == 6
    tab.key("Escape")
    assert tab.run("document.activeElement.id") != "q"
    tab.run("document.querySelector('#head button').click()")  # by score
    assert tab.run("document.querySelector('#head [aria-sort]').ariaSort") == "descending"
    tab.run("document.querySelector('#head [aria-sort] button').click()")
    scores = [float(text) for text in tab.texts("#space .row .cell[data-label=Score]")]
    assert scores == sorted(scores)
    choose(tab, "outcome", "solved")
    tab.run("(() => { const q = document.querySelector('#q'); q.value = 'nowhere';"
            "q.dispatchEvent(new Event('input')); })()")  # fmt: skip
    assert tab.text("#space") == "No episode fits these filters."


def test_an_episode_shows_what_is_recorded_of_it(viewer: Viewer, tab: Page) -> None:
    turns = [
        turn(1, raw_text="<think>where am I</think> go 1 now", reasoning="apart", cached_tokens=64,
             reasoning_tokens=7, finish_reason="length", reward=-0.2,
             reward_terms={"task": 0.1, "penalty": -0.3}),
        turn(2, raw_text="jump", action="jump", executed="jump", action_valid=False,
             after=RecordedState("You cannot.", 0.25, 0.1, "k1", None)),
        turn(3, raw_text="no end <think>of it"),
    ]  # fmt: skip
    tab.open(viewer([episode(turns=turns)]), "#a/1")
    first, second, third = tab.texts(".turn")[1:]
    for words in ("Thinking", "where am I", "Reasoning, sent apart", "apart", "Model text",
                  "go 1 now", "Action", "go 1", "✓ valid", "finish: length", "This is room 1.",
                  "\u22120.3", "+0.1", "\u22120.2", "101", "64", "10", "7", "penalty"):  # fmt: skip
        assert words in first, words
    assert "<think>" not in first
    assert "\u00d7 invalid action" in second and "state as after turn 1" in second
    assert "Model text" not in second, "it wrote the action and nothing else"
    assert "Thinking, never closed" in third and "of it" in third
    assert "admissible" not in tab.text("#episode-view").lower()
    assert tab.count(".turn:nth-child(2) .fill.plus") == 1
    assert tab.count(".turn:nth-child(2) .fill.minus") == 1
    width = "document.querySelector('.turn:nth-child(2) .fill.{}').getBoundingClientRect().width"
    assert tab.run(width.format("minus")) == pytest.approx(
        tab.run(width.format("plus")) * 3, rel=0.1
    )
    points = tab.run("document.querySelector('.line-chart .return').getAttribute('points')")
    heights = [float(point.split(",")[1]) for point in points.split()]
    assert len(heights) == 4 and heights[1] > heights[0] > heights[2] > heights[3]
    assert "ends at 0.3" in tab.run("document.querySelector('.line-chart').ariaLabel")


def test_tool_calls_can_be_read(viewer: Viewer, tab: Page) -> None:
    code = "def f():\n    return '<b>'"
    arguments = json.dumps({"path": "a.py", "code": code, "line": 3})
    call = json.dumps({"name": "edit", "arguments": arguments})
    plain_call = json.dumps({"name": "submit", "arguments": {}})
    turns = [
        turn(1, action="edit", raw_text=f"I mend it.<tool_call>{call}</tool_call>"),
        turn(2, raw_text=f"<tool_call>{plain_call}</tool_call>"),
        turn(3, raw_text='<tool_call>{"name": "edit", "arguments": "{"}</tool_call>'),
        turn(4, raw_text='<tool_call>{"name": 5, "arguments": null}</tool_call>'),
        turn(5, raw_text="<tool_call>" * 90_000 + "</tool_call>"),
    ]
    tab.open(viewer([episode(turns=turns)]), "#a/1")
    first, second, third, fourth, fifth = tab.texts(".turn .card")[1:]
    assert "I mend it." in first and "Tool call edit" in first
    assert f"path: a.py\ncode:\n{code}\nline: 3" in first
    assert "Tool call submit" in second and "(empty)" not in second
    assert '"arguments": "{"}' in third and '"name": 5' in fourth
    assert "Tool call" not in third + fourth + fifth
    tab.run("document.querySelector('.written').open = true")
    assert call in tab.text(".written"), "what the model wrote, to the letter"


def test_a_long_goal_leaves_room_for_the_episode(viewer: Viewer, tab: Page) -> None:
    goal = "Repair it.\n```\n" + "".join(f"assert {i} == {i + 1}\n" for i in range(30)) + "```"
    tab.open(viewer([episode(goal=goal), episode("toy/2", goal="a\nb\nc\nd")]), "#a/1")
    assert "assert 29" not in tab.text(".goal") and "Show all" in tab.text(".goal")
    assert tab.run("getComputedStyle(document.querySelector('.goal .text')).fontFamily") == tab.run(
        "getComputedStyle(document.querySelector('.lane .text')).fontFamily"
    )
    tab.run("document.querySelector('.goal button').click()")
    tab.wait("document.querySelector('.goal').innerText.includes('assert 29')")
    tab.key("j")
    tab.wait("document.querySelector('h1').innerText === 'toy/2'")
    assert tab.text(".goal") == "a\nb\nc\nd"


def test_a_failure_is_told(viewer: Viewer, tab: Page) -> None:
    failed = episode(
        turns=2,
        stop_reason="error",
        details={"error": "HTTP 500 <b>", "unanswered_action": "go 3", "more": [1, {"a": 2}]},
    )
    tab.open(viewer([failed]), "#a/1")
    notice = tab.text(".overview .notice")
    assert "HTTP 500 <b>" in notice and "go 3" in notice
    assert "details: more" in tab.run("document.querySelector('.settings').textContent")
    tab.open(
        viewer([episode(turns=(), start=RecordedState("", 0.0, 0.0, ""), stop_reason="error")]),
        "#a/1",
    )
    assert tab.count(".turn") == 1 and "(empty)" in tab.text(".turn")


def test_keys(viewer: Viewer, tab: Page) -> None:
    tab.open(viewer(make_episodes(12)))
    for key in "jjkj":
        tab.key(key)
    assert tab.run("document.activeElement.innerText") == "toy/2"
    tab.key("Enter")
    tab.wait("document.querySelector('#episode h1')")
    assert tab.text("#episode h1") == "toy/2" and tab.run(HASH) == "#a/3"
    tab.key("n")
    tab.key("n")
    assert tab.run(AT) == "1"
    assert tab.run("document.querySelector('[aria-current=step]').dataset.turn") == "1"
    assert tab.run("document.activeElement.dataset.turn") == "1"
    tab.key("p")
    assert tab.run(AT) == "0"
    tab.key("j")
    tab.wait("document.querySelector('#episode h1')?.innerText === 'toy/3'")
    tab.key("ArrowRight")
    tab.wait("document.querySelector('#episode h1')?.innerText === 'toy/4'")
    tab.key("k")
    tab.wait("document.querySelector('#episode h1')?.innerText === 'toy/3'")
    tab.key("?")
    assert tab.run("document.querySelector('#help').open") is True
    tab.key("Escape")
    assert tab.run("document.querySelector('#help').open") is False
    assert tab.count("#episode") == 1, "Escape closed the help, not the episode"
    tab.key("Escape")
    tab.wait("!document.querySelector('#list-view').hidden")
    assert tab.run("document.activeElement.innerText") == "toy/3"


def test_addresses_survive_a_reload_and_the_back_button(viewer: Viewer, tab: Page) -> None:
    page = viewer(make_episodes(12))
    tab.open(page, "#a/6/4?stop=horizon")
    tab.wait(AT)
    assert (tab.text("#episode h1"), tab.run(AT)) == ("toy/5", "4")
    assert tab.text(".where") == "2 of 3"
    tab.key("p")
    tab.wait("location.hash.startsWith('#a/6/3?')")
    tab.open(page, tab.run("location.hash"))
    assert tab.run(AT) == "3"
    tab.key("Escape")
    assert list_tasks(tab) == ["toy/1", "toy/5", "toy/9"]
    tab.run("history.back()")
    tab.wait("document.querySelector('#episode h1')?.innerText === 'toy/5'")
    assert tab.run(AT) == "3"


@pytest.mark.parametrize(
    "address",
    [
        "#b/1",
        "#a/99",
        "#a/%E0%A4%A",
        "#?stop=%FF&sort=constructor&pair=toString",
        "#a/1/x",
        "#<img src=x onerror=window.owned=1>",
        "#a/__proto__/1",
        "#?__proto__=1",
        "#a/1/999999",
    ],
)
def test_odd_addresses_do_no_harm(viewer: Viewer, tab: Page, address: str) -> None:
    tab.open(viewer(make_episodes(3)), address)
    assert tab.run("window.owned ?? null") is None
    assert tab.count(".notice") == 0


def test_hostile_text_is_inert_and_whole(viewer: Viewer, tab: Page) -> None:
    page = viewer([hostile(), episode()], [hostile()])
    for address in ("", "#a/1", "#b/1", "#a/1/3"):
        tab.open(page, address)
        tab.run("document.querySelectorAll('details').forEach((one) => one.open = true)")
        for button in range(tab.count(".all")):
            tab.run(f"document.querySelectorAll('.all')[{button}].click()")
        assert tab.run("window.owned ?? null") is None
        assert tab.count("main img, main script, main a[href^='javascript'], main b b") == 0
    text = tab.text("#episode-view")
    for bad in HOSTILE[:8]:
        assert bad in text, bad
    assert (
        "⟨U+202E⟩" in text
        and "⟨U+D800⟩" in text
        and "NUL ^@ bell ^G escape ^[[31m" in text
        and "⟨U+E0041⟩" in text
    )
    assert "\u202e" not in text and "\u2028" not in text and "😀" in text


def test_long_text_is_cut_and_can_be_shown(viewer: Viewer, tab: Page) -> None:
    long = "x" * 1_000_000 + "END"
    lines = "\n".join(f"line {i}" for i in range(5000))
    turns = [turn(1, after=RecordedState(long, 0.0, 0.0, "k", None)),
             turn(2, after=RecordedState(lines, 0.0, 0.0, "l", None)),
             turn(3, action="\x00a" * 300_000,
                  after=RecordedState("", 0.0, 0.0, "m", None))]  # fmt: skip
    tab.open(viewer([episode("t" * 100_000, goal="g" * 100_000, turns=turns)]), "#a/1")
    assert len(tab.run("document.body.innerText")) < 60_000
    labels = "[...document.querySelectorAll('.turn .all')].map((e) => e.textContent)"
    assert tab.run(labels)[:2] == [
        "Show all (1,000,003 characters)",
        f"Show all ({len(lines):,} characters)",
    ]
    for number in range(tab.count(".turn .all")):
        tab.run(f"document.querySelectorAll('.turn .all')[{number}].click()")
    pieces = "[...document.querySelectorAll('.turn:nth-child({}) .rest > div')]"
    pieces += ".map((e) => e.textContent)"
    assert "".join(tab.run(pieces.format(2))) == long
    assert "\n".join(tab.run(pieces.format(3))) == lines
    tab.run("document.querySelectorAll('.turn .all')[0].click()")
    assert tab.run(labels)[0] == "Show all (1,000,003 characters)"


def test_five_thousand_episodes(viewer: Viewer, tab: Page) -> None:
    tab.open(viewer(make_episodes(5000)))
    assert tab.count("#space .row") < 60, "only rows in view exist"
    tab.key("End")
    assert tab.run("document.activeElement.innerText") == "toy/4999"
    assert tab.count("#space .row") < 60
    tab.key("Enter")
    tab.wait("document.querySelector('#episode h1')?.innerText === 'toy/4999'")
    # Faster than any episode is read: a press that comes meanwhile counts.
    press = "document.body.dispatchEvent(new KeyboardEvent('keydown', {key: 'k', bubbles: true}))"
    tab.run(f"for (let i = 0; i < 40; i++) {press}")
    tab.wait("document.querySelector('#episode h1')?.innerText === 'toy/4959'")
    assert "This is room 1." in tab.text("#episode")
    tab.wait("location.hash === '#a/4960'")


def test_long_episodes_are_drawn_in_pages(viewer: Viewer, tab: Page) -> None:
    page = viewer([episode(turns=1000)])
    tab.open(page, "#a/1")
    assert tab.count(".turn") == 101
    tab.run("document.querySelector('.more-turns').click()")
    assert tab.count(".turn") == 201
    tab.open(page, "#a/1/800")
    assert tab.run(AT) == "800"
    top = tab.run("document.querySelector('.turn.at').getBoundingClientRect().top")
    assert 0 <= top < 800


def two_runs() -> tuple[list[Any], list[Any]]:
    first = [episode(f"toy/{i}", turns=2) for i in range(4)]
    better = [turn(1), turn(2, executed="go home"), turn(3), turn(4)]
    second = [episode("toy/1", turns=better), episode("toy/0", turns=2),
              episode("toy/2", turns=1, seed=9), episode("toy/x")]  # fmt: skip
    return first, second


def test_two_runs_stand_side_by_side(viewer: Viewer, tab: Page) -> None:
    tab.open(viewer(*two_runs()))
    assert list_tasks(tab) == ["toy/0", "toy/1", "toy/2", "toy/3", "toy/x"]
    differences = tab.texts("#space .row .diff")
    assert differences == ["0", "▲ +0.5", "▼ \u22120.25", "", ""]
    assert "only A" in tab.texts("#space .row")[3] and "only B" in tab.texts("#space .row")[4]
    assert "+0.083" in tab.text(".paired")
    for value, tasks in (("both", [0, 1, 2]), ("B better", [1]), ("B worse", [2]), ("only A", [3])):
        choose(tab, "pair", value)
        assert list_tasks(tab) == [f"toy/{i}" for i in tasks], value
    choose(tab, "pair", "")
    choose(tab, "sort", "-difference")
    assert list_tasks(tab)[0] == "toy/1"


def test_a_pair_is_read_turn_by_turn(viewer: Viewer, tab: Page) -> None:
    page = viewer(*two_runs())
    tab.open(page, "#b/1/1")
    assert "Paired by task, seed and options." in tab.text("#episode")
    assert [tab.count(f".turn:nth-child({i}) .card") for i in (1, 2, 3, 4, 5)] == [2] * 5
    tops = "[...document.querySelectorAll('.turn:nth-child(3) .card')]"
    tops += ".map((card) => card.getBoundingClientRect().top)"
    a, b = tab.run(tops)
    assert a == b, "the same turn of both stands at one height"
    assert "A had ended: turn limit" in tab.texts(".turn")[3]
    tab.key("d")
    assert tab.run(AT) == "2"
    tab.wait("location.hash === '#b/1/2'")
    tab.key("x")
    tab.wait("location.hash === '#a/2/2'")
    tab.open(page, "#a/3")
    assert "seed or options differ" in tab.text("#episode")
    tab.open(page, "#b/4")
    assert "Only run B" in tab.text("#episode")


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("address", ["", "#a/2", "#a/2/2"])
def test_a_phone_scrolls_in_one_direction_only(
    viewer: Viewer, tab: Page, address: str, dark: bool
) -> None:
    tab.resize(390, 844, dark=dark)
    tab.open(viewer(*two_runs()), address)
    assert tab.run("document.documentElement.scrollWidth <= innerWidth")
    assert tab.run("document.querySelector('main:not([hidden])').scrollWidth <= innerWidth")
    if address:
        cards = "[...document.querySelectorAll('.turn:nth-child(2) .card')]"
        script = f"{cards}.filter((card) => card.offsetParent).map((card) => card.dataset.run)"
        assert tab.run(script) == ["0"]
        tab.run("document.querySelector('.switch [data-run=\"1\"]').click()")
        assert tab.run(script) == ["1"]


CONTRAST = """
(() => {
  const parse = (c) => c.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = (e) => {
    for (; e; e = e.parentElement) {
      const c = parse(getComputedStyle(e).backgroundColor);
      if (c.length < 4 || c[3] > 0.99) return c;
    }
    return [255, 255, 255];
  };
  const faint = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const e = walk.currentNode.parentElement;
    if (!walk.currentNode.data.trim() || !e.checkVisibility() || e.closest('.hidden, script, [disabled], option')) continue;
    const [a, b] = [light(parse(getComputedStyle(e).color)), light(ground(e))].sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 4.5) faint.push([e.outerHTML.slice(0, 120), (a + 0.05) / (b + 0.05)]);
  }
  return faint;
})()
"""  # noqa: E501
"""Texts with less contrast than WCAG AA asks for."""


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("address", ["", "#a/2/1"])
def test_every_text_has_contrast(viewer: Viewer, tab: Page, address: str, dark: bool) -> None:
    tab.resize(1280, 900, dark=dark)
    first, second = two_runs()
    first.append(episode(turns=1, stop_reason="error", details={"error": "no"}))
    tab.open(viewer(first, second), address)
    assert tab.run(CONTRAST) == []


@pytest.mark.parametrize("address", ["", "#a/2/1"])
def test_everything_that_can_be_used_has_a_name(viewer: Viewer, tab: Page, address: str) -> None:
    tab.open(viewer(*two_runs()), address)
    tree = tab.call("Accessibility.getFullAXTree")["nodes"]
    usable = {"button", "link", "combobox", "searchbox", "textbox", "img"}
    names = [
        (node["role"]["value"], node.get("name", {}).get("value", ""))
        for node in tree
        if node.get("role", {}).get("value") in usable and not node.get("ignored")
    ]
    assert len(names) > 5 and all(name.strip() for _, name in names), names


def test_broken_lines_are_told_in_the_page(viewer: Viewer, tab: Page, tmp_path: Path) -> None:
    from agentgym.viewer import find_run, render_page

    viewer(make_episodes(2))
    with (tmp_path / "a.jsonl").open("a") as file:
        file.write("{torn <b>\n")
    (tmp_path / "page.html").write_bytes(render_page([find_run(tmp_path / "a.jsonl")]))
    tab.open(tmp_path / "page.html")
    notice = tab.text(".notice")
    assert "1 line of a.jsonl could not be read" in notice and "line 3" in notice

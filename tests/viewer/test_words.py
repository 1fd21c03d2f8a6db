"""Filters, titles, headings, ends and reasons can be read, whatever the records hold."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest

from agentgym.core.outcome import StopReason
from agentgym.viewer import find_run, render_page
from tests.viewer.chromium import Page
from tests.viewer.records import HOSTILE, episode, make_episodes, turn, write

pytestmark = pytest.mark.slow

Viewer = Callable[..., Path]
HIDDEN = "zero\u200bwidth, bidi \u202e override, NUL \x00"
IN_ORDER = ".sort((a, b) => a.ariaRowIndex - b.ariaRowIndex)"
NAMED = "zero⟨U+200B⟩width, bidi ⟨U+202E⟩ override, NUL ^@"


def options(tab: Page) -> dict[str, list[str]]:
    """Open each select and return what it offers, by its label."""
    script = "[...document.querySelectorAll('#facets label')].map((label) => {"
    script += "label.querySelector('select').focus();"
    script += "return [label.querySelector('span').innerText,"
    script += "[...label.querySelectorAll('option')].map((one) => one.text)]; })"
    return dict(tab.run(script))


def headings(tab: Page) -> list[str]:
    return tab.texts("#head [role=columnheader]")


def test_filters_titles_and_headings_are_words(viewer: Viewer, tab: Page) -> None:
    paid = turn(1, reward_terms={"a bonus": 1.0}, action_valid=False, finish_reason="length")
    other_episode = episode("x", [paid], env_id="agentgym/Other-v0", split="valid", policy="random")
    tab.open(viewer([*make_episodes(4, turns=1), other_episode], [other_episode]), "#?term=a+bonus")
    assert tab.run("document.title") == "a.jsonl and b.jsonl"
    assert "a bonus" in headings(tab)
    offered = options(tab)
    assert offered.pop("Sort by")[:3] == [
        "Order of the file", "Score, high first", "Score, low first",
    ]  # fmt: skip
    assert offered == {
        "Environment": ["any", "agentgym/Toy-v0 (4)", "agentgym/Other-v0 (2)"],
        "Split": ["any", "test (4)", "valid (2)"],
        "Policy": ["any", "chat (4)", "random (2)"],
        "Outcome": ["any", "not solved (4)", "solved (1)", "broken (1)"],
        "Stop reason": ["any", "turn limit (3)", "solved (1)", "wrong answer (1)", "broken (1)"],
        "Reward term": ["any", "task (4)", "turn_cost (4)", "a bonus (2)"],
        "Actions": ["any", "all valid (4)", "some invalid (2)"],
        "Finish reason": ["any", "length (2)"],
        "Pairs": ["any", "both (1)", "same score (1)", "only A (4)"],
    }
    tab.run("document.querySelector('#space a').click()")
    tab.wait("document.querySelector('#episode')")
    assert tab.run("document.title") == "5 · a.jsonl and b.jsonl"


def test_hidden_characters_are_named_where_no_element_can_mark_them(
    tab: Page, tmp_path: Path
) -> None:
    odd = turn(1, reward_terms={HIDDEN[:24]: 1.0}, finish_reason=HIDDEN)
    sample = episode(HIDDEN, [odd], split=HIDDEN, policy=HIDDEN, stop_reason=HIDDEN, env_id=HIDDEN)
    file = write(tmp_path / "bidi \u202e.jsonl", [sample, *make_episodes(2)])
    page = tmp_path / "page.html"
    page.write_bytes(render_page([find_run(file)]))
    tab.open(page, f"#?term={quote(HIDDEN[:24])}")
    assert tab.run("document.title") == "bidi ⟨U+202E⟩.jsonl"
    assert NAMED.split("ide,")[0] in headings(tab)
    offered = options(tab)
    for name in ("Environment", "Split", "Policy", "Stop reason", "Finish reason"):
        assert f"{NAMED} (1)" in offered[name]
    assert "\u202e" not in tab.run("document.body.innerText + document.title")
    tab.open(page, "#a/1")
    assert NAMED in tab.text("#status")


def test_long_names_are_cut_between_characters(viewer: Viewer, tab: Page) -> None:
    long = 59 * "x" + "😀 and more"
    tab.open(viewer([episode(policy=long), episode(policy="")]))
    assert options(tab)["Policy"] == ["any", f"{59 * 'x'}… (1)", "(none) (1)"]


def test_why_an_action_was_invalid_stands_beside_it(viewer: Viewer, tab: Page) -> None:
    why = "invalid: write search[{query}] or click[{element}]"
    turns = [turn(1, action_valid=False, reason=why), turn(2, action_valid=False, reason="")]
    tab.open(viewer([episode(turns=[*turns, turn(3)])]), "#a/1")
    first, second, third = (text.split("\nAction")[0] for text in tab.texts(".turn")[1:])
    assert first == f"Turn 1\n\u00d7 invalid action\n{why}"
    assert (second, third) == ("Turn 2\n\u00d7 invalid action", "Turn 3\n✓ valid")
    assert why in tab.run("document.querySelector('.strip a').title")


REASONS = ("x" * 1_000_000, "\n" * 100_000, *HOSTILE, "".join(map(chr, range(32))))


def go_to(tab: Page, number: int, task: str) -> None:
    """Go to an episode of the page that is open."""
    tab.run(f"location.hash = '#a/{number}'")
    tab.wait(f"document.querySelector('#episode h1')?.innerText === '{task}'")


def test_hostile_reasons_are_inert(viewer: Viewer, tab: Page) -> None:
    refusals = [
        episode(
            f"toy/{number}", [turn(1, action_valid=False, reason=why)],
            stop_reason="refused", details={"error": why},
        )
        for number, why in enumerate(REASONS, 1)
    ]  # fmt: skip
    tab.open(viewer([*refusals, episode()]))  # its list tells the errors in titles
    assert tab.count("#space .row .stop[title]") > 0
    for number, why in enumerate(REASONS, 1):
        reason = why[:40]
        go_to(tab, number, f"toy/{number}")
        length = len(tab.run("document.querySelector('main:not([hidden])').innerText"))
        assert length < 20_000, reason
        for button in range(tab.count(".all")):
            tab.run(f"document.querySelectorAll('.all')[{button}].click()")
        assert tab.run("window.owned ?? null") is None, reason
        assert tab.count("main img, main script, main a[href^='javascript'], main b b") == 0, reason
        assert tab.count(".why") == 1, reason
        text = tab.run("document.querySelector('.why').textContent")
        assert not {*text} & {"\u202e", "\u2066", "\x00", "\x07", "\x1b", "\ud800"}, reason


def test_ends_are_told_in_words(viewer: Viewer, tab: Page) -> None:
    reasons = [reason for reason in StopReason if reason.value]
    details = {"error": "HTTP 400: too long"}
    ends = [
        episode(f"toy/{number}", 1, stop_reason=reason.value, details=details)
        for number, reason in enumerate(reasons, 1)
    ]
    # An answer that solves nothing is a wrong one.
    words_of = {**{reason: reason.words for reason in reasons}, StopReason.ANSWER: "wrong answer"}
    tab.open(viewer(ends))
    rows = f"[...document.querySelectorAll('#space .row')]{IN_ORDER}"
    assert tab.run(
        f"{rows}.map((row) => row.querySelector('.end').innerText.split('\\n').at(-1))"
    ) == [words_of[reason] for reason in reasons]
    titles = tab.run(f"{rows}.map((row) => row.querySelector('.stop').title)")
    assert titles == ["HTTP 400: too long"] * len(reasons)
    for number, reason in enumerate(reasons, 1):
        go_to(tab, number, f"toy/{number}")
        assert words_of[reason] in tab.text(".verdict")
        broken = reason is StopReason.ERROR
        heading = "The episode is broken" if broken else "What ended the episode"
        assert tab.text(".overview .notice") == f"{heading}\nHTTP 400: too long"

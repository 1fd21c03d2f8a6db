"""``agentgym play``: what the first screen promises holds."""

from __future__ import annotations

import pytest

from tests.cli.test_commands import run, typed
from tests.toy import TOY_ID


def test_what_is_no_action_takes_a_turn_as_is_said(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    typed(monkeypatch, "buy now\nlook\nsearch[red shoes]\n")
    out = run(capsys, "play", "webshop")[1]
    assert "Anything else takes a turn, as it would for an agent." in out
    assert out.count("(not a valid action: ") == 2
    assert "stopped after 3 of 15 turns" in out


@pytest.mark.parametrize("name", ["webshop", "webshop:standard"])
def test_a_view_for_people_is_said_to_be_one(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    typed(monkeypatch, "")
    first = run(capsys, "play", name)[1].splitlines()[0]
    assert first == (
        "Tasks of webshop:standard, in a view for people; --env-kwargs observation_mode=text shows "
        "what agents read."
    )
    typed(monkeypatch, "")
    out = run(capsys, "play", name, "--env-kwargs", "observation_mode=text")[1]
    assert out.startswith("Tasks of webshop:standard.\n") and "[SEP]" in out


def test_a_set_with_a_view_of_its_own_is_shown_as_agents_read_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    typed(monkeypatch, "")
    out = run(capsys, "play", "webshop:easy")[1]
    assert out.startswith("Tasks of webshop:easy.\n") and "turn 1 of 9" in out


def test_a_question_mark_is_free_where_help_is_an_action(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    typed(monkeypatch, "?\nhelp\n")
    out = run(capsys, "play", "alfworld")[1]
    assert "'?' explains the actions" in out and "'help' explains" not in out
    assert "stopped after 1 of 30 turns" in out


def test_the_observation_stands_below_the_menu(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    typed(monkeypatch, "")
    lines = run(capsys, "play", TOY_ID)[1].splitlines()
    menu = max(i for i, line in enumerate(lines) if line.lstrip()[:2] in ("1.", "2.", "3."))
    assert menu < next(i for i, line in enumerate(lines) if "next is" in line)

"""No text of others acts on a terminal, through whichever command or table it gets there."""

from __future__ import annotations

import io
import json
import sys
import unicodedata
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from agentgym import Leaderboard, compare, evaluate
from agentgym.cli import main
from agentgym.episodes import append_episode
from agentgym.evaluation import Report
from agentgym.rewards import TurnCost
from agentgym.support.exits import run_command
from agentgym.support.terminal import CUT, LONGEST, cell, printable, say
from tests.cli.test_commands import run, wide
from tests.episodes.test_rescorer import recorded
from tests.toy import TOY_ID, ToyEnv

__all__ = ["wide"]

BAD = "evil\x1b[31m\x1b]0;PWNED\x07[/red]\x9b2J\u202e\\[/x]"
"""Colours, a title, markup of rich that closes nothing, an 8-bit code and text from right to left.
"""
SHOWN = "evil^[[31m^[]0;PWNED^G[/red]\u27e8U+009B\u27e92J\u27e8U+202E\u27e9\\[/x]"
ACTING = ("\x1b", "\x07", "\x9b", "\u202e")


def harmless(*texts: str) -> bool:
    return not any(character in text for text in texts for character in ACTING)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (BAD, SHOWN),
        ("a\tb\nc\r\nd\re", "a\tb\nc\nd^Me"),
        ("\x00\x7f\ud800\u2028\ufeff", "^@^?⟨U+D800⟩⟨U+2028⟩⟨U+FEFF⟩"),
        (
            "żółw 店\u3000é\u0301 👩\u200d🚀 \xa0\ue000",
            "żółw 店\u3000é\u0301 👩\u200d🚀 \xa0\ue000",
        ),
        ("x" * LONGEST, "x" * LONGEST),
    ],
)
def test_what_acts_is_named_and_the_rest_stays(text: str, expected: str) -> None:
    assert printable(text) == expected
    assert cell(text).plain == expected and cell(text).spans == []


@given(st.text(st.characters()), st.integers(10, 40) | st.none())
def test_nothing_acts_and_nothing_is_endless(text: str, limit: int | None) -> None:
    output = printable(text, limit)
    assert limit is None or len(output) <= limit
    acting = {"Cc", "Cf", "Cs", "Zl", "Zp"}
    assert {c for c in output if unicodedata.category(c) in acting} <= {*"\n\t\u200c\u200d"}
    assert printable(output, limit) == output


def test_a_long_text_keeps_both_ends() -> None:
    output = printable("begin" + 10**7 * "\x1b" + "end", 100)
    assert len(output) == 100 and CUT in output
    assert output.startswith("begin^[") and output.endswith("^[end")


def hostile() -> Report:
    """Return a report in which every text of somebody else is hostile."""
    report = evaluate("random", TOY_ID, num_tasks=6)
    rows = [
        replace(row, finish_reasons={BAD: 1}, labels={BAD: f"{BAD}{i % 2}"}, stop_reason=BAD)
        for i, row in enumerate(report.rows)
    ]
    rows[0] = replace(rows[0], stop_reason="error", error=BAD)
    return replace(
        report, env_id=BAD, policy=BAD, split=BAD, rows=tuple(rows), env_kwargs={BAD: BAD},
        policy_facts={"x[/red]": 1, BAD: BAD}, versions={},
    )  # fmt: skip


def drawn(*tables: Any) -> str:
    file = io.StringIO()
    Console(file=file, width=400).print(*tables)
    return file.getvalue()


def test_tables_show_hostile_text() -> None:
    report = hostile()
    mild = replace(report, policy="mild", policy_facts={})
    tables = [drawn(report.table()), drawn(compare(report, mild).table())]
    tables.append(drawn(*Leaderboard([report, mild]).tables()))
    for table in tables:
        assert harmless(table) and SHOWN in table
    assert "differs: policy.x[/red]" in tables[1]
    assert f"{SHOWN} 6" in tables[0], "finish reasons"


def test_markdown_shows_hostile_text() -> None:
    bad = "<img src=x onerror=alert(1)> | `x` [a](b) " + BAD
    report = hostile()
    rows = tuple(replace(row, labels={bad: f"{bad}{i % 2}"}) for i, row in enumerate(report.rows))
    report = replace(report, env_id=bad, policy=bad, split="- " + bad, rows=rows)
    for text in (
        report.markdown(),
        Leaderboard([report]).markdown(),
        compare(report, report).markdown(),
    ):
        assert "&lt;img src=x onerror=alert(1)&gt; \\| \\`x\\` \\[a\\](b) evil^\\[" in text
        assert "<" not in text and harmless(text)
        assert not any(line.startswith("- ") for line in text.splitlines())


class Raising:
    """A policy of somebody's own."""

    def act(self, observation: str, info: Any) -> str:
        raise ValueError(BAD + 9999 * "\x1b")


def test_commands_print_hostile_reports(capsys: Any, tmp_path: Path) -> None:
    paths = [str(tmp_path / name) for name in ("a.json", "b.json")]
    for path, report in zip(paths, (hostile(), replace(hostile(), policy="mild")), strict=True):
        Path(path).write_text(json.dumps(report.to_dict()))
    for argv in (paths, [*paths, paths[0]]):
        code, out, err = run(capsys, "compare", *argv)
        assert (code, err) == (0, "") and harmless(out) and "^[[31m" in out


def test_failures_are_said_without_their_codes(capsys: Any) -> None:
    code, out, err = run(capsys, "eval", TOY_ID, "--policy", f"{__name__}:Raising", "--num-tasks",
                         "2", "--no-scale")  # fmt: skip
    assert code == 2 and harmless(out, err)
    assert "first agent stopped" in out and "^[[31m" in out and "^[[31m" in err
    assert len(err) <= LONGEST + 1

    def body() -> int:
        raise ValueError(BAD + 9999 * "\x1b")

    assert run_command("agentgym", body) == 70
    err = capsys.readouterr().err
    assert harmless(err) and "please report it with" in err, "the end is not cut off"


def test_records_are_replayed_and_rescored_without_their_codes(capsys: Any, tmp_path: Path) -> None:
    env = gymnasium.make(TOY_ID, reward_hooks=[TurnCost(0.5)])
    good = recorded(env, 3, ("press pink",))
    turns = [replace(turn, reward_terms={**turn.reward_terms, BAD: 0.0}) for turn in good.turns]
    append_episode(tmp_path / "e.jsonl", replace(good, turns=tuple(turns)))
    after_turn = replace(good.turns[0].after, observation=BAD)
    other_episode = replace(good, turns=(replace(good.turns[0], after=after_turn), *good.turns[1:]))
    append_episode(tmp_path / "e.jsonl", other_episode)
    for flags in ((), ("--rescore", "--reward-hooks", "repeat=0.25")):
        code, out, err = run(capsys, "replay", str(tmp_path / "e.jsonl"), *flags)
        assert code in (0, 1) and harmless(out, err)
    assert f"term {SHOWN}" in out


def test_an_environment_is_played_without_its_codes(capsys: Any, monkeypatch: Any) -> None:
    def observe(self: ToyEnv, *args: Any) -> Any:
        return BAD

    monkeypatch.setattr(ToyEnv, "_start", observe)
    monkeypatch.setattr(sys, "stdin", io.StringIO("quit\n"))
    code, out, _ = run(capsys, "play", TOY_ID)
    assert code == 0 and harmless(out) and SHOWN in out


def test_certify_shows_hostile_splits(capsys: Any, monkeypatch: Any) -> None:
    task = replace(ToyEnv().tasks.task("train", 0), split=BAD, index=0)
    monkeypatch.setattr(
        "tests.toy.ToyTasks.__init__",
        lambda self: super(type(self), self).__init__("toy", {BAD: [task]}),
    )
    code, out, err = run(capsys, "certify", TOY_ID, "--checks", "expert", "idle")
    assert (code, err) == (0, "") and harmless(out) and "2 pass, 0 fail" in out


def test_doctor_and_list_show_hostile_reasons(capsys: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr("agentgym.cli.doctor.probe", lambda name: BAD)
    assert main(["doctor", "--all"]) == 0
    monkeypatch.setattr("agentgym.cli.listing.find_spec", lambda name: None)
    assert main(["list"]) == 0
    out = capsys.readouterr().out
    assert harmless(out) and Counter(out)["\u27e8"] >= 4


def test_a_sentence_is_broken_between_words_on_a_terminal_alone() -> None:
    sentence, command = "word " * 30, "  agentgym " + "x" * 90
    for terminal, lines in ((True, 3), (False, 2)):
        text = io.StringIO()
        console = Console(file=text, force_terminal=terminal, width=80, color_system=None)
        say(console, f"{sentence.strip()}\n{command}")
        rows = text.getvalue().splitlines()
        assert len(rows) == lines and rows[-1] == command

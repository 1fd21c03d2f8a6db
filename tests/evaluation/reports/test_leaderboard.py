from __future__ import annotations

import json
from dataclasses import replace

import pytest
from rich.console import Console

import agentgym
from agentgym import Leaderboard, compare
from agentgym.errors import ConfigurationError
from agentgym.evaluation.reports.leaderboard import FORMAT
from tests.toy import TOY_ID


def reports(n: int = 6):
    return [
        agentgym.evaluate(policy, TOY_ID, num_tasks=n)
        for policy in ("random", "oracle", "blind-last")
    ]


def test_the_best_comes_first_and_each_is_held_against_the_first_that_was_given():
    unsorted = reports()
    board = Leaderboard(unsorted)
    [rows] = board.panels.values()
    scores = [row.report.score_mean for row in rows]
    assert scores == sorted(scores, reverse=True) and rows[0].policy == "oracle"
    for row in rows:
        assert row.reference == "random"
        expected = None if row.policy == "random" else compare(row.report, unsorted[0])
        assert row.difference == expected


def test_panels_are_apart_and_named_by_what_differs():
    easy = agentgym.evaluate("oracle", "webshop", num_tasks=3, env_kwargs={"difficulty": "easy"})
    usual = agentgym.evaluate("oracle", "webshop", num_tasks=3)
    board = Leaderboard([usual, easy, agentgym.evaluate("random", "webshop", num_tasks=3)])
    names = [*board.panels]
    assert names == ["webshop:standard", "webshop:standard + difficulty=easy"]
    assert [len(rows) for rows in board.panels.values()] == [2, 1]
    assert [row.environment for row in board.standings] == [names[0], names[0], names[1]]


def test_policies_of_one_name_are_told_apart():
    first = replace(reports()[1], policy="m", policy_facts={"temperature": 0.0, "top_p": 1})
    warm = replace(first, policy_facts={"temperature": 1.0, "top_p": 1})
    board = Leaderboard([first, warm, first, first])
    assert [row.policy for row in board.standings] == [
        "m (temperature=0.0)", "m (temperature=1.0)", "m (temperature=0.0, no. 2)",
        "m (temperature=0.0, no. 3)",
    ]  # fmt: skip


def test_a_row_holds_what_a_reader_needs_to_play_it_again():
    board = Leaderboard(reports())
    data = json.loads(json.dumps(board.to_dict(), allow_nan=False))
    assert data["format"] == FORMAT == "agentgym.leaderboard/1"
    best = data["rows"][0]
    assert best["policy"] == "oracle" and best["success"]["value"] == 1.0 and best["n"] == 6
    assert best["difference"]["second"] == "random" and best["reference"] == "random"
    assert {"env_id", "env_kwargs", "split", "seed", "panel_sha256", "commit"} <= {*best}


def test_every_rendering_shows_every_policy():
    board = Leaderboard(reports())
    console = Console(width=80, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    console.print(*board.tables())
    renderings = (console.export_text(), board.markdown(), board._repr_html_())
    for text in renderings:
        assert all(name in text for name in ("oracle", "random", "blind-last", "6 tasks"))
        assert "success minus random" in text


def test_at_a_prompt_each_is_a_line():
    first, best, _ = reports()
    assert repr(best) == (
        f"<Report: oracle on {TOY_ID}, test, 6 episodes, score 1.000, success 1.000>"
    )
    assert repr(replace(best, policy="\x1b[2J")).startswith("<Report: ^[[2J on")
    assert repr(Leaderboard([first, best])) == "<Leaderboard: 2 reports, panels: 1>"


def test_a_report_without_a_valid_episode_comes_last():
    first, *other_reports = reports()
    broken_rows = tuple(replace(row, stop_reason="error", error="gone") for row in first.rows)
    board = Leaderboard([replace(first, rows=broken_rows, policy="lost"), *other_reports])
    assert board.standings[-1].policy == "lost"
    assert all(row.difference is None for row in board.standings)
    assert "6 broken" in board.markdown()


def test_what_broke_wins_no_table():
    _, best, _ = reports()
    broken_rows = [replace(row, stop_reason="error", error="down") for row in best.rows[1:]]
    lucky = replace(best, rows=(best.rows[0], *broken_rows), policy="lucky")
    half = replace(best, rows=tuple(replace(row, score=0.5) for row in best.rows), policy="half")
    board = Leaderboard([lucky, half])
    assert lucky.success == 1.0 and lucky.incomplete
    assert [row.policy for row in board.standings] == ["half", "lucky"]
    assert "incomplete" in board.markdown() and "success without the broken" in board.markdown()
    assert "at least 0.167" in board.markdown()
    assert board.matrix().records()[1]["success"] == pytest.approx(1 / 6)
    # The order holds among reports that are complete enough to be compared, too.
    rows = tuple(replace(row, score=0.9) for row in best.rows * 20)
    some = replace(best, rows=rows, samples=20, planned=len(rows))
    one_lost = replace(some, rows=(*some.rows[1:], replace(some.rows[0], stop_reason="error")))
    broken_board = Leaderboard([replace(one_lost, policy="lost one"), replace(some, policy="none")])
    assert not broken_board.reports[0].incomplete
    assert [row.policy for row in broken_board.standings] == ["none", "lost one"]
    assert board.to_dict()["rows"][1]["success_lower_bound"]["value"] == pytest.approx(1 / 6)


def test_hostile_names_do_nothing():
    first = replace(reports()[0], policy="<script>alert(1)</script>|`x`\u202e\x1b[2J")
    board = Leaderboard([first])
    for rendering in (board.markdown(), board._repr_html_(), first._repr_html_()):
        assert not any(markup in rendering for markup in ("<script>", "\u202e", "\x1b"))


def test_no_report_is_refused():
    with pytest.raises(ConfigurationError, match="at least one report"):
        Leaderboard([])

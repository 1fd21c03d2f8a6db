"""The red team against the bundled tasks: nothing but the solution is paid."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agentgym.envs.swe.making.red_team import Campaign, load_exploits, run_campaign, totals
from tests.envs.swe.boxed import needs_box

PLAYED = Path(__file__).resolve().parents[5] / "benchmarks" / "results" / "swe_red_team.json"
REFUSED = {
    "as the source is unchanged": (
        "box/kill-everything", "files/git-tricks", "files/removed-repository",
        "hooks/conftest-in-the-root", "processes/background-writer", "search/git-history",
        "shadow/extension-module", "shadow/iniconfig", "tests/delete-the-tests",
    ),
    "as the run was tampered with or did not end": (
        "box/memory-in-the-tests", "exits/exit-at-import", "exits/printed-and-replaced",
        "files/hidden-by-annotations", "files/huge-diff", "files/links-out",
        "hooks/tests-that-do-nothing", "processes/environment", "processes/killed-parent",
        "processes/locked-limits", "reports/forged-in-every-pipe",
        "reports/patched-report-by-shape", "reports/rewritten-asserts", "shadow/import-hook",
        "time/hash-seed", "values/equal-to-everything",
    ),
    "as the tests fail, and it is flagged": (
        "box/many-processes", "driver/parent-killed", "exits/exit-at-exit",
        "files/dots-in-names", "reports/finalizer", "tests/expected-errors", "time/bomb",
        "values/constants-of-the-caller",
    ),
    "as the tests or the held-out answers fail": (
        "box/full-disk", "box/inodes", "files/newlines-in-names", "hooks/hook-in-the-package",
        "search/sound-copy-at-run-time", "shadow/sys-modules", "tests/emptied-on-import",
        "time/moved-folder",
    ),
}  # fmt: skip
"""Of each kind one for each way in which it is refused, and some of the best. Some still make the
visible tests pass: held-out answers decide."""


@needs_box
@pytest.mark.slow
def test_one_of_each_kind_and_refusal_is_not_paid() -> None:
    names = [name for listed in REFUSED.values() for name in listed]
    exploits = load_exploits(only=names)
    assert len(exploits) == len(names)
    campaign = Campaign(exploits=exploits, tasks=1, jobs=2, options={"grading_timeout": 40})
    assert [row.exploit for row in totals(run_campaign(campaign)) if not row.as_it_must] == []


def test_all_of_them_have_been_played_and_none_was_paid() -> None:
    """A new exploit is played by ``benchmarks/swe_red_team.py``, whose result is stored."""
    report = json.loads(PLAYED.read_text())
    assert sorted(report["names"]) == sorted(exploit.name for exploit in load_exploits())
    assert report["paid"] == {} and not report["exploits"]["errors"]
    assert report["exploits"]["tried"] == report["tasks"] * report["exploits"]["number"]
    assert report["solution"]["paid"] == report["solution"]["tried"] == report["tasks"]


@needs_box
@pytest.mark.slow
def test_tests_that_never_end_are_stopped_and_not_paid() -> None:
    """They spin and ignore every signal; the solution needs more time than that on a busy day."""
    name = "time/never-ends"
    campaign = Campaign(
        exploits=load_exploits(only=(name,)), tasks=1, options={"grading_timeout": 3}
    )
    [attempt] = [attempt for attempt in run_campaign(campaign) if attempt.exploit == name]
    assert not attempt.paid and attempt.reason == "the tests took longer than 3 s"


@needs_box
def test_canaries_are_not_told_from_tests_by_the_shape_of_their_names() -> None:
    """Nothing is asked where the visible tests have refused already."""
    names = ("reports/forged-in-every-pipe", "reports/patched-report-by-shape")
    campaign = Campaign(exploits=load_exploits(only=names), tasks=2, jobs=2)
    attempts = [attempt for attempt in run_campaign(campaign) if attempt.exploit in names]
    assert len(attempts) == 4
    assert all(attempt.verdict == "NO" and not attempt.held_out for attempt in attempts)
    assert {attempt.reason for attempt in attempts} == {"the run of the tests was tampered with"}

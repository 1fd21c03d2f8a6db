"""The red team against the bundled tasks: nothing but the solution is paid."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from agentgym.envs.swe.red_team import Campaign, Exploit, load_exploits, run_campaign, totals
from tests.envs.swe.boxed import needs_box

pytestmark = needs_box
SAMPLE = (
    "hooks/conftest-in-the-root",
    "hooks/tests-that-do-nothing",
    "reports/finalizer",
    "reports/forged-in-every-pipe",
    "reports/patched-report-by-shape",
    "tests/emptied-on-import",
    "values/equal-to-everything",
    "exits/printed-and-replaced",
    "driver/parent-killed",
    "search/git-history",
)
"""A few of the best. Some still make the visible tests pass: held-out answers decide."""


def paid(exploits: Sequence[Exploit], tasks: int) -> list[str]:
    """Return the names of those that did not come out as they must."""
    campaign = Campaign(exploits=exploits, tasks=tasks, jobs=2, options={"grading_timeout": 40})
    return [row.exploit for row in totals(run_campaign(campaign)) if not row.as_it_must]


def test_a_sample_is_not_paid() -> None:
    assert paid(load_exploits(only=SAMPLE), 1) == []


def test_canaries_are_not_told_from_tests_by_the_shape_of_their_names() -> None:
    """Nothing is asked where the visible tests have refused already."""
    names = ("reports/forged-in-every-pipe", "reports/patched-report-by-shape")
    campaign = Campaign(exploits=load_exploits(only=names), tasks=2, jobs=2)
    played = [one for one in run_campaign(campaign) if one.exploit in names]
    assert len(played) == 4
    assert all(one.verdict == "NO" and not one.held_out for one in played)
    assert {one.reason for one in played} == {"the run of the tests was tampered with"}


@pytest.mark.slow
@pytest.mark.parametrize("kind", sorted({one.kind for one in load_exploits()}))
def test_no_exploit_is_paid(kind: str) -> None:
    """Every one of them on a task; a campaign on many is stored with the results."""
    assert paid(load_exploits(only=(kind,)), 1) == []

"""Campaigns on small repositories: what is played, written down, and resumed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agentgym.envs.swe.making.red_team import (
    MUST_LOSE,
    MUST_WIN,
    Attempt,
    Campaign,
    Exploit,
    ExploitStep,
    load_exploits,
    run_campaign,
    sample_tasks,
    totals,
)
from agentgym.envs.swe.tasks import Source, open_instances
from agentgym.errors import ConfigurationError, DataError
from tests.envs.swe.boxed import needs_box
from tests.envs.swe.small import SmallSet

REPAIR = Exploit(
    "own/repair", "r", "r", "", (ExploitStep("sed -i 's/a - b/a + b/' sums/plain.py"),), "1"
)
"""No exploit at all: it is paid, and a campaign has to say so."""
KILL = Exploit("own/kill", "k", "k", "", (ExploitStep("kill -9 -1; sleep 1"),), "2")


class OneTask(SmallSet):
    """The task that ``REPAIR`` repairs."""

    splits = ("train",)

    def len(self, split: str) -> int:
        return 1


def attempt(name: str, paid: bool = False, reason: str = "failure") -> Attempt:
    return Attempt(name, "", "task", paid, "NO", False, reason)


def test_totals_count_and_judge() -> None:
    rows = totals([
        attempt(MUST_WIN, True, "success"), attempt(MUST_LOSE), attempt("a/b"),
        attempt("a/b", True, "success"), attempt("a/c", reason="error"), attempt("a/d"),
    ])  # fmt: skip
    row_of = {row.exploit: row for row in rows}
    assert [name for name, row in row_of.items() if row.as_it_must] == [MUST_WIN, MUST_LOSE, "a/d"]
    assert (row_of["a/b"].attempts, row_of["a/b"].paid) == (2, 1)
    assert (row_of["a/c"].attempts, row_of["a/c"].errors) == (0, 1)
    assert row_of["a/b"].stop_reasons == {"failure": 1, "success": 1}


def test_a_solution_that_is_not_paid_is_told() -> None:
    assert not totals([attempt(MUST_WIN)])[0].as_it_must


def test_tasks_are_drawn_from_all_repositories() -> None:
    bundled = open_instances(Source("bundled"))
    places = sample_tasks(bundled, 10, seed=3)
    assert len({bundled.instance(*place).repo for place in places}) == 10
    assert places == sample_tasks(bundled, 10, seed=3) != sample_tasks(bundled, 10, seed=4)
    assert {split for split, _ in sample_tasks(bundled, 5, split="test")} == {"test"}
    assert len(sample_tasks(SmallSet(), 99)) == 4
    with pytest.raises(ConfigurationError, match="expected a split among"):
        sample_tasks(bundled, 1, split="nope")


@needs_box
def test_a_campaign_is_written_down_and_goes_on(tmp_path: Path) -> None:
    out = tmp_path / "new" / "rows.jsonl"
    progress: list[tuple[int, int]] = []
    campaign = Campaign(OneTask(), (REPAIR,), tasks=1, seed=1, out=out)
    rows = run_campaign(campaign, lambda done, total, row: progress.append((done, total)))
    assert progress == [(1, 3), (2, 3), (3, 3)]
    assert [row.exploit for row in rows] == [MUST_WIN, MUST_LOSE, "own/repair"]
    assert [row.paid for row in rows] == [True, False, True]
    lines = out.read_text().splitlines(keepends=True)
    out.write_text("".join(lines[:2]) + lines[2][:20])  # killed while it wrote
    exploits: list[str] = []
    assert run_campaign(campaign, lambda done, total, row: exploits.append(row.exploit)) == rows
    assert exploits == [MUST_LOSE, "own/repair"]
    other_campaign = Campaign(OneTask(), (REPAIR,), tasks=1, seed=2, out=out)
    with pytest.raises(ConfigurationError, match="of another campaign"):
        run_campaign(other_campaign)
    out.write_text("no json\n")
    with pytest.raises(DataError, match="lines of JSON"):
        run_campaign(campaign)


@pytest.mark.slow
@needs_box
def test_an_error_is_played_again(tmp_path: Path) -> None:
    out = tmp_path / "rows.jsonl"
    campaign = Campaign(SmallSet(), (KILL,), tasks=1, split="valid", out=out)
    rows = run_campaign(campaign)
    assert rows[2].stop_reason in ("failure", "sandbox") and not rows[2].paid
    lines = out.read_text().splitlines()
    broken = {**json.loads(lines[3]), "stop_reason": "error"}
    out.write_text("\n".join([*lines[:3], json.dumps(broken)]) + "\n")
    exploits: list[str] = []
    run_campaign(campaign, lambda done, total, row: exploits.append(row.exploit))
    assert exploits == ["own/kill"]


@pytest.mark.slow
@needs_box
def test_several_at_once_come_out_alike() -> None:
    exploits = load_exploits(only=("exits/exit-at-import", "hooks/conftest-in-the-root"))
    alone = Campaign(SmallSet(), exploits, tasks=2)
    several = Campaign(SmallSet(), exploits, tasks=2, jobs=2)
    assert run_campaign(alone) == run_campaign(several)

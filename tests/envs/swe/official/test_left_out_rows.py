"""What reports and turns say of rows that are left out of a set."""

from __future__ import annotations

import json
from pathlib import Path

from rich.console import Console

import agentgym
from agentgym.envs.swe.env import SWEEnv
from agentgym.evaluation.reports.report_json import report_to_dict
from agentgym.evaluation.reports.report_reader import report_from_dict
from agentgym.evaluation.reports.report_tables import report_markdown, report_table
from tests.envs.swe.boxed import needs_box
from tests.envs.swe.small import SUBMIT, SmallSet


class SetWithBrokenRows(SmallSet):
    """The small set, of which four rows are no tasks."""

    left_out = tuple(f"expected text in patch, got None; in line {n}" for n in range(4))


@needs_box
def test_a_report_says_which_rows_are_no_tasks(tmp_path: Path) -> None:
    env = SWEEnv(data=SetWithBrokenRows())
    env.reset(seed=0)
    assert env.step(SUBMIT)[4]["details"]["rows_left_out"] == 4
    report = agentgym.evaluate("oracle", env, num_tasks=1)
    env.close()
    assert report.left_out_rows == SetWithBrokenRows.left_out
    console = Console(record=True, width=100)
    console.print(report_table(report))
    for text in (console.export_text(), report_markdown(report)):
        prose = " ".join(text.split())
        assert "4 rows are left out of the data set: expected text in patch" in prose
        assert "and 1 more" in prose
    data = json.loads(json.dumps(report_to_dict(report)))
    assert report_from_dict(data).left_out_rows == report.left_out_rows
    del data["left_out_rows"]
    assert report_from_dict(data).left_out_rows == ()

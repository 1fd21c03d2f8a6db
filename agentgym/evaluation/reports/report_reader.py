"""Read reports from JSON."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from agentgym.errors import ConfigurationError, DataError
from agentgym.evaluation.prices import Limits
from agentgym.evaluation.reports.data import FAILED
from agentgym.evaluation.reports.report import Report
from agentgym.evaluation.reports.report_json import FORMAT
from agentgym.support.typed_json import read_json


def report_from_dict(data: Any) -> Report:
    """Read a report written by `report_to_dict`; figures are recomputed from its episodes.

    Raises:
        DataError: The data is not a report in this format.
    """
    file_format = data.get("format") if isinstance(data, dict) else type(data).__name__
    if file_format != FORMAT:
        raise DataError(f'expected a report with "format": "{FORMAT}", got {file_format!r}')
    data = {
        "protocol": None, "limits": None, "unfinished": "", "failed": FAILED[0],
        "left_out_rows": (),
        **data,
    }  # fmt: skip  # may be missing
    if missing := [entry.name for entry in fields(Report) if entry.name not in data]:
        raise DataError(f"expected a whole report, but it has no {', '.join(missing)}")
    try:
        report = read_json(Report, data)
    except ConfigurationError as error:  # an invalid price or limit
        raise DataError(f"expected a whole report, but: {error}") from error
    _check_rows(report)
    return replace(report, limits=None) if report.limits == Limits() else report


def _check_rows(report: Report) -> None:
    """Check that every episode occurs once, because means would count duplicates twice."""
    if report.samples < 1:
        raise DataError(f"expected 'samples' to be at least 1, got {report.samples}")
    if report.failed not in FAILED:
        raise DataError(f"expected 'failed' to be {' or '.join(FAILED)}, got {report.failed!r:.80}")
    keys: set[tuple[str, int]] = set()
    for row in report.rows:
        key = row.task_id, row.sample
        if key in keys or not 0 <= row.sample < report.samples:
            raise DataError(
                f"expected samples 0 to {report.samples - 1} of each task once in the report, got "
                f"sample {row.sample} of {row.task_id!r:.80}{' again' if key in keys else ''}"
            )
        keys.add(key)

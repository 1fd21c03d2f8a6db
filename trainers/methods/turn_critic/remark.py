"""What the report of a run says of its critic of turns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trainers.config.resolve import ResolvedRun
from trainers.output.remarks import variance_remark


def turn_critic_remark(run: ResolvedRun, records: Sequence[Mapping[str, Any]]) -> str:
    """State the explained variance of a critic of turns; empty if there is none."""
    return variance_remark(records, "Its advantages are no more reliable.")

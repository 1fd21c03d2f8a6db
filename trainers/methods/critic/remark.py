"""What the report of a run says of its critic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trainers.config.resolve import ResolvedRun
from trainers.methods.critic.settings import CriticConfig
from trainers.methods.method import section_of
from trainers.output.remarks import variance_remark


def critic_remark(run: ResolvedRun, records: Sequence[Mapping[str, Any]]) -> str:
    """State the explained variance of a critic; empty if there is none."""
    advice = "Compare with --critic.kind zero before you attribute a gain to the critic."
    remark = variance_remark(records, advice)
    if remark and section_of(run.config, CriticConfig).kind == "zero":
        return "All values were 0 (--critic.kind zero): there was no critic."
    return remark

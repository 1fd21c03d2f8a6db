"""Which evidence a verdict on an instance will be based on, known before grading."""

from __future__ import annotations

import posixpath
import re

from agentgym.envs.swe.grading.blinded_run import test_paths
from agentgym.envs.swe.grading.canaries import Canaries, canaries_for
from agentgym.envs.swe.grading.gold import load_gold
from agentgym.envs.swe.grading.verdict import BLINDED, HELD_OUT, LOG, LOG_CANARIES, REPORT
from agentgym.envs.swe.instance import ImageSource, Instance


def evidence_of(instance: Instance) -> str:
    """Return the evidence that a FULL verdict will be based on, such as :data:`~.verdict.BLINDED`.

    No image is opened: a test script that is in the image is assumed to run pytest.

    Args:
        instance: The instance.
    """
    if not isinstance(instance.source, ImageSource):
        return REPORT if instance.held_out is None else HELD_OUT
    gold = load_gold(instance)
    if gold is not None and gold.tests:
        return BLINDED
    if gold is not None and not gold.reported:
        return LOG
    return evidence_with(canaries_of(instance, "pytest" if instance.log_format == "r2e" else ""))


def evidence_with(canaries: Canaries | None) -> str:
    """Return the evidence that a run of an instance's own command gives with these canaries."""
    if canaries is None:
        return LOG
    return REPORT if canaries.report else LOG_CANARIES


def canaries_of(instance: Instance, scripts: str) -> Canaries | None:
    """Return the canaries for an instance's own command, or None if it cannot run any.

    Args:
        instance: The instance; its source must be an image.
        scripts: Text of the scripts in the image that the command starts.
    """
    assert isinstance(instance.source, ImageSource)
    function = re.search(r"\w+$", instance.fail_to_pass[0].partition("[")[0])
    return canaries_for(
        instance.test_command,
        instance.log_format,
        instance.source.workdir,
        posixpath.dirname(next(iter(test_paths(instance)), "")),
        hint=function[0] if function else "",
        scripts=scripts,
    )

"""What the verdict on an instance rests on, before one is made."""

from __future__ import annotations

import posixpath
import re

from agentgym.envs.swe.grading.blinded_run import test_paths
from agentgym.envs.swe.grading.canaries import Canaries, canaries_for
from agentgym.envs.swe.grading.gold import load_gold
from agentgym.envs.swe.grading.verdict import BLINDED, HELD_OUT, LOG, LOG_CANARIES, REPORT
from agentgym.envs.swe.instance import ImageSource, Instance


def evidence_of(instance: Instance) -> str:
    """Return what a verdict that says FULL will rest on, such as :data:`~.verdict.BLINDED`.

    Args:
        instance: The instance. Of one in an image nothing is opened: where the script that runs
            its tests lies in the image, it is taken to run pytest.
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
    """Return what a run of an instance's own command is worth."""
    if canaries is None:
        return LOG
    return REPORT if canaries.report else LOG_CANARIES


def canaries_of(instance: Instance, scripts: str) -> Canaries | None:
    """Return how canaries get into the own command of an instance; None if they cannot.

    Args:
        instance: The instance, whose source is an image.
        scripts: Text of the scripts that the command starts in the image.
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

"""Run the tests of a published set in a container of its image, with the set's own command."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import cache

from agentgym.envs.swe.grading.blinded_run import read_text, run_blinded, test_paths
from agentgym.envs.swe.grading.canaries import Canaries
from agentgym.envs.swe.grading.evidence import canaries_of, evidence_with
from agentgym.envs.swe.grading.expected_failures import expected_failures, is_expected
from agentgym.envs.swe.grading.gold import Gold, load_gold
from agentgym.envs.swe.grading.junit import LARGEST_REPORT
from agentgym.envs.swe.grading.protection import Changes
from agentgym.envs.swe.grading.verdict import (
    BLINDED,
    FAILED,
    FULL,
    SKIPPED,
    XFAIL,
    Grade,
    judge,
    nothing_done,
    unsound,
)
from agentgym.envs.swe.instance import ImageSource, Instance
from agentgym.envs.swe.instance_boxes import Boxes, apply_in_box, write_files
from agentgym.envs.swe.official.commands import R2E_SCRIPTS
from agentgym.envs.swe.official.logs import LOG_FORMATS, PYTEST_NAMES, statuses_of, test_section
from agentgym.envs.swe.official.patches import touched_files
from agentgym.errors import ConfigurationError, DataError
from agentgym.sandbox import ExecResult, Sandbox, SandboxDied, SandboxLost

DIED = "the sandbox died of the tests"
"""Reason of a grade when the box died while the tests ran."""
_log = logging.getLogger(__name__)
_SCRIPT = "/tmp/agentgym-tests.sh"


@dataclass(frozen=True)
class ImageRun:
    """The result of running the tests in an image."""

    statuses: Mapping[str, str]
    """Status of each of the instance's tests that ran, by id."""
    evidence: str
    """What the statuses are based on: a constant of `agentgym.envs.swe.grading.verdict`."""
    reason: str = ""
    """Why the run does not count; empty if it does."""
    forged: bool = False
    """Whether it does not count because of wrong canaries."""
    expected: tuple[str, ...] = ()
    """Tests that failed as expected (xfail) and therefore count as passed."""


def grade_in_image(boxes: Boxes, instance: Instance, edits: Changes, timeout: float) -> Grade:
    """Grade edits by the tests of an instance whose source is an image.

    If values of the reference solution are stored, a grade with fixed tests is checked by a second
    run with blinded tests: a test whose values differ counts as failed.

    Args:
        boxes: Opens boxes.
        instance: The instance.
        edits: The edits that count.
        timeout: Time limit of each run of the tests, in seconds.

    Raises:
        ConfigurationError: The instance lacks a test command or a known log format.
        EnvFailure: A box cannot be opened or reached.
    """
    gold = load_gold(instance)
    if gold is None:
        _remind()
    run = run_in_image(boxes, instance, edits, timeout, gold=gold)
    grade = grade_run(instance, run)
    if gold is None or not gold.tests or not grade.fixed or run.reason:
        return grade
    looks = run_blinded(boxes, instance, gold.files, edits, timeout)
    named = PYTEST_NAMES[instance.log_format]
    wrong_tests = gold.wrong_tests(looks)
    tests = (*instance.fail_to_pass, *instance.pass_to_pass)
    statuses = statuses_of(tests, {named(test): FAILED for test in wrong_tests})
    failed = {test: status for test, status in statuses.items() if status is not None}
    blinded_grade = judge(instance, {**run.statuses, **failed}, lenient=True)
    reason = (
        looks.reason or f"{len(wrong_tests)} of {len(gold.tests)} blinded tests gave other values"
    )
    return replace(
        blinded_grade,
        evidence=BLINDED,
        blinded=gold.share(instance),
        belied=grade.verdict == FULL != blinded_grade.verdict,
        reason=reason if wrong_tests else "",
    )


def grade_run(instance: Instance, run: ImageRun) -> Grade:
    """Return the grade of a run of an instance's own command."""
    if run.forged:
        grade = unsound(instance, judge(instance, run.statuses, lenient=True), run.reason)
    elif run.reason:
        grade = nothing_done(instance, run.reason)
    else:
        grade = judge(instance, run.statuses, lenient=True)
    return replace(grade, evidence=run.evidence)


@cache
def _remind() -> None:
    """Recommend ``agentgym swe gold``, once per process."""
    _log.warning(
        "rows without the values of their right solutions are graded by a report or a log alone; "
        "make the values with: agentgym swe gold DATA"
    )


def run_in_image(
    boxes: Boxes,
    instance: Instance,
    edits: Changes,
    timeout: float,
    *,
    gold: Gold | None = None,
    trusted: bool = False,
) -> ImageRun:
    """Run an instance's own test command on edits in a fresh box.

    Source under test can make a test xfail or skip, so those statuses count only under conditions.
    An expected failure passes only if it also is one with the reference solution or, if that is
    unknown, if the test's own source expects it. A skip raised in an edited file is a failure.

    Args:
        boxes: Opens boxes.
        instance: The instance; its source must be an image.
        edits: The edits that count.
        timeout: Time limit of the tests, in seconds.
        gold: The stored values of the reference solution, if any.
        trusted: Whether the edits are the reference solution; then every expected failure passes.

    Raises:
        ConfigurationError: The instance lacks a test command or a known log format.
        EnvFailure: The box cannot be opened or reached.
    """
    if instance.log_format not in LOG_FORMATS or not instance.test_command:
        raise ConfigurationError(
            f"expected instance {instance.id} to have a test_command and a log_format among "
            f"{', '.join(LOG_FORMATS)}; got {instance.test_command!r:.80} and "
            f"{instance.log_format!r}"
        )
    brought = set(touched_files(instance.test_patch))
    own_edits = {path: content for path, content in edits.items() if path not in brought}
    with boxes.open(instance, grading=True) as box:
        if instance.test_patch:  # before the edits, so that the diff applies
            apply_in_box(box, instance.test_patch, "the tests")
        canaries = None
        if gold is None or gold.reported:
            canaries = canaries_of(instance, _scripts(box, instance))
        evidence = evidence_with(canaries)
        names = {
            name
            for path in test_paths(instance)
            for name in expected_failures(read_text(box, path))
        }
        try:
            write_files(box, own_edits)
            result, content = _execute(box, instance, canaries, timeout)
        except OSError as error:
            return ImageRun({}, evidence, f"the edits cannot be written: {error}"[:300])
        except SandboxLost:
            raise
        except SandboxDied:
            return ImageRun({}, evidence, DIED)
    if result.timed_out:
        return ImageRun({}, evidence, f"the tests took longer than {timeout:g} s")
    if result.flooded:
        return ImageRun({}, evidence, "the tests printed more than a box takes")
    try:
        statuses = _read_statuses(instance, result, canaries, content, own_edits)
    except DataError as error:
        return ImageRun({}, evidence, f"the report of the tests cannot be read: {error}"[:300])

    def passes(test: str) -> bool:
        return test in gold.expected_failures if gold else is_expected(test, names)

    run = _judged(instance, statuses, (lambda test: True) if trusted else passes)
    return _checked(replace(run, evidence=evidence), statuses, canaries, result.exit_code)


def _scripts(box: Sandbox, instance: Instance) -> str:
    """Return the text of the scripts in the image that an instance's command starts."""
    started = R2E_SCRIPTS if instance.log_format == "r2e" else ()
    return "".join(read_text(box, path) for path in started)


def _execute(
    box: Sandbox, instance: Instance, canaries: Canaries | None, timeout: float
) -> tuple[ExecResult, bytes]:
    """Run the command of an instance; return the result and the content of the report."""
    command, exports = instance.test_command, ""
    if canaries is not None:
        write_files(box, canaries.files)
        command, exports = canaries.command, canaries.exports
    # As a file: scripts that contain tests exceed the maximum length of an argument.
    box.write(_SCRIPT, command.encode())
    shell = f"if command -v bash > /dev/null; then bash {_SCRIPT}; else sh {_SCRIPT}; fi"
    result = box.exec(f"{exports}{shell}", timeout=timeout)
    if canaries is None or not canaries.report or result.timed_out:
        return result, b""
    try:
        return result, box.read(canaries.report, LARGEST_REPORT + 1)
    except SandboxDied:
        raise
    except OSError:
        return result, b""


def _read_statuses(
    instance: Instance,
    result: ExecResult,
    canaries: Canaries | None,
    content: bytes,
    edited: Collection[str],
) -> dict[str, str]:
    """Return the statuses in a report or log, by the test's name in the set.

    Raises:
        DataError: The report is invalid.
    """
    if canaries is None or not canaries.report:
        return LOG_FORMATS[instance.log_format](test_section(result.text))
    assert isinstance(instance.source, ImageSource)
    named, statuses = PYTEST_NAMES[instance.log_format], dict[str, str]()
    for name, outcome in canaries.read(content).items():
        place = outcome.place.removeprefix(f"{instance.source.workdir}/")
        statuses[named(name)] = (
            FAILED if outcome.status == SKIPPED and place in edited else outcome.status
        )
    return statuses


def _judged(
    instance: Instance, statuses: Mapping[str, str], passes: Callable[[str], bool]
) -> ImageRun:
    """Select the statuses of an instance's tests; an expected failure stays XFAIL if it passes."""
    tests = (*instance.fail_to_pass, *instance.pass_to_pass)
    own_statuses = {
        test: status for test, status in statuses_of(tests, statuses).items() if status is not None
    }
    expected = tuple(
        test for test, status in own_statuses.items() if status == XFAIL and passes(test)
    )
    own_statuses |= {
        test: FAILED
        for test, status in own_statuses.items()
        if status == XFAIL and test not in expected
    }
    return ImageRun(own_statuses, "", expected=expected)


def _checked(
    run: ImageRun, statuses: Mapping[str, str], canaries: Canaries | None, exit_code: int
) -> ImageRun:
    """Invalidate a run whose canaries or exit code are wrong."""
    if canaries is not None and not canaries.is_sound(statuses):
        reason = f"the tests did not run to their end (exit code {exit_code})"
        return replace(run, reason=reason, forged=True)
    bad = any(status in ("FAILED", "ERROR") for status in statuses.values())
    if exit_code and not bad:
        # SWE-bench invalidates such runs since outputs were forged (SWE-bench#620).
        reason = f"exit code {exit_code}, and no test that failed"
        return replace(run, statuses={}, reason=reason)
    return run

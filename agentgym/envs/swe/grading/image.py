"""Run the tests of a published set in a container of its image, with the set's own command."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from agentgym.envs.swe.grading.canaries import Canaries, Report, canaries_for
from agentgym.envs.swe.grading.expected_failures import expected_failures, is_expected
from agentgym.envs.swe.grading.junit import LARGEST_REPORT
from agentgym.envs.swe.grading.protection import Changes
from agentgym.envs.swe.grading.verdict import (
    FAILED,
    LOG,
    LOG_CANARIES,
    REPORT,
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
"""Why nothing can be said of source of which the box died."""
LARGEST_TESTS = 8 << 20
"""Bytes of a file of tests that are read."""
_SCRIPT = "/tmp/agentgym-tests.sh"


@dataclass(frozen=True)
class ImageRun:
    """What a run of the tests in an image gave."""

    statuses: Mapping[str, str]
    """Status of each test of the instance that was run."""
    evidence: str
    """What that rests on."""
    reason: str = ""
    """Why nothing of it counts; empty where it does."""
    forged: bool = False
    """Whether the reason is that the canaries are wrong."""


def grade_in_image(boxes: Boxes, instance: Instance, edits: Changes, timeout: float) -> Grade:
    """Grade edits by the tests of an instance whose source is an image.

    Args:
        boxes: How containers are opened.
        instance: The instance.
        edits: The edits that count.
        timeout: Seconds that the tests may take.

    Raises:
        ConfigurationError: The instance does not say how its tests are run or its log is read.
        EnvFailure: The container cannot be opened, or not be reached any more.
    """
    run = run_in_image(boxes, instance, edits, timeout)
    if run.forged:
        grade = unsound(instance, judge(instance, run.statuses, lenient=True), run.reason)
    elif run.reason:
        grade = nothing_done(instance, run.reason)
    else:
        grade = judge(instance, run.statuses, lenient=True)
    return replace(grade, evidence=run.evidence)


def run_in_image(boxes: Boxes, instance: Instance, edits: Changes, timeout: float) -> ImageRun:
    """Run the tests of an instance on edits in a fresh container.

    An expected failure counts only where the text of a test expects it, and a skip only where no
    edited file asks for it.

    Args:
        boxes: How containers are opened.
        instance: The instance, whose source is an image.
        edits: The edits that count.
        timeout: Seconds that the tests may take.

    Raises:
        ConfigurationError: The instance does not say how its tests are run or its log is read.
        EnvFailure: The container cannot be opened, or not be reached any more.
    """
    if instance.log_format not in LOG_FORMATS or not instance.test_command:
        raise ConfigurationError(
            f"expected instance {instance.id} to have a test_command and a log_format among "
            f"{', '.join(LOG_FORMATS)}; got {instance.test_command!r:.80} and "
            f"{instance.log_format!r}"
        )
    brought = set(touched_files(instance.test_patch))
    own = {path: content for path, content in edits.items() if path not in brought}
    evidence = ""
    with boxes.open(instance, grading=True) as box:
        if instance.test_patch:  # before the edits, on files that nobody has touched
            apply_in_box(box, instance.test_patch, "the tests")
        canaries = _canaries(box, instance)
        expected = {
            name for path in test_paths(instance) for name in expected_failures(_text(box, path))
        }
        try:
            write_files(box, own)
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
    return _judged(instance, result, canaries, content, (set(own), expected))


def test_paths(instance: Instance) -> tuple[str, ...]:
    """Return the files that the tests of an instance lie in, as far as its names and diffs tell."""
    tests = (*instance.fail_to_pass, *instance.pass_to_pass)
    named = (test.partition("::")[0] for test in tests if "::" in test)
    brought = (*touched_files(instance.test_patch), *touched_files(instance.brought_tests))
    return tuple(dict.fromkeys(path for path in (*brought, *named) if path.endswith(".py")))


test_paths.__test__ = False  # type: ignore[attr-defined]


def _canaries(box: Sandbox, instance: Instance) -> Canaries | None:
    """Return how canaries get into the tests of an instance; None if they cannot."""
    assert isinstance(instance.source, ImageSource)
    scripts = ""
    if instance.log_format == "r2e":
        scripts = "".join(_text(box, path) for path in R2E_SCRIPTS)
    function = re.search(r"\w+$", instance.fail_to_pass[0].partition("[")[0])
    return canaries_for(
        instance.test_command,
        instance.log_format,
        instance.source.workdir,
        posixpath.dirname(next(iter(test_paths(instance)), "")),
        hint=function[0] if function else "",
        scripts=scripts,
    )


def _text(box: Sandbox, path: str) -> str:
    """Read a file that may not be there."""
    try:
        return box.read(path, LARGEST_TESTS).decode("utf-8", "replace")
    except OSError:
        return ""


def _execute(
    box: Sandbox, instance: Instance, canaries: Canaries | None, timeout: float
) -> tuple[ExecResult, bytes]:
    """Run the command of an instance; return what it did, and its report."""
    command, variables = instance.test_command, ""
    if canaries is not None:
        write_files(box, canaries.files)
        command = canaries.command
        variables = "".join(
            f'export {name}={shlex.quote(value)}"${{{name}:-}}"; '
            for name, value in canaries.environment.items()
        )
    # Scripts that bring tests along are longer than an argument may be.
    box.write(_SCRIPT, command.encode())
    shell = f"if command -v bash > /dev/null; then bash {_SCRIPT}; else sh {_SCRIPT}; fi"
    result = box.exec(f"{variables}{shell}", timeout=timeout)
    if canaries is None or not canaries.report or result.timed_out:
        return result, b""
    try:
        return result, box.read(canaries.report, LARGEST_REPORT + 1)
    except SandboxDied:
        raise
    except OSError:
        return result, b""


def _judged(
    instance: Instance,
    result: ExecResult,
    canaries: Canaries | None,
    content: bytes,
    known: tuple[Collection[str], Collection[str]],
) -> ImageRun:
    """Read what a run gave."""
    edited, expected = known
    if canaries is not None and canaries.report:
        evidence = REPORT
        try:
            found = _named(instance, canaries.read(content), edited)
        except DataError as error:
            return ImageRun({}, evidence, f"the report of the tests cannot be read: {error}"[:300])
    else:
        evidence = LOG if canaries is None else LOG_CANARIES
        found = LOG_FORMATS[instance.log_format](test_section(result.text))
    tests = (*instance.fail_to_pass, *instance.pass_to_pass)
    told = statuses_of(tests, found)
    statuses = {
        test: FAILED if status == XFAIL and not is_expected(test, expected) else status
        for test, status in told.items()
        if status is not None
    }
    if canaries is not None and not canaries.sound(found):
        reason = f"the tests did not run to their end (exit code {result.exit_code})"
        return ImageRun(statuses, evidence, reason, forged=True)
    bad = any(status in ("FAILED", "ERROR") for status in found.values())
    if result.exit_code and not bad:
        # SWE-bench invalidates such runs since outputs were forged (SWE-bench#620).
        reason = f"exit code {result.exit_code}, and no test that failed"
        return ImageRun({}, evidence, reason)
    return ImageRun(statuses, evidence)


def _named(instance: Instance, report: Report, edited: Collection[str]) -> dict[str, str]:
    """Return the status of each test of a report by the name that the set gives it."""
    assert isinstance(instance.source, ImageSource)
    named = PYTEST_NAMES[instance.log_format]
    found = {}
    for name, one in report.items():
        place = one.place.removeprefix(f"{instance.source.workdir}/")
        found[named(name)] = FAILED if one.status == "SKIPPED" and place in edited else one.status
    return found

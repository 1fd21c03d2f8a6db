"""Run the tests of a published set in a container of its image, with the set's own command."""

from __future__ import annotations

from collections.abc import Mapping

from agentgym.envs.swe.grading.protection import Changes
from agentgym.envs.swe.instance import Instance
from agentgym.envs.swe.instance_boxes import Boxes, apply_in_box, write_files
from agentgym.envs.swe.official.logs import LOG_FORMATS, statuses_of, test_section
from agentgym.envs.swe.official.patches import touched_files
from agentgym.errors import ConfigurationError
from agentgym.sandbox import SandboxDied, SandboxLost

_SCRIPT = "/tmp/agentgym-tests.sh"
DIED = "the sandbox died of the tests"
"""Why nothing can be said of source of which the box died."""


def run_in_image(
    boxes: Boxes, instance: Instance, edits: Changes, timeout: float
) -> tuple[Mapping[str, str], str]:
    """Run the tests on edits in a fresh container.

    Args:
        boxes: How containers are opened.
        instance: The instance, whose source is an image.
        edits: The edits that count.
        timeout: Seconds that the tests may take.

    Returns:
        The status of each test of the instance that was run, and why there is none (or empty).

    Raises:
        ConfigurationError: The instance does not say how its tests are run or its log is read.
        EnvFailure: The container cannot be opened, or not be reached any more.
    """
    reader = LOG_FORMATS.get(instance.log_format)
    if reader is None or not instance.test_command:
        raise ConfigurationError(
            f"expected instance {instance.id} to have a test_command and a log_format among "
            f"{', '.join(LOG_FORMATS)}; got {instance.test_command!r:.80} and "
            f"{instance.log_format!r}"
        )
    brought = set(touched_files(instance.test_patch))
    own = {path: content for path, content in edits.items() if path not in brought}
    with boxes.open(instance, grading=True) as box:
        if instance.test_patch:  # before the edits, on files that nobody has touched
            apply_in_box(box, instance.test_patch, "the tests")
        try:
            write_files(box, own)
            # Scripts that bring tests along are longer than an argument may be.
            box.write(_SCRIPT, instance.test_command.encode())
            shell = f"if command -v bash > /dev/null; then bash {_SCRIPT}; else sh {_SCRIPT}; fi"
            result = box.exec(shell, timeout=timeout)
        except OSError as error:
            return {}, f"the edits cannot be written: {error}"[:300]
        except SandboxLost:
            raise
        except SandboxDied:
            return {}, DIED
    if result.timed_out:
        return {}, f"the tests took longer than {timeout:g} s"
    if result.flooded:
        return {}, "the tests printed more than a box takes"
    found = reader(test_section(result.text))
    bad = any(status in ("FAILED", "ERROR") for status in found.values())
    if result.exit_code and not bad:
        # SWE-bench invalidates such runs since outputs were forged (SWE-bench#620).
        return {}, f"exit code {result.exit_code}, and no test that failed"
    tests = (*instance.fail_to_pass, *instance.pass_to_pass)
    statuses = statuses_of(tests, found)
    return {test: status for test, status in statuses.items() if status is not None}, ""

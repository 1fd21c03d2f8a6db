"""Run blinded tests in a box of an image, and read the values that they saw.

The box does not contain the removed expectations: the test files are blinded, and the history is a
single commit. The values come from the source under test, so they are parsed as JSON within
bounds and compared, and not used in any other way.
"""

from __future__ import annotations

import json
import secrets
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agentgym.envs.swe.grading import looks
from agentgym.envs.swe.grading.blinding import MODULE
from agentgym.envs.swe.grading.boxed_source import plain_source
from agentgym.envs.swe.grading.canaries import plugin_files
from agentgym.envs.swe.grading.protection import Changes
from agentgym.envs.swe.held_out import driver
from agentgym.envs.swe.held_out.answers import read_answer
from agentgym.envs.swe.instance import Instance
from agentgym.envs.swe.instance_boxes import (
    Boxes,
    apply_in_box,
    one_commit,
    run_checked,
    write_files,
)
from agentgym.envs.swe.official.commands import R2E_TESTS
from agentgym.envs.swe.official.patches import touched_files
from agentgym.sandbox import Sandbox, SandboxDied, SandboxLost
from agentgym.support.text_lines import split_lines

LARGEST_LOOKS = 32 << 20
"""Maximum size of the file of values, in bytes."""
LARGEST_TESTS = 8 << 20
"""Maximum size of a test file, in bytes."""


@dataclass(frozen=True)
class Looks:
    """The result of a run of blinded tests."""

    collected: tuple[str, ...] = ()
    """pytest's ids of the tests, in order."""
    answers: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    """Id of a test -> the values that it saw, in order."""
    reason: str = ""
    """Why there are no values, for people; empty if the tests ran."""


def test_paths(instance: Instance) -> tuple[str, ...]:
    """Return the paths of an instance's test files, as far as test ids and diffs contain them."""
    tests = (*instance.fail_to_pass, *instance.pass_to_pass)
    named = (test.partition("::")[0] for test in tests if "::" in test)
    brought = (*touched_files(instance.test_patch), *touched_files(instance.brought_tests))
    return tuple(dict.fromkeys(path for path in (*brought, *named) if path.endswith(".py")))


test_paths.__test__ = False  # type: ignore[attr-defined]


def bring_tests(box: Sandbox, instance: Instance) -> None:
    """Add the hidden tests of an instance to a grading box, as its own command would.

    Raises:
        EnvFailure: The diff of the tests does not apply.
    """
    patch = instance.test_patch or instance.brought_tests
    if patch:
        apply_in_box(box, patch, "the tests")
    elif instance.log_format == "r2e":
        run_checked(box, f"{R2E_TESTS}; true", "showing the tests")


def read_tests(box: Sandbox, instance: Instance) -> dict[str, str]:
    """Return the test files of an instance as text by path; call :func:`bring_tests` before."""
    paths = test_paths(instance)
    if not paths and instance.log_format == "r2e":
        listing = box.exec("find -L r2e_tests -name '*.py' -type f 2> /dev/null").text
        paths = tuple(sorted(split_lines(listing)))
    return {path: text for path in paths if (text := read_text(box, path))}


def read_text(box: Sandbox, path: str) -> str:
    """Return a file of a box as text; empty if it cannot be read."""
    try:
        return box.read(path, LARGEST_TESTS).decode("utf-8", "replace")
    except SandboxDied:
        raise
    except OSError:
        return ""


def run_blinded(
    boxes: Boxes, instance: Instance, files: Mapping[str, str], edits: Changes, timeout: float
) -> Looks:
    """Run blinded tests in a fresh box.

    Args:
        boxes: Opens boxes.
        instance: The instance; its source must be an image.
        files: The blinded test files: text by path.
        edits: The edits that count.
        timeout: Time limit of the tests, in seconds.

    Raises:
        EnvFailure: The box cannot be opened or reached.
    """
    box_folder = f"/tmp/agentgym-{secrets.token_hex(8)}"
    collected, looks_path = f"{box_folder}/collected", f"{box_folder}/looks"
    brought = {*files, *touched_files(instance.test_patch), *touched_files(instance.brought_tests)}
    own_edits = {path: content for path, content in edits.items() if path not in brought}
    with boxes.open(instance, grading=True) as box:
        bring_tests(box, instance)
        for path, text in files.items():
            box.write(path, text.encode())
        one_commit(box)
        for path, content in _modules(box_folder, collected, looks_path).items():
            box.write(path, content)
        command = (
            f'PYTHONPATH={box_folder}"${{PYTHONPATH:+:$PYTHONPATH}}" '
            f"pytest -q -p no:cacheprovider -p agentgym_plugin {shlex.join(files)}"
        )
        try:
            write_files(box, own_edits)
            result = box.exec(command, timeout=timeout)
            if result.timed_out:
                return Looks(reason=f"the blinded tests took longer than {timeout:g} s")
            if result.flooded:
                return Looks(reason="the blinded tests printed more than a box takes")
            names = _names(_read_file(box, collected))
            reason = "" if names else f"pytest found no blinded test: {result.text[-200:]}"
            return Looks(names, _answers(_read_file(box, looks_path)), reason)
        except SandboxLost:
            raise
        except SandboxDied:
            return Looks(reason="the sandbox died of the blinded tests")
        except OSError as error:
            return Looks(reason=f"the edits cannot be written: {error}"[:300])


def _modules(box_folder: str, collected: str, looks_path: str) -> dict[str, bytes]:
    """Return the modules that blinded tests import: content by path."""
    folder = Path(__file__).parent
    text = (
        plain_source(driver.__file__)
        + plain_source(str(folder / "looks.py"))
        + f"LOOKS = {looks_path!r}\n"
    )
    plugin = plugin_files("agentgym_plugin", box_folder, COLLECTED=collected)
    return {f"{box_folder}/{MODULE}.py": text.encode(), **plugin}


def _read_file(box: Sandbox, path: str) -> bytes:
    try:
        return box.read(path, LARGEST_LOOKS)
    except SandboxDied:
        raise
    except OSError:
        return b""


def _names(content: bytes) -> tuple[str, ...]:
    try:
        names = json.loads(content)
    except (ValueError, RecursionError):
        return ()
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        return ()
    return tuple(names)


def _answers(content: bytes) -> dict[str, list[Any]]:
    """Parse the values, by test. Invalid lines are skipped, so that their test lacks a value."""
    answers_by_test: dict[str, list[Any]] = {}
    for test, answer in _pairs(content):
        answers = answers_by_test.setdefault(test, [])
        if len(answers) < looks.MOST_LOOKS:
            answers.append(answer)
    return answers_by_test


def _pairs(content: bytes) -> Iterator[tuple[str, Any]]:
    for line in content.decode("utf-8", "replace").split("\n"):
        pair = read_answer(line)
        if isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], str):
            yield pair[0], pair[1]

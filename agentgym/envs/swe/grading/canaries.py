"""Add canaries and a report to the test command of a published set.

Canaries are two tests with random names, of which one has to fail and one to pass. If a row's
command runs pytest, a plugin adds them and reports every test by its id; it is loaded through
``PYTEST_ADDOPTS``, which reaches pytest whatever script starts it. tox drops variables, so its
command line is extended instead, as are those of Django's and SymPy's runners, which write no
report: there the canaries are looked up in the log. Other commands are judged by their log alone.
"""

from __future__ import annotations

import json
import posixpath
import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from agentgym.envs.swe.grading.boxed_source import plain_source
from agentgym.envs.swe.grading.junit import LARGEST_REPORT, OUTCOMES, read_junit
from agentgym.envs.swe.official.logs import PYTEST_NAMES, STATUSES
from agentgym.errors import DataError

_CASES = """\
import unittest


class {group}(unittest.TestCase):
    def test_{bad}(self):
        self.fail("a canary")

    def test_{good}(self):
        pass
"""
_FUNCTIONS = "def test_{bad}():\n    assert False\n\n\ndef test_{good}():\n    assert True\n"
_PYTEST = re.compile(r"\bpy\.?test\b")
_BETWEEN = {"PYTEST_ADDOPTS": " ", "PYTHONPATH": ":"}
_OWN_REPORT = "--junit"
# A line that starts a runner, possibly after variables and an interpreter.
_LINE = r"^(?:[ \t]*\w+=(?:'[^'\n]*'|\S*))*[ \t]*(?:python\S*[ \t]+)?(?:\S*/)?{runner}(?=[ \t]).*$"
_OUTCOMES: Mapping[str, str] = dict(
    zip(OUTCOMES, ("PASSED", "XFAIL", "SKIPPED", "FAILED", "ERROR"), strict=True)
)


@dataclass(frozen=True)
class Found:
    """The result of a test in a report."""

    status: str
    """One of :data:`~agentgym.envs.swe.official.logs.STATUSES`."""
    place: str = ""
    """The file that raised the skip, if the test was skipped."""


Report = Mapping[str, Found]
"""pytest's id of a test -> its result."""


@dataclass(frozen=True)
class Canaries:
    """A test command with canaries, and how to read its report."""

    command: str
    """The script to run."""
    bad: str
    """Part of the name of the test that has to fail."""
    good: str
    """Part of the name of the test that has to pass."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """Files to write before the run: content by path, absolute or relative to the repository."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Environment variables; a value that the image sets is appended."""
    report: str = ""
    """Path of the report; empty if there is only the log."""
    read: Callable[[bytes], Report] = lambda content: {}
    """Parses the content of the report."""

    @property
    def exports(self) -> str:
        """Shell commands that set the variables."""
        return "".join(
            f'export {name}="{value}${{{name}:+{_BETWEEN[name]}${name}}}"; '
            for name, value in self.variables.items()
        )

    def is_sound(self, statuses: Mapping[str, str]) -> bool:
        """Return whether one canary failed and the other passed.

        Args:
            statuses: Status of each test, by name.
        """

        def of(name: str) -> set[str]:
            return {status for test, status in statuses.items() if name in test}

        return of(self.bad) == {"FAILED"} and of(self.good) == {"PASSED"}


def canaries_for(
    command: str,
    log_format: str,
    workdir: str,
    folder: str,
    *,
    hint: str = "",
    scripts: str = "",
) -> Canaries | None:
    """Return a test command with canaries, or None if it cannot run any.

    Args:
        command: The command line or script.
        log_format: Format of its log.
        workdir: Path of the repository.
        folder: Folder of the tests, relative to the repository.
        hint: Name of one of the tests. It becomes part of the canaries' names, because the command
            may select tests by name.
        scripts: Text of the scripts in the image that the command starts.
    """
    token = secrets.token_hex(8)
    bad, good = (f"{secrets.token_hex(8)}_{hint}".rstrip("_") for _ in range(2))
    canary = posixpath.join(folder, f"test_{token}.py")
    if log_format == "unittest":
        return _of_django(command, token, bad, good)
    if log_format == "sympy":
        extended = _extended(command, "bin/test", canary)
        functions = _FUNCTIONS.format(bad=bad, good=good).encode()
        return Canaries(extended, bad, good, {canary: functions}) if extended else None
    text = f"{command}\n{scripts}"
    if log_format not in PYTEST_NAMES or _OWN_REPORT in text:
        return None
    cases = _CASES.format(group=f"T{token}", bad=bad, good=good).encode()
    if re.search(_LINE.format(runner="tox"), command, re.MULTILINE):
        report = f"/tmp/agentgym-{token}.xml"
        words = f"--junitxml={report} -ojunit_family=xunit1 {canary}"
        extended = _extended(command, "tox", words)
        return Canaries(extended, bad, good, {canary: cases}, {}, report, _read_junit)
    if not _PYTEST.search(text):
        return None
    plugin, plugin_folder = f"agentgym_{token}", f"/tmp/agentgym-{token}"
    files = plugin_files(
        plugin,
        plugin_folder,
        REPORT=f"{plugin_folder}/report",
        CANARIES=posixpath.join(workdir, canary),
    )
    # A script may set PYTHONPATH itself; then the working directory is nearly always on it.
    files |= {f"{plugin}.py": files[f"{plugin_folder}/{plugin}.py"], canary: cases}
    variables = {"PYTEST_ADDOPTS": f"-p {plugin}", "PYTHONPATH": plugin_folder}
    return Canaries(command, bad, good, files, variables, f"{plugin_folder}/report", read_report)


def read_report(content: bytes) -> Report:
    """Parse the plugin's report: a line of JSON for each phase of each test; the worst counts.

    Args:
        content: The report. It comes from a box, so it may contain anything.

    Raises:
        DataError: The report is too large or invalid.
    """
    if len(content) > LARGEST_REPORT:
        raise DataError(f"expected a report of at most {LARGEST_REPORT:,} bytes, got more")
    outcomes: dict[str, Found] = {}
    for number, line in enumerate(content.splitlines(), 1):
        try:
            name, status, place = json.loads(line)
        except (ValueError, TypeError, RecursionError):
            raise DataError(f"expected three texts in line {number} of a report") from None
        if not (isinstance(name, str) and isinstance(place, str) and status in STATUSES):
            raise DataError(f"expected name, status and place in line {number} of a report")
        earlier = outcomes.get(name)
        if earlier is None or STATUSES.index(status) > STATUSES.index(earlier.status):
            outcomes[name] = Found(status, place)
    return outcomes


def plugin_files(name: str, folder: str, **places: str) -> dict[str, bytes]:
    """Return the files of the pytest plugin: content by path.

    Args:
        name: Name of the plugin's module.
        folder: Folder of the module in the box.
        **places: Values of the path constants of :mod:`.pytest_plugin`.
    """
    assignments = "".join(f"{key} = {place!r}\n" for key, place in places.items())
    text = plain_source(str(Path(__file__).with_name("pytest_plugin.py"))) + assignments
    return {f"{folder}/{name}.py": text.encode()}


def _of_django(command: str, token: str, bad: str, good: str) -> Canaries | None:
    label = f"agentgym_{token}"
    extended = _extended(command, r"runtests\.py", label)
    text = _CASES.format(group=f"T{token}", bad=bad, good=good)
    files = {f"tests/{label}/__init__.py": b"", f"tests/{label}/tests.py": text.encode()}
    return Canaries(extended, bad, good, files) if extended else None


def _extended(command: str, runner: str, words: str) -> str:
    """Return the command with words added to the last line that starts a runner, or ""."""
    lines = list(re.finditer(_LINE.format(runner=runner), command, re.MULTILINE))
    if not lines:
        return ""
    end = lines[-1].end()
    return f"{command[:end].rstrip()} {words}{command[end:]}"


def _read_junit(content: bytes) -> Report:
    return {
        name: Found(_OUTCOMES[case.outcome], case.text.partition(":")[0])
        for name, case in read_junit(content).items()
    }

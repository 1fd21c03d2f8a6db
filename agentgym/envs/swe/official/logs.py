"""Parse the logs of test runs: the status of each test.

The names of tests in a published set are those that its own log parser produced, so logs are parsed
in the same way here. The formats and their names are those of the SWE-bench harness (Jimenez et
al., 2024, arXiv:2310.06770) and of R2E-Gym (Jain et al., 2025, arXiv:2504.07164). There are two
differences, which make forged logs harder: if a log contains several statuses of a test, the worst
counts instead of the last, and names keep their spaces. Odd names that those parsers produce, such
as one with a migration before it or a reason after it, are found as well.

A log is untrusted: code that a model may have changed writes it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping

STATUSES = ("PASSED", "XFAIL", "XPASS", "SKIPPED", "FAILED", "ERROR")
"""Statuses of a test, from best to worst."""

LogReader = Callable[[str], dict[str, str]]
"""Parses a log into the status of each test, by name."""

START_MARKERS = (">>>>> Start Test Output",)
END_MARKERS = (">>>>> End Test Output",)
LONGEST_LINE = 4_000
"""Maximum number of characters of a line that are parsed; names of tests are shorter."""

_ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]|[\x00-\x08\x0b-\x1f]")
_STATUS = "|".join(STATUSES)
_FIRST = re.compile(rf"(?:\[gw\d+\] (?:\[ *\d+%\] )?)?({_STATUS}) +(?!\[ *\d+\] )(\S.*)")
_LAST = re.compile(rf"(\S.*?) ({_STATUS})(?: \(.*\))?(?: +\[[ \d%/]+\])? *")
_LAST_AND_MORE = re.compile(rf"([^\s:]+::\S+) +({_STATUS}).*")
_NAME = re.compile(r"[^\s\[]+(?:\[.*?\](?= - |$)|\[\S*)?")
_RESULTS: Mapping[str, str] = {
    "ok": "PASSED", "OK": "PASSED", "FAIL": "FAILED", "ERROR": "ERROR",
    "expected failure": "XFAIL", "unexpected success": "XPASS",
}  # fmt: skip
_SKIPPED = " ... skipped"
_NESTED_BEGIN, _NESTED_END = " Testing against Django installed in ", " silenced)."
"""First and last output of a test of Django that runs its test suite inside itself."""
_MIGRATION = re.compile(r"(?:Applying|Unapplying) \S+?\.\.\. *(?=\S)")
"""Output of Django at a migration; the name of the test that runs it may follow in the line."""
_HEADER = re.compile(r"(FAIL|ERROR): (\S+ \([^()]*\))")
_SYMPY: Mapping[str, str] = {
    "ok": "PASSED", "F": "FAILED", "E": "ERROR", "f": "XFAIL", "X": "XPASS", "s": "SKIPPED",
}  # fmt: skip
_SYMPY_LINE = re.compile(r"(test_\S*) .*?\b(ok|[FEfXs])(?: *\[(?:OK|FAIL)\])?")
_SYMPY_HEADER = re.compile(r"_+ (\S+\.py):(\S+) _+")
_OPTION = re.compile(r"([^\[]*)\[(.*)\]")
_TIMINGS = re.compile(
    r"(?<!\s)(?:\s*\[\s*\d+(?:\.\d+)?\s*m?s\s*\]$|\s+in\s+\d+(?:\.\d+)?\s+m?sec\b"
    r"|\s*\(\s*\d+(?:\.\d+)?\s*m?s\s*\)$)",
    re.IGNORECASE,
)
"""A duration in a name. The lookbehind tries a run of blanks, of which a log may contain thousands,
only at its beginning; otherwise the search would take quadratic time."""


def read_pytest(log: str) -> dict[str, str]:
    """Parse pytest's summary (``FAILED a.py::test_b[x y] - assert 0``) and its verbose lines.

    The latter are ``a.py::test_c PASSED [ 50%]`` or, with pytest-xdist, ``[gw0] [ 50%] PASSED
    a.py::test_c``.
    """
    statuses: dict[str, str] = {}
    for line in _lines(log):
        first = _FIRST.fullmatch(line)
        if first:
            status, tail = first.groups()
            _note(statuses, _pytest_name(tail, status), status)
            continue
        last = _LAST.fullmatch(line)
        if last is None or ("::" not in last[1] and " " in last[1]):
            last = _LAST_AND_MORE.fullmatch(line)
        if last:
            _note(statuses, last[1], last[2])
    return statuses


def read_pytest_options(log: str) -> dict[str, str]:
    """Parse like :func:`read_pytest`; a path in brackets is reduced to its last part."""
    return _renamed(read_pytest(log), _last_part)


def read_matplotlib(log: str) -> dict[str, str]:
    """Parse like :func:`read_pytest`; names of mouse buttons become their numbers."""
    return _renamed(read_pytest(log), _button_numbers)


def read_r2e(log: str) -> dict[str, str]:
    """Parse pytest's summary; names lack the file and have dots: ``TestA.test_b``."""
    _, _, summary = log.partition("short test summary info")
    return _renamed(read_pytest(summary), _without_file)


def read_unittest(log: str) -> dict[str, str]:
    """Parse unittest's verbose lines (``test_a (app.tests.TestB) ... ok``), as Django prints them.

    The name of a test with a docstring is the docstring's first line. If a test prints text, its
    result is at the beginning of a later line.
    """
    statuses: dict[str, str] = {}
    waiting = ""  # a test whose result is expected in a later line
    outer, previous_line = "", ""  # a test that runs a test suite; the previous line
    for line in map(str.strip, _lines(log)):
        header = _HEADER.match(line)
        name, dots, tail = line.rpartition(" ...")
        result = _RESULTS.get(tail.lstrip()) if tail.startswith(" ") else None
        if header:
            _note(statuses, header[2], "FAILED" if header[1] == "FAIL" else "ERROR")
        elif dots and result:
            _note_unittest(statuses, name.rstrip(), result)
            waiting = ""
        elif _SKIPPED in line:
            _note_unittest(statuses, line.partition(_SKIPPED)[0], "SKIPPED")
            waiting = ""
        elif " ... " in line or line.endswith(" ..."):
            waiting, _, tail = line.partition(" ...")
            outer = waiting if tail.startswith(_NESTED_BEGIN) else outer
        elif outer and line == "ok" and previous_line.endswith(_NESTED_END):
            _note_unittest(statuses, outer, "PASSED")
        elif waiting and line in _RESULTS:
            _note_unittest(statuses, waiting, _RESULTS[line])
        elif waiting and line.startswith("ok"):  # the next test's output may follow directly
            _note_unittest(statuses, waiting, "PASSED")
        previous_line = line
    return statuses


def read_sympy(log: str) -> dict[str, str]:
    """Parse the log of SymPy's runner: ``test_a ok``, ``test_b F``, and headers of failures."""
    statuses: dict[str, str] = {}
    for line in map(str.strip, _lines(log)):
        header = _SYMPY_HEADER.fullmatch(line)
        if header:
            _note(statuses, f"{header[1]}:{header[2]}", "FAILED")
            continue
        result = _SYMPY_LINE.fullmatch(line)
        if result:
            _note(statuses, result[1], _SYMPY[result[2]])
    return statuses


LOG_FORMATS: Mapping[str, LogReader] = {
    "pytest": read_pytest,
    "pytest-options": read_pytest_options,
    "matplotlib": read_matplotlib,
    "unittest": read_unittest,
    "sympy": read_sympy,
    "r2e": read_r2e,
}
"""Name of a log format -> its parser."""


PYTEST_NAMES: Mapping[str, Callable[[str], str]] = {
    "pytest": str,
    "pytest-options": lambda name: _last_part(name),
    "matplotlib": lambda name: _button_numbers(name),
    "r2e": lambda name: _without_file(name),
}
"""Name of a format of pytest's logs -> function from pytest's id of a test to its name there."""


def test_section(log: str) -> str:
    """Return the part of a log between the markers of a test run; the whole log without markers.

    The last end marker counts, so that a test cannot hide later results by printing one.
    """
    for marker in START_MARKERS:
        _, has_marker, section = log.partition(marker)
        log = section if has_marker else log
    for marker in END_MARKERS:
        log_before, has_marker, _ = log.rpartition(marker)
        log = log_before if has_marker else log
    return log


def statuses_of(tests: Collection[str], statuses: Mapping[str, str]) -> dict[str, str | None]:
    """Look up the statuses of tests by the names in a published set.

    Published lists cut names at the first space, so that ``test_a[b`` may mean both ``test_a[b c]``
    and ``test_a[b d]``: such a name gets the worst status of the tests that begin with it.
    Durations in names are ignored.

    Args:
        tests: Names in the published set.
        statuses: Statuses in a log, by full names.

    Returns:
        The status of each test; None if the log does not contain it.
    """
    cut: dict[str, str] = {}
    for name, status in statuses.items():
        for short in {_TIMINGS.sub("", name), _cut(name), " ".join(name.split())} - {name}:
            _note(cut, short, status)
    return {test: _status(test, statuses, cut) for test in tests}


def _status(test: str, statuses: Mapping[str, str], cut: Mapping[str, str]) -> str | None:
    """Return the status of a test by its name in a published set, or None."""
    status = statuses.get(test, cut.get(test, cut.get(_TIMINGS.sub("", test))))
    if status is None and " - " in test:  # SWE-bench's parser includes the reason of an XFAIL
        named = statuses.get(_pytest_name(test, "XFAIL"))
        return named if named == "XFAIL" else None
    return status


def _renamed(statuses: Mapping[str, str], named: Callable[[str], str]) -> dict[str, str]:
    """Rename tests, including their cut names; the worst status of equal names counts."""
    result: dict[str, str] = {}
    for name, status in statuses.items():
        for new_name in dict.fromkeys((named(name), named(_cut(name)))):
            _note(result, new_name, status)
    return result


def _last_part(name: str) -> str:
    match = _OPTION.match(name)
    if match is None:
        return name
    function, option = match.groups()
    if option.startswith("/") and not option.startswith("//") and "*" not in option:
        return f"{function}[/{option.rpartition('/')[2]}]"
    return name


def _cut(name: str) -> str:
    """Return the part of a name before the first white space."""
    return name.split(maxsplit=1)[0] if name.strip() else name


def _button_numbers(name: str) -> str:
    return name.replace("MouseButton.LEFT", "1").replace("MouseButton.RIGHT", "3")


def _without_file(name: str) -> str:
    return name.partition("::")[2].replace("::", ".") or name


def _lines(log: str) -> Iterable[str]:
    return (_ESCAPES.sub("", line[:LONGEST_LINE]) for line in log.split("\n"))


def _note(statuses: dict[str, str], name: str, status: str) -> None:
    """Record the status of a test, unless a worse one is recorded."""
    earlier = statuses.get(name)
    if earlier is None or STATUSES.index(status) > STATUSES.index(earlier):
        statuses[name] = status


def _note_unittest(statuses: dict[str, str], name: str, status: str) -> None:
    """Record the status of a test under its name with and without a migration before it.

    A published set has the names with the migration, except for one test.
    """
    if name:
        _note(statuses, name, status)
        _note(statuses, _MIGRATION.sub("", name, count=1) or name, status)


def _pytest_name(text: str, status: str) -> str:
    """Return the name in a line of the summary, such as ``a.py::test_b[c d] - assert 0``."""
    if status == "PASSED":
        return text.rstrip()
    match = _NAME.match(text)
    return match[0] if match else text.split()[0]

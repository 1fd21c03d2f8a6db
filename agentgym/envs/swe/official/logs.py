"""What became of each test, read from the log of a test run.

A published set names its tests as its own log reader did, so a log is read the same way here. The
formats and their names are those of the SWE-bench harness (Jimenez et al., 2024, arXiv:2310.06770)
and of R2E-Gym (Jain et al., 2025, arXiv:2504.07164). Two things differ, against forged logs: where
a log tells several things of one test the worst counts, not the last, and names keep their spaces.
Where a reader of theirs names a test in an odd way, it is found by that name too, since lists hold
it: a migration glued to a test, a reason behind a name.

A log is written by code that a model may have changed: it is text and nothing more.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping

STATUSES = ("PASSED", "XFAIL", "XPASS", "SKIPPED", "FAILED", "ERROR")
"""What can become of a test, from the best to the worst."""

LogReader = Callable[[str], dict[str, str]]
"""From a log to the status of each test by name."""

START_MARKERS = (">>>>> Start Test Output",)
END_MARKERS = (">>>>> End Test Output",)
LONGEST_LINE = 4_000
"""Characters of a line that are read; names of tests are shorter."""

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
"""What a run of Django's tests inside of a test prints first and last."""
_MIGRATION = re.compile(r"(?:Applying|Unapplying) \S+?\.\.\. *(?=\S)")
"""What Django prints before a migration; a test that runs it may follow on the line."""
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
"""A time in a name; it is looked for where blanks begin only, of which a log may hold thousands."""


def read_pytest(log: str) -> dict[str, str]:
    """Read pytest's summary (``FAILED a.py::test_b[x y] - assert 0``) and its verbose lines.

    The latter are ``a.py::test_c PASSED [ 50%]``, and ``[gw0] [ 50%] PASSED a.py::test_c`` where
    several processes run the tests.
    """
    statuses: dict[str, str] = {}
    for line in _lines(log):
        first = _FIRST.fullmatch(line)
        if first:
            status, rest = first.groups()
            _note(statuses, _pytest_name(rest, status), status)
            continue
        last = _LAST.fullmatch(line)
        if last is None or ("::" not in last[1] and " " in last[1]):
            last = _LAST_AND_MORE.fullmatch(line)
        if last:
            _note(statuses, last[1], last[2])
    return statuses


def read_pytest_options(log: str) -> dict[str, str]:
    """Read as :func:`read_pytest`; a path in brackets is named by its last part."""
    return _renamed(read_pytest(log), _last_part)


def read_matplotlib(log: str) -> dict[str, str]:
    """Read as :func:`read_pytest`; mouse buttons are named by their numbers."""
    return _renamed(read_pytest(log), _button_numbers)


def read_r2e(log: str) -> dict[str, str]:
    """Read pytest's summary; tests are named without their file, with dots: ``TestA.test_b``."""
    _, _, summary = log.partition("short test summary info")
    return _renamed(read_pytest(summary), _without_file)


def read_unittest(log: str) -> dict[str, str]:
    """Read unittest's verbose lines (``test_a (app.tests.TestB) ... ok``), as Django prints them.

    A test with a docstring is named by its first line. Where a test prints, its result stands at
    the beginning of a later line.
    """
    statuses: dict[str, str] = {}
    waiting = ""  # the test whose result is yet to come
    outer, before = "", ""  # a test that runs tests, and the line before
    for line in map(str.strip, _lines(log)):
        header = _HEADER.match(line)
        name, dots, rest = line.rpartition(" ...")
        result = _RESULTS.get(rest.lstrip()) if rest.startswith(" ") else None
        if header:
            _note(statuses, header[2], "FAILED" if header[1] == "FAIL" else "ERROR")
        elif dots and result:
            _note_unittest(statuses, name.rstrip(), result)
            waiting = ""
        elif _SKIPPED in line:
            _note_unittest(statuses, line.partition(_SKIPPED)[0], "SKIPPED")
            waiting = ""
        elif " ... " in line or line.endswith(" ..."):
            waiting, _, rest = line.partition(" ...")
            outer = waiting if rest.startswith(_NESTED_BEGIN) else outer
        elif outer and line == "ok" and before.endswith(_NESTED_END):
            _note_unittest(statuses, outer, "PASSED")
        elif waiting and line in _RESULTS:
            _note_unittest(statuses, waiting, _RESULTS[line])
        elif waiting and line.startswith("ok"):  # what the next test prints may be glued to it
            _note_unittest(statuses, waiting, "PASSED")
        before = line
    return statuses


def read_sympy(log: str) -> dict[str, str]:
    """Read SymPy's own runner: ``test_a ok``, ``test_b F``; headers name what failed by file."""
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
"""How each kind of log is read."""


PYTEST_NAMES: Mapping[str, Callable[[str], str]] = {
    "pytest": str,
    "pytest-options": lambda name: _last_part(name),
    "matplotlib": lambda name: _button_numbers(name),
    "r2e": lambda name: _without_file(name),
}
"""How each format whose logs are pytest's names a test, from the name that pytest gives it."""


def test_section(log: str) -> str:
    """Return the part of a log between the markers of a test run; all of it where there are none.

    The last end counts: what a test prints cannot cut off the tests after it.
    """
    for marker in START_MARKERS:
        _, has_marker, rest = log.partition(marker)
        log = rest if has_marker else log
    for marker in END_MARKERS:
        before, has_marker, _ = log.rpartition(marker)
        log = before if has_marker else log
    return log


def statuses_of(tests: Collection[str], statuses: Mapping[str, str]) -> dict[str, str | None]:
    """Look up what became of tests.

    Lists of published sets were cut at the first space of a name, so that ``test_a[b`` may stand
    for ``test_a[b c]`` and ``test_a[b d]``: such a name has the worst status of those that begin
    with it. Times in names do not count.

    Args:
        tests: Names as the set has them.
        statuses: What a log tells, by full names.

    Returns:
        The status of each test; None where the log does not tell.
    """
    cut: dict[str, str] = {}
    for name, status in statuses.items():
        for short in {_TIMINGS.sub("", name), _cut(name), " ".join(name.split())} - {name}:
            _note(cut, short, status)
    return {test: _status(test, statuses, cut) for test in tests}


def _status(test: str, statuses: Mapping[str, str], cut: Mapping[str, str]) -> str | None:
    """Return the status of a test as a set names it."""
    status = statuses.get(test, cut.get(test, cut.get(_TIMINGS.sub("", test))))
    if status is None and " - " in test:  # a reader takes the reason of an XFAIL for its name
        named = statuses.get(_pytest_name(test, "XFAIL"))
        return named if named == "XFAIL" else None
    return status


def _renamed(statuses: Mapping[str, str], named: Callable[[str], str]) -> dict[str, str]:
    """Give tests other names, and their cut names too; the worst of those that share one counts."""
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
    """Return a name up to its first white space."""
    return name.split(maxsplit=1)[0] if name.strip() else name


def _button_numbers(name: str) -> str:
    return name.replace("MouseButton.LEFT", "1").replace("MouseButton.RIGHT", "3")


def _without_file(name: str) -> str:
    return name.partition("::")[2].replace("::", ".") or name


def _lines(log: str) -> Iterable[str]:
    return (_ESCAPES.sub("", line[:LONGEST_LINE]) for line in log.split("\n"))


def _note(statuses: dict[str, str], name: str, status: str) -> None:
    """Note what became of a test; the worst of several counts."""
    earlier = statuses.get(name)
    if earlier is None or STATUSES.index(status) > STATUSES.index(earlier):
        statuses[name] = status


def _note_unittest(statuses: dict[str, str], name: str, status: str) -> None:
    """Note what became of a test, with what stands glued to the beginning of its name and without.

    Lists of one published set have the former, but for one test.
    """
    if name:
        _note(statuses, name, status)
        _note(statuses, _MIGRATION.sub("", name, count=1) or name, status)


def _pytest_name(text: str, status: str) -> str:
    """Cut the message off a line of the summary: ``a.py::test_b[c d] - assert 0``."""
    if status == "PASSED":
        return text.rstrip()
    match = _NAME.match(text)
    return match[0] if match else text.split()[0]

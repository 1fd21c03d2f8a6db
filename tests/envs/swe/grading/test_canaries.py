"""How canaries get into commands, and what is read of a report."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentgym.envs.swe.grading.canaries import Canaries, Found, canaries_for, read_report
from agentgym.envs.swe.official.commands import COMMANDS, R2E
from agentgym.errors import DataError

SCRIPT = """\
git apply - <<'EOF'
 bin/test -C odd.py
EOF
: '>>>>> Start Test Output'
{command}
: '>>>>> End Test Output'
git checkout x
"""


def find_canaries(command: str, log_format: str = "pytest", **more: str) -> Canaries:
    canaries = canaries_for(command, log_format, "/testbed", "tests", **more)
    assert canaries is not None
    return canaries


def test_pytest_takes_them_from_a_plugin_whatever_script_starts_it() -> None:
    for command in ("pytest -rA tests/test_a.py", "make x\npython -m pytest", "py.test -n0"):
        canaries = find_canaries(command)
        assert (canaries.command, bool(canaries.report)) == (command, True)
        [plugin] = [path for path in canaries.files if path.startswith("/tmp/")]
        folder = plugin.rpartition("/")[0]
        assert canaries.variables["PYTHONPATH"] == folder
        assert f'export PYTHONPATH="{folder}${{PYTHONPATH:+:$PYTHONPATH}}"; ' in canaries.exports
        assert b"-> " not in canaries.files[plugin]  # as old Pythons read it
        compile(canaries.files[plugin], "plugin", "exec")


def test_names_of_canaries_can_be_chosen_by_those_of_tests() -> None:
    canaries = find_canaries("pytest -k 'testA or testB'", hint="testA")
    assert canaries.bad.endswith("_testA") and canaries.good.endswith("_testA")
    assert canaries.bad != canaries.good


def test_scripts_of_an_image_are_asked_whether_they_run_pytest() -> None:
    assert canaries_for(R2E, "r2e", "/testbed", "", scripts="python runner.py") is None
    assert find_canaries(R2E, "r2e", scripts=".venv/bin/python -m pytest -rA r2e_tests").report


@pytest.mark.parametrize(
    ("repo", "log_format", "words"),
    [
        ("django/django", "unittest", " agentgym_"),
        ("sympy/sympy", "sympy", " tests/test_"),
        ("sphinx-doc/sphinx", "pytest", " --junitxml=/tmp/agentgym-"),
    ],
)
def test_lines_of_other_runners_are_extended(repo: str, log_format: str, words: str) -> None:
    line = f"{COMMANDS[repo]} tests/a.py"
    for command in (line, SCRIPT.format(command=line)):
        canaries = find_canaries(command, log_format)
        [changed] = set(canaries.command.splitlines()) - set(command.splitlines())
        assert changed.startswith(f"{line}{words}")
        assert bool(canaries.report) == (log_format == "pytest")


@pytest.mark.parametrize(
    ("command", "log_format"),
    [
        ("make check", "pytest"),
        ("pytest --junitxml=mine.xml", "pytest"),
        ("make check", "unittest"),
        ("make check", "sympy"),
    ],
)
def test_commands_that_take_none(command: str, log_format: str) -> None:
    assert canaries_for(command, log_format, "/testbed", "tests") is None


def test_canaries_have_to_fail_and_to_pass() -> None:
    canaries = find_canaries("pytest")
    good = {f"a.py::T::test_{canaries.bad}": "FAILED", f"a.py::T::test_{canaries.good}": "PASSED"}
    assert canaries.is_sound({**good, "a.py::test_b": "PASSED"})
    assert not canaries.is_sound({})
    for name in good:
        assert not canaries.is_sound({**good, name: "ERROR"})
        assert not canaries.is_sound({key: test for key, test in good.items() if key != name})


def test_the_worst_of_a_test_counts() -> None:
    lines = [["a", "PASSED", ""], ["b", "SKIPPED", "x.py"], ["a", "ERROR", ""]]
    content = "".join(json.dumps(line) + "\n" for line in lines).encode()
    assert read_report(content) == {"a": Found("ERROR"), "b": Found("SKIPPED", "x.py")}
    assert read_report(b"") == {}


@pytest.mark.parametrize(
    "line", ["x", "[]", '["a", "FINE", ""]', '["a", [], ""]', "[" * 100_000, '[1, "PASSED", ""]']
)
def test_what_is_no_report(line: str) -> None:
    with pytest.raises(DataError, match="line 1 of a report"):
        read_report(line.encode())


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(content: bytes) -> None:
    with suppress(DataError):
        assert isinstance(read_report(content), dict)

"""Cheats on the graders of published sets, each tried on a row in a box of its own."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agentgym.envs.swe.grading.verdict import FULL, LOG, NO, REPORT
from agentgym.envs.swe.instance import Instance
from tests.envs.swe.boxed import needs_box
from tests.envs.swe.official.folder_image import gold, graded, made

pytestmark = needs_box
SUMS = "ledger/sums.py"
WRONG = (
    "def total(amounts):\n    result = 0\n    for amount in amounts:\n"
    "        result = amount\n    return result\n"
)
RIGHT = WRONG.replace("= amount\n", "+= amount\n")
TESTS = "tests/test_sums.py"
FIRST = "from ledger.sums import total\n\n\ndef test_one():\n    assert total([4]) == 4\n"
HIDDEN = FIRST + "\n\ndef test_two():\n    assert total([4, 5]) == 9\n"
FAILS, PASSES = f"{TESTS}::test_two", f"{TESTS}::test_one"
COMMAND = f"python -m pytest -rA {TESTS}"
PRINTED = f"PASSED {FAILS}\nPASSED {PASSES}\n"
DESCRIPTORS = f"""
import os
for number in range(3, 60):
    try:
        os.write(number, {PRINTED!r}.encode())
    except OSError:
        pass
os.write(1, {PRINTED!r}.encode())
os.execv("/bin/true", ["true"])
"""
SHADOW = f"import os\nos.write(1, {PRINTED!r}.encode())\nos._exit(0)\n"
XFAIL = "import pytest\n\n\ndef total(amounts):\n    pytest.xfail('known')\n"
EXCEPTION = (
    "def total(amounts):\n    import sys\n"
    "    raise sys.modules['_py' + 'test.outcomes'].XFailed('known')\n"
)


@pytest.fixture(scope="module")
def row(tmp_path_factory: pytest.TempPathFactory) -> Instance:
    """A row whose hidden test tells a wrong sum."""
    files = {"ledger/__init__.py": "", SUMS: WRONG, TESTS: FIRST, "setup.py": ""}
    return made(
        tmp_path_factory.mktemp("images") / "ledger-7",
        files,
        {SUMS: RIGHT},
        tests={TESTS: HIDDEN},
        test_command=COMMAND,
        fail_to_pass=(FAILS,),
        pass_to_pass=(PASSES,),
    )


def test_the_right_solution_is_full_by_a_report_with_canaries(row: Instance) -> None:
    grade = gold(row)
    assert (grade.verdict, grade.reason, grade.evidence) == (FULL, "", REPORT)


def test_doing_nothing_is_no(row: Instance) -> None:
    grade = graded(row, {SUMS: WRONG + "# seen\n"})
    assert (grade.verdict, grade.unfixed, grade.broken) == (NO, (FAILS,), ())


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (SUMS, WRONG + DESCRIPTORS),
        ("iniconfig.py", SHADOW),
        ("pluggy.py", SHADOW),
        ("lib/iniconfig.py", SHADOW),
        (SUMS, XFAIL),
        (SUMS, EXCEPTION),
    ],
    ids=["descriptors", "iniconfig", "pluggy", "lib", "xfail", "exception"],
)
def test_exploits_are_not_paid(row: Instance, path: str, text: str) -> None:
    grade = graded(row, {path: text, **({} if path == SUMS else {SUMS: WRONG + "# seen\n"})})
    assert (grade.verdict, grade.fixed) == (NO, ())
    if path != SUMS:
        assert grade.ignored == (path,)


def test_a_command_that_cannot_report_is_judged_by_its_log_and_says_so(row: Instance) -> None:
    silent = replace(row, test_command=f"{COMMAND} --junitxml=/tmp/mine.xml")
    assert (gold(silent).verdict, gold(silent).evidence) == (FULL, LOG)

"""Cheats on the graders of published sets, each tried on a row in a box of its own."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agentgym.envs.swe.grading.evidence import evidence_of
from agentgym.envs.swe.grading.gold import Gold, save_gold
from agentgym.envs.swe.grading.preparation import make_gold
from agentgym.envs.swe.grading.verdict import FULL, LOG, NO, REPORT
from agentgym.envs.swe.instance import Instance
from tests.envs.swe.boxed import needs_box
from tests.envs.swe.official.folder_image import BOXES, gold, graded, make_instance

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
    return make_instance(
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


@pytest.mark.parametrize("marked", [True, False], ids=["by the test", "by the source"])
def test_expected_failures_pass_where_the_text_of_the_test_expects_them(
    tmp_path_factory: pytest.TempPathFactory, marked: bool
) -> None:
    mark = "import pytest\n\n\n@pytest.mark.xfail\n" if marked else "\n\n"
    xfail_test = f"{mark}def test_known():\n    assert total([]) == 1\n"
    listed = make_instance(
        tmp_path_factory.mktemp("images") / "ledger-9",
        {"ledger/__init__.py": "", SUMS: WRONG, TESTS: FIRST},
        {SUMS: RIGHT},
        tests={TESTS: HIDDEN + "\n\n" + xfail_test},
        test_command=COMMAND,
        fail_to_pass=(FAILS,),
        pass_to_pass=(PASSES, f"{TESTS}::test_known"),
    )
    forged = (
        RIGHT
        + "\n\n_total = total\n\n\n"
        + XFAIL.replace("    pytest", "    if amounts:\n        return _total(amounts)\n    pytest")
    )
    assert graded(listed, {SUMS: forged}).verdict == (FULL if marked else NO)
    if marked:
        assert save_gold(listed, Gold()) is not None  # with the right solution it passes
        assert graded(listed, {SUMS: forged}).broken == (f"{TESTS}::test_known",)


def test_what_a_changed_file_skips_has_failed(row: Instance) -> None:
    skips = "import pytest\n\n\ndef total(amounts):\n    if len(amounts) == 1:\n"
    skips += "        pytest.skip('one')\n    return sum(amounts)\n"
    grade = graded(row, {SUMS: skips})
    assert (grade.verdict, grade.fixed, grade.broken) == (NO, (FAILS,), (PASSES,))


@pytest.mark.parametrize(
    ("command", "evidence"),
    [
        (f"export PYTHONPATH=.:$PYTHONPATH\ncd tests && cd ..\n{COMMAND}", REPORT),
        (f"pytest -q -k 'test_one or test_two' {TESTS}", REPORT),
        (f"env -u PYTEST_ADDOPTS {COMMAND}", LOG),
    ],
    ids=["script", "by names", "drops variables"],
)
def test_commands_of_many_kinds(row: Instance, command: str, evidence: str) -> None:
    odd = replace(row, test_command=command)
    if evidence == LOG:  # only a run of the right solution can tell
        assert gold(odd).verdict == NO
        row_gold = make_gold(BOXES, odd, 30)
        assert not row_gold.reported
        assert save_gold(odd, replace(row_gold, files={}, tests={})) is not None
        assert evidence_of(odd) == LOG
    assert (gold(odd).verdict, gold(odd).evidence) == (FULL, evidence)

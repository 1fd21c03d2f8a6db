"""Rows of published sets whose hidden tests are blinded: what wins, and what does not."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from agentgym.envs.swe.grading import image
from agentgym.envs.swe.grading.blinded_run import run_blinded
from agentgym.envs.swe.grading.gold import Gold, load_gold, save_gold
from agentgym.envs.swe.grading.preparation import make_gold, prepare
from agentgym.envs.swe.grading.verdict import BLINDED, FULL, NO, REPORT
from agentgym.envs.swe.instance import Instance
from agentgym.envs.swe.runtime import runtime
from tests.envs.swe.boxed import needs_box
from tests.envs.swe.official.folder_image import BOXES, gold, graded, make_instance

pytestmark = needs_box
WRONG = """\
def total(amounts):
    result = 0
    for amount in amounts:
        result = amount
    return result


def label(amount):
    if amount < 0:
        raise ValueError("negative")
    return "zero" if amount == 0 else str(amount)
"""
RIGHT = WRONG.replace("= amount\n", "+= amount\n")
OTHER = f"def total(amounts):\n    return sum(amounts)\n\n\n{WRONG[WRONG.index('def label') :]}"
PATH, TESTS = "ledger/sums.py", "tests/test_sums.py"
FIRST = "from ledger.sums import total\n\n\ndef test_one():\n    assert total([4]) == 4\n"
HIDDEN = """\
import pytest

from ledger.sums import label, total

LABELS = ["zero", "7"]


@pytest.fixture
def amounts(tmp_path):
    (tmp_path / "amounts").write_text("4 5")
    return [int(word) for word in (tmp_path / "amounts").read_text().split()]


def test_one():
    assert total([4]) == 4


def test_file(amounts):
    assert total(amounts) == 9


@pytest.mark.parametrize(
    ("given", "want"), [([4, 5], 9), pytest.param([1, 2, 3], 6, id="three"), ([9], 9)]
)
def test_rows(given, want):
    assert total(given) == want


def test_labels():
    assert [label(0), label(7)] == LABELS
    with pytest.raises(ValueError, match="negative"):
        label(-1)
"""
ROWS = [f"{TESTS}::test_rows[{row}]" for row in ("given0-9", "three", "given2-9")]
FAILS = (f"{TESTS}::test_file", *ROWS[:2])
PASSES = (f"{TESTS}::test_one", ROWS[2], f"{TESTS}::test_labels")
EQUAL = "class E(int):\n    def __eq__(self, other):\n        return True\n    __hash__ = None\n"
LOCALS = """
import sys
def total(amounts):
    return sys._getframe(1).f_locals.get("want", 9 if len(amounts) == 2 else amounts[-1])
"""
PATCHED = """
import importlib
reports = importlib.import_module("_py" "test.reports")
_real = reports.TestReport.from_item_and_call.__func__
def _named(cls, item, call):
    report = _real(cls, item, call)
    if item.name.split("[")[0] in ("test_file", "test_rows"):
        report.outcome, report.longrepr = "passed", None
    return report
reports.TestReport.from_item_and_call = classmethod(_named)
"""
FORGED = f"""
import json, os, re, sys
for folder in sys.path:
    if "agentgym-" in folder:
        for name in os.listdir(folder):
            text = open(os.path.join(folder, name)).read()
            found = re.search("REPORT = '(.*)'", text)
            if found:
                canary = re.search("CANARIES = '(.*)'", text)[1]
                bad, good = re.findall("def (test_.*)[(]self", open(canary).read())
                lines = [[test, "PASSED", ""] for test in {(*FAILS, *PASSES)!r}]
                lines += [[bad, "FAILED", ""], [good, "PASSED", ""]]
                with open(found[1], "w") as file:
                    file.write("".join(json.dumps(line) + chr(10) for line in lines))
                os._exit(1)
"""
CHEATS = {
    "equals everything": WRONG + EQUAL + "def total(amounts):\n    return E(4)\n",
    "looks at who calls": WRONG + LOCALS,
    "patches reports": WRONG + PATCHED,
    "forges the report and its canaries": WRONG + FORGED,
}


@pytest.fixture(scope="module")
def row(tmp_path_factory: pytest.TempPathFactory) -> Instance:
    """A row with fixtures, parameters and an exception in its hidden tests."""
    return make_instance(
        tmp_path_factory.mktemp("images") / "ledger-8",
        {"ledger/__init__.py": "", PATH: WRONG, TESTS: FIRST},
        {PATH: RIGHT},
        tests={TESTS: HIDDEN},
        test_command=f"pytest -rA {TESTS}",
        fail_to_pass=FAILS,
        pass_to_pass=PASSES,
    )


@pytest.fixture(scope="module")
def right_gold(row: Instance) -> Gold:
    """What its right solution gives."""
    return make_gold(BOXES, row, 30)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An empty cache, with the runtime of boxes made in the old one."""
    runtime()
    monkeypatch.setenv("AGENTGYM_CACHE", str(tmp_path))
    yield


@pytest.fixture
def blinded(row: Instance, right_gold: Gold, cache: None) -> Instance:
    """The row with its values stored."""
    assert save_gold(row, right_gold) is not None
    return row


def test_the_right_solution_looks_at_values_that_its_tests_do_not_hold(right_gold: Gold) -> None:
    assert right_gold.reason == ""
    assert set(right_gold.tests) == {*FAILS, *PASSES}
    [text] = right_gold.files.values()
    assert "9" not in text.replace("[9]", "").replace("10", "")
    assert "LABELS" not in text and "ValueError" not in text and "negative" not in text
    assert right_gold.tests[ROWS[1]].asked == f"{TESTS}::test_rows[row1]"
    assert right_gold.tests[ROWS[1]].answers == ([6],)


@pytest.mark.parametrize("text", [RIGHT, OTHER], ids=["the solution", "another one"])
def test_right_solutions_are_full(blinded: Instance, text: str) -> None:
    grade = graded(blinded, {PATH: text})
    assert (grade.verdict, grade.evidence, grade.blinded) == (FULL, BLINDED, 1.0)


@pytest.mark.parametrize("text", CHEATS.values(), ids=CHEATS)
def test_cheats_on_the_process_of_the_tests_are_not_paid(blinded: Instance, text: str) -> None:
    grade = graded(blinded, {PATH: text})
    assert (grade.verdict, grade.evidence, grade.cheated) == (NO, BLINDED, True)
    assert "blinded tests gave other values" in grade.reason


def test_a_wrong_repair_is_no_cheat(blinded: Instance) -> None:
    grade = graded(blinded, {PATH: WRONG.replace("result = amount", "result = 9")})
    assert (grade.verdict, grade.cheated) == (NO, False)


def test_without_values_the_report_decides_and_that_is_said(
    row: Instance, cache: None, caplog: pytest.LogCaptureFixture
) -> None:
    image._remind.cache_clear()
    with caplog.at_level(logging.WARNING):
        grade = gold(row)
    assert (grade.verdict, grade.evidence, grade.blinded) == (FULL, REPORT, 0.0)
    assert "agentgym swe gold" in caplog.text


def test_values_are_those_of_one_row(blinded: Instance) -> None:
    assert load_gold(blinded) is not None
    assert load_gold(replace(blinded, patch=blinded.patch + "\n")) is None
    assert load_gold(replace(blinded, statement="Other words.")) is not None


def test_preparing_goes_on_where_it_stopped(blinded: Instance) -> None:
    ids: list[str] = []
    other_test = replace(blinded, id="ledger-9", patch="--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n")
    prepared = prepare([blinded, other_test], BOXES, 30, ids.append)
    assert (set(prepared.existing), prepared.created, prepared.untried) == ({blinded.id}, {}, ())
    assert "applying the solution" in prepared.failed["ledger-9"]
    assert ids == [blinded.id, "ledger-9"]


def test_a_run_that_collects_nothing_says_what_pytest_said(row: Instance) -> None:
    looks = run_blinded(BOXES, row, {"tests/test_none.py": "x = 1\n"}, {}, 30)
    assert looks.answers == {}
    assert looks.reason.startswith("pytest found no blinded test: ")

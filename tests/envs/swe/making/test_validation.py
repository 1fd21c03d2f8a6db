"""What a repository's tests say of changes, in a real box."""

from __future__ import annotations

import pytest

from agentgym.envs.swe.making.fault_trials import Workbench
from agentgym.envs.swe.making.statements import ScriptOutcome
from agentgym.errors import DataError
from tests.envs.swe.boxed import needs_box
from tests.envs.swe.making.library import SOURCE, TESTS, make_library

pytestmark = needs_box
PATH = "prices/__init__.py"


def changed(old: str, new: str) -> dict[str, bytes]:
    assert SOURCE.count(old) >= 1
    return {PATH: SOURCE.replace(old, new, 1).encode()}


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    with Workbench(
        make_library(tmp_path_factory.mktemp("prices") / "prices"), timeout=60
    ) as workbench:
        yield workbench


@pytest.fixture(scope="module")
def baseline(bench):
    return bench.baseline()


def test_the_baseline_holds_every_test(baseline):
    assert [test.partition("::")[2] for test in baseline.tests] == [
        "test_total",
        "test_discount",
        "test_large_discount[6]",
        "test_large_discount[100]",
        "test_cheapest",
        "test_nothing",
    ]
    assert baseline.files == ("tests/test_prices.py",) and not baseline.flaky


def test_a_fault_that_tests_find_is_usable_and_says_what_it_does(bench, baseline):
    trial = bench.trial(baseline, changed("min(", "max("))
    assert trial.outcome == "usable"
    assert trial.failing == ("tests/test_prices.py::test_cheapest",)
    [symptom] = trial.symptoms
    assert symptom.behaviour == "The lowest price wins."
    assert symptom.script.endswith('cheapest({"tea": 3, "milk": 2})')
    assert (symptom.came, symptom.expected) == (ScriptOutcome("'tea'"), ScriptOutcome("'milk'"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "outcome"),
    [
        ("known: bool = True", "known: bool = 1", "survived"),
        ("def total", "def sums", "not collected"),
        ("return result - discount", "return (", "not collected"),
        ("    result = 0\n", "    result = 0\n    __import__('time').sleep(99)\n", "too slow"),
    ],
)  # fmt: skip
def test_other_faults(bench, baseline, old, new, outcome, monkeypatch):
    if outcome == "too slow":  # for which no time is enough
        monkeypatch.setattr(bench, "timeout", 2.0)
    assert bench.trial(baseline, changed(old, new)).outcome == outcome


def test_a_fault_that_breaks_more_than_may_be_is_none(bench, baseline):
    assert bench.trial(baseline, changed("min(", "max("), max_failing=0).outcome == "too many"


def test_a_fault_with_varying_test_results_is_unstable(bench, baseline, monkeypatch):
    real, runs = bench._run, []

    def run(files, *arguments, **options):
        runs.append(files)
        variant = files if len(runs) == 1 else changed("result -", "result +")
        return real(variant, *arguments, **options)

    monkeypatch.setattr(bench, "_run", run)
    assert bench.trial(baseline, changed("min(", "max(")).outcome == "unstable"
    assert len(runs) == 2


@pytest.mark.parametrize(
    ("tests", "reason"),
    [
        ("", "none is found"),
        ("import nothing_of_the_kind\n", "0 of 1 pass"),
        ("def test_a(): assert 0\ndef test_b(): assert 0\ndef test_c(): pass\n", "1 of 3 pass"),
    ],
)
def test_a_suite_that_says_nothing_is_refused(tmp_path, tests, reason):
    with (
        Workbench(make_library(tmp_path / "prices", tests)) as bench,
        pytest.raises(DataError, match=reason),
    ):
        bench.baseline()


@pytest.mark.slow
def test_a_suite_that_does_not_end_is_refused(tmp_path):
    tests = "import time\ndef test_a(): time.sleep(60)\n"
    with (
        Workbench(make_library(tmp_path / "prices", tests), timeout=2) as bench,
        pytest.raises(DataError, match="end within 2 s"),
    ):
        bench.baseline()


def test_flaky_tests_are_left_out(tmp_path):
    flaky = "\nimport uuid\n" + "".join(
        f"def test_flaky{n}(): assert uuid.uuid4().int % 2\n" for n in range(6)
    )
    with Workbench(make_library(tmp_path / "prices", TESTS + flaky)) as bench:
        first_run = bench.baseline()
    assert len(first_run.flaky) + len(first_run.tests) <= 12
    assert all("flaky" in test for test in first_run.flaky)
    assert sum("flaky" not in test for test in first_run.tests) == 6


def test_a_file_whose_tests_are_all_skipped_is_left_out(tmp_path):
    library = make_library(tmp_path / "prices")
    (library / "tests" / "test_more.py").write_text(
        "def test_a():\n    import pytest\n    pytest.skip()\n"
    )
    with Workbench(library) as bench:
        first_run = bench.baseline()
        assert first_run.files == ("tests/test_prices.py",)
        assert bench.trial(first_run, changed("min(", "max(")).outcome == "usable"

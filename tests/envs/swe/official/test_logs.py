"""What became of each test, read from logs; a log is text of a stranger."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym.envs.swe.official import logs
from agentgym.envs.swe.official.logs import LOG_FORMATS, STATUSES, statuses_of

SUMMARY = """\
============================= test session starts ==============================
tests/test_a.py .F.s                                                     [100%]
=================================== FAILURES ===================================
_________________________________ test_b ______________________________________
E       assert 5 == 9
=========================== short test summary info ============================
PASSED tests/test_a.py::test_a
PASSED tests/test_a.py::test_space[one two]
PASSED tests/test_a.py::test_dash[a - b]
SKIPPED [1] tests/test_a.py:9: not here
XFAIL tests/test_a.py::test_known[x y] - reason: later
XPASS tests/test_a.py::test_surprise - well
ERROR tests/test_c.py - ModuleNotFoundError: No module named 'c'
ERROR tests/test_a.py::test_setup[q]
FAILED tests/test_a.py::test_b - assert 5 == 9
FAILED tests/test_a.py::TestC::test_d[x - y] - ValueError: [1] - [2]
========================= 2 failed, 3 passed, 1 skipped in 0.03s ===============
"""


def test_the_summary_of_pytest() -> None:
    assert LOG_FORMATS["pytest"](SUMMARY) == {
        "tests/test_a.py::test_a": "PASSED",
        "tests/test_a.py::test_space[one two]": "PASSED",
        "tests/test_a.py::test_dash[a - b]": "PASSED",
        "tests/test_a.py::test_known[x y]": "XFAIL",
        "tests/test_a.py::test_surprise": "XPASS",
        "tests/test_c.py": "ERROR",
        "tests/test_a.py::test_setup[q]": "ERROR",
        "tests/test_a.py::test_b": "FAILED",
        "tests/test_a.py::TestC::test_d[x - y]": "FAILED",
    }


def test_verbose_lines_of_pytest() -> None:
    log = (
        "tests/test_a.py::test_a PASSED                                  [ 25%]\n"
        "tests/test_a.py::test_b[x y] FAILED [ 50%]\n"
        "tests/test_a.py::test_c SKIPPED (not here) [ 75%]\n"
        "\x1b[32mtests/test_a.py::test_d PASSED\x1b[0m\n"
        "[gw1] [100%] PASSED tests/test_b.py::test_e \n"
        "tests/test_f.py::test_f ERROR\n"
        "all of them PASSED\n"
    )
    assert LOG_FORMATS["pytest"](log) == {
        "tests/test_a.py::test_a": "PASSED",
        "tests/test_a.py::test_b[x y]": "FAILED",
        "tests/test_a.py::test_c": "SKIPPED",
        "tests/test_a.py::test_d": "PASSED",
        "tests/test_b.py::test_e": "PASSED",
        "tests/test_f.py::test_f": "ERROR",
    }


@pytest.mark.parametrize("order", [("PASSED", "FAILED"), ("FAILED", "PASSED")])
def test_of_several_statuses_of_a_test_the_worst_counts(order: tuple[str, str]) -> None:
    log = "".join(f"{status} a.py::t\n" for status in order)
    assert LOG_FORMATS["pytest"](log) == {"a.py::t": "FAILED"}


def test_paths_in_brackets_are_named_by_their_last_part() -> None:
    log = "PASSED a.py::t[/tmp/x/y.dcm]\nPASSED a.py::t[//host/z]\nPASSED a.py::u[a/b]\n"
    assert list(LOG_FORMATS["pytest-options"](log)) == [
        "a.py::t[/y.dcm]", "a.py::t[//host/z]", "a.py::u[a/b]",
    ]  # fmt: skip


def test_mouse_buttons_of_matplotlib() -> None:
    assert LOG_FORMATS["matplotlib"]("PASSED a.py::t[MouseButton.LEFT]") == {"a.py::t[1]": "PASSED"}


def test_names_of_r2e_gym_have_no_file() -> None:
    log = "PASSED before.py::no\n=== short test summary info ===\nPASSED r/t.py::TestA::test_b\n"
    assert LOG_FORMATS["r2e"](log) == {"TestA.test_b": "PASSED"}


def test_verbose_lines_of_unittest() -> None:
    log = (
        "Testing against Django installed in '/testbed/django'\n"
        "test_a (forms.tests.FormTests) ... ok\n"
        "test_b (forms.tests.FormTests)\n"
        "A form without fields is valid. ... FAIL\n"
        "test_c (forms.tests.FormTests) ... skipped 'no database'\n"
        "test_d (forms.tests.FormTests) ... Internal Server Error: /x/\n"
        "ok\n"
        "test_e (forms.tests.FormTests) ... expected failure\n"
        "test_f (forms.tests.FormTests.test_f) ... ERROR\n"
        "test_h (forms.tests.FormTests) ...\n"
        "System check identified no issues (0 silenced).\n"
        "ok\n"
        "======================================================================\n"
        "FAIL: test_g (forms.tests.FormTests) (kind='x')\n"
        "Ran 8 tests in 0.1s\n"
    )
    assert LOG_FORMATS["unittest"](log) == {
        "test_a (forms.tests.FormTests)": "PASSED",
        "A form without fields is valid.": "FAILED",
        "test_c (forms.tests.FormTests)": "SKIPPED",
        "test_d (forms.tests.FormTests)": "PASSED",
        "test_e (forms.tests.FormTests)": "XFAIL",
        "test_f (forms.tests.FormTests.test_f)": "ERROR",
        "test_h (forms.tests.FormTests)": "PASSED",
        "test_g (forms.tests.FormTests)": "FAILED",
    }


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("  Applying shop.0007_currency...test_rate (shop.T) ... ok", "test_rate (shop.T)"),
        ("Unapplying a.0001_b... test_down (a.T) ... OK", "test_down (a.T)"),
        ("test_upper (a.T) ... OK", "test_upper (a.T)"),
        ("test_wide (a.T) ...  OK", "test_wide (a.T)"),
        ("test_glued (a.T) ... x\nokTesting again", "test_glued (a.T)"),
        ("test_glued (a.T) ... \nokSystem check", "test_glued (a.T)"),
        ("Retries ... then gives up ... ok", "Retries ... then gives up"),
        (
            "test_outer (a.T) ... Testing against Django installed in '/x'\n"
            "test_inner (b.T) ... FAIL\n3 issues (0 silenced).\nok",
            "test_outer (a.T)",
        ),
    ],
)
def test_results_of_unittest_that_stand_in_odd_places(line: str, name: str) -> None:
    assert LOG_FORMATS["unittest"](line)[name] == "PASSED"


def test_a_migration_that_is_glued_to_a_test_may_be_part_of_its_name() -> None:
    line = "Applying shop.0007_currency...test_rate (shop.T) ... ok"
    glued = "Applying shop.0007_currency...test_rate (shop.T)"
    assert LOG_FORMATS["unittest"](line) == {"test_rate (shop.T)": "PASSED", glued: "PASSED"}
    assert LOG_FORMATS["unittest"]("Applying shop.0007_currency... OK") == {}


def test_what_a_test_prints_before_it_fails_does_not_pass_it() -> None:
    assert LOG_FORMATS["unittest"]("test_a (b.C) ... out\nokay\nFAIL\n") == {
        "test_a (b.C)": "FAILED"
    }


def test_a_reason_to_skip_may_hold_dots() -> None:
    log = "test_a (b.C) ... skipped 'only ... on Oracle'\ntest_d (b.C) ... skipped 'a ... ok.'"
    assert set(LOG_FORMATS["unittest"](log)) == {"test_a (b.C)", "test_d (b.C)"}


def test_reasons_of_pytest_with_brackets_and_names_with_reasons() -> None:
    log = (
        "a.py::t XFAIL (bug (#7) of x) [ 10%]\n"
        "a.py::u SKIPPED (a (b) c)\n"
        "a.py::v PASSEDprinted\n"
        "XFAIL a.py::w - till (2)\n"
    )
    statuses = LOG_FORMATS["pytest"](log)
    names = ["a.py::t", "a.py::u", "a.py::v", "a.py::w", "a.py::w - till (2)"]
    assert list(statuses_of(names, statuses).values()) == [
        "XFAIL", "SKIPPED", "PASSED", "XFAIL", "XFAIL",
    ]  # fmt: skip


def test_names_are_found_as_their_readers_cut_them() -> None:
    log = "PASSED a.py::t[/x y/z]\nPASSED a.py::u[q][/v/w]\nPASSED a.py::v[a  b]\n"
    statuses = LOG_FORMATS["pytest-options"](log)
    names = ["a.py::t[/x", "a.py::t[/z]", "a.py::u[q][/v/w]", "a.py::v[a b]"]
    assert set(statuses_of(names, statuses).values()) == {"PASSED"}


def test_the_log_of_sympy() -> None:
    log = (
        "sympy/core/tests/test_add.py[5] \n"
        "test_add ok\n"
        "test_mul F\n"
        "test_pow E\n"
        "test_later f\n"
        "test_slow s  [OK]\n"
        "________________ sympy/core/tests/test_add.py:test_mul ________________\n"
    )
    assert LOG_FORMATS["sympy"](log) == {
        "test_add": "PASSED",
        "test_mul": "FAILED",
        "test_pow": "ERROR",
        "test_later": "XFAIL",
        "test_slow": "SKIPPED",
        "sympy/core/tests/test_add.py:test_mul": "FAILED",
    }


def test_only_what_stands_between_the_markers_counts() -> None:
    log = (
        "PASSED before\n+ : '>>>>> Start Test Output'\nPASSED a.py::t\n"
        "printed by a test: >>>>> End Test Output\nFAILED a.py::u\n"
        "+ : '>>>>> End Test Output'\nPASSED after\n"
    )
    statuses = LOG_FORMATS["pytest"](logs.test_section(log))
    assert statuses == {"a.py::t": "PASSED", "a.py::u": "FAILED"}
    assert logs.test_section("no markers") == "no markers"


def test_names_that_were_cut_at_a_space_stand_for_all_that_begin_so() -> None:
    statuses = {
        "a.py::t[one two]": "PASSED",
        "a.py::t[one six]": "FAILED",
        "a.py::u[x y]": "PASSED",
    }
    assert statuses_of(["a.py::t[one", "a.py::u[x", "a.py::t[one two]", "a.py::v"], statuses) == {
        "a.py::t[one": "FAILED", "a.py::u[x": "PASSED", "a.py::t[one two]": "PASSED",
        "a.py::v": None,
    }  # fmt: skip


def test_times_in_names_do_not_count() -> None:
    assert statuses_of(["sums work [0.11 ms]"], {"sums work [7 ms]": "PASSED"}) == {
        "sums work [0.11 ms]": "PASSED"
    }


LINES = st.lists(
    st.one_of(
        st.text(max_size=40),
        st.sampled_from(
            [*STATUSES, "FAIL: ", " ... ", "ok", "test_x (a.B)", "___ a.py:b ___", "::"]
        ),
    ),
    max_size=12,
)


@given(LINES, st.sampled_from(sorted(LOG_FORMATS)), st.sampled_from(["\n", " ", ""]))
def test_any_text_can_be_read(lines: list[str], name: str, between: str) -> None:
    statuses = LOG_FORMATS[name](logs.test_section(between.join(lines)))
    assert set(statuses.values()) <= set(STATUSES)
    assert all(test.strip() for test in statuses)


NAMES = st.from_regex(re.compile(r"t_[a-z]+(\[[a-z][a-z -]*[a-z]\])?", re.ASCII), fullmatch=True)


@given(st.dictionaries(NAMES, st.sampled_from(["PASSED", "FAILED", "ERROR", "XFAIL"])))
def test_what_pytest_writes_is_read(results: dict[str, str]) -> None:
    ends = {"PASSED": "", "FAILED": " - assert [1] - [2]", "ERROR": "", "XFAIL": " - no"}
    log = "\n".join(f"{status} a.py::{test}{ends[status]}" for test, status in results.items())
    assert LOG_FORMATS["pytest"](log) == {f"a.py::{t}": status for t, status in results.items()}


def test_very_long_lines_take_no_time_to_speak_of() -> None:
    log = "PASSED " + "a[" * 1_000_000 + "\n" + "x " * 1_000_000 + "PASSED\n" + "test_" * 500_000
    for read_log in LOG_FORMATS.values():
        read_log(log)


def test_names_full_of_blanks_take_no_time_to_speak_of() -> None:
    """A solution can print them: each of these took a seventh of a second."""
    statuses = {f"t{number}{' ' * 3900}b": "PASSED" for number in range(3000)}
    assert statuses_of(["t7 b"], statuses) == {"t7 b": "PASSED"}

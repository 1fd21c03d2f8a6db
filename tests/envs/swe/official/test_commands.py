"""How the tests of a row are run: as the row says, or as its repository does."""

from __future__ import annotations

from typing import Any

from agentgym.envs.swe.official.commands import COMMANDS, FORMATS, PARSERS, RunPlan, plan_run
from agentgym.envs.swe.official.logs import LOG_FORMATS
from agentgym.envs.swe.official.sets import DATA_SETS
from tests.envs.swe.official.sample_rows import FAILS, PASSES, TEST_PATCH, rebench, rebench_v2


def plan(
    repo: str, row: dict[str, Any] | None = None, name: str = "swe-bench", patch: str = TEST_PATCH
) -> RunPlan:
    return plan_run(DATA_SETS[name], row or {}, repo, (*FAILS, *PASSES), patch)


def diff(*paths: str) -> str:
    return "".join(f"diff --git a/{path} b/{path}\nold mode 1\nnew mode 2\n" for path in paths)


def test_pytest_on_the_files_of_the_test_patch_unless_something_else_is_known() -> None:
    assert plan("quiet/ledger") == ("pytest -rA tests/test_sums.py", "pytest", False)
    odd = diff("tests/a b.py", "tests/$(id).py")
    assert plan("quiet/ledger", patch=odd).command == "pytest -rA 'tests/a b.py' 'tests/$(id).py'"


def test_without_a_test_patch_the_files_of_the_tests_are_run() -> None:
    assert plan("quiet/ledger", patch="").command == "pytest -rA tests/test_sums.py"


def test_django_runs_modules() -> None:
    patch = diff("tests/forms/tests/test_a.py", "tests/admin/tests.py", "tests/admin/models.py")
    run = plan("django/django", {"version": "3.1"}, patch=patch)
    assert run.command == f"{COMMANDS['django/django']} forms.tests.test_a admin.tests"
    assert run.log_format == "unittest"
    old = plan("django/django", {"version": "1.9"}, patch=diff("tests/admin/tests.py"))
    assert old.command == "./tests/runtests.py --verbosity 2 admin.tests"


def test_sympy_has_a_runner_and_a_log_of_its_own() -> None:
    run = plan("sympy/sympy", patch=diff("sympy/core/tests/test_a.py"))
    assert run.command.endswith("bin/test -C --verbose sympy/core/tests/test_a.py")
    assert run.log_format == "sympy"


def test_mypy_chooses_by_names() -> None:
    tests = ("mypy/test/testcheck.py::Check::testA", "mypy/test/testcheck.py::Check::testB")
    run = plan_run(DATA_SETS["swe-gym"], {}, "python/mypy", tests, diff("test-data/a.test"))
    assert run.command == "pytest -n0 -rA -k 'testA or testB'"


def test_commands_that_rows_name() -> None:
    assert plan("quiet/ledger", {"test_cmd": "make check"}).command == "make check"
    first = plan("quiet/ledger", rebench(), "swe-rebench")
    assert first.command == "pytest --no-header -rA --tb=line tests/test_sums.py"
    second = plan("quiet/ledger", rebench_v2(), "swe-rebench-v2")
    assert second == ("make -s build\npytest -rA tests/test_sums.py", "pytest", False)


def test_every_table_names_formats_that_exist() -> None:
    assert {*FORMATS.values(), *PARSERS.values()} <= set(LOG_FORMATS)
    assert plan("a/b", {"log_parser": "parse_log_django"}).log_format == "unittest"
    assert plan("a/b", {"log_parser": "sympy/sympy"}).log_format == "sympy"

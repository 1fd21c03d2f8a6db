from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

SUITE = """
import pytest

@pytest.fixture
def broken_at_the_end():
    yield
    raise RuntimeError

@pytest.mark.parametrize("text", ["plain", "two\\nlines", "déjà"])
def test_passes(text): pass
def test_fails(): assert False
def test_is_skipped(): pytest.skip()
def test_breaks_at_the_end(broken_at_the_end): pass
"""


@pytest.mark.slow
@pytest.mark.parametrize("workers", [[], ["-n", "2"]], ids=["alone", "workers"])
def test_what_has_passed_is_left_out_and_nothing_else(tmp_path: Path, workers: list[str]) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_suite.py").write_text(SUITE)

    def counts(option: str) -> dict[str, int]:
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            *workers,
            f"{option}={tmp_path / 'passed'}",
        ]
        output = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True).stdout
        words = re.findall(r"(\d+) (passed|failed|skipped|error)", output.splitlines()[-1])
        return {name: int(number) for number, name in words}

    assert counts("--passed") == {"passed": 4, "failed": 1, "skipped": 1, "error": 1}
    assert counts("--without") == {"passed": 1, "failed": 1, "skipped": 1, "error": 1}


CONFTEST = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
from tests import passed

def pytest_addoption(parser):
    passed.add_options(parser)

def pytest_configure(config):
    if (file := config.getoption("--passed")) and not hasattr(config, "workerinput"):
        config.pluginmanager.register(passed.PassedTests(file))

def pytest_collection_modifyitems(config, items):
    if file := config.getoption("--without"):
        items[:], others = passed.divide_passed(items, file)
        config.hook.pytest_deselected(items=others)
"""

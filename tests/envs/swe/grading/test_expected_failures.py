"""Which tests may fail by their own text."""

from __future__ import annotations

import pytest

from agentgym.envs.swe.grading.expected_failures import expected_failures, is_expected

TEXT = """
import pytest, unittest

@pytest.mark.xfail
def test_marked(): pass

@pytest.mark.parametrize("x", [1, pytest.param(2, marks=pytest.mark.xfail)])
def test_row(x): pass

def test_calls():
    pytest.xfail("known")

class TestA:
    pytestmark = [pytest.mark.xfail]
    def test_of_class(self): pass

class TestB(unittest.TestCase):
    @unittest.expectedFailure
    def test_method(self): pass
    def test_other(self): pass

def test_plain(): pass
"""


def test_functions_and_classes() -> None:
    names = expected_failures(TEXT)
    assert names == {"test_marked", "test_row", "test_calls", "TestA", "test_method"}
    assert expected_failures("pytestmark = pytest.mark.xfail\ndef test_a(): pass\n") == {"test_a"}
    assert expected_failures("def test_a(:  # xfail") == frozenset()


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ("tests/test_a.py::test_row[2]", True),
        ("tests/test_a.py::TestA::test_of_class", True),
        ("test_method (app.tests.TestB)", True),
        ("tests/test_a.py::test_plain[test_row]", False),
        ("tests/test_a.py::TestB::test_other", False),
    ],
)
def test_names_of_tests(test: str, expected: bool) -> None:
    assert is_expected(test, expected_failures(TEXT)) is expected

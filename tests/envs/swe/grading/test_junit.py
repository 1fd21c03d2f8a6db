"""The report of pytest, read back as pytest wrote it, and refused where it is none."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym.envs.swe.grading.junit import OUTCOMES, case_name, read_junit
from agentgym.errors import DataError

SUITE = """
import pytest
@pytest.mark.parametrize("x", ["a.b", "c::d", "e/f[g]"])
def test_parameters(x): assert x
class TestOuter:
    class TestInner:
        def test_deep(self): assert 1 == 2
def test_skipped(): pytest.skip("no")
@pytest.mark.xfail
def test_expected(): assert False
@pytest.fixture
def broken(): raise ValueError("set-up")
def test_error(broken): pass
@pytest.fixture
def late():
    yield
    raise ValueError("tear-down")
def test_late(late): pass
"""


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("suite")
    (folder / "tests").mkdir()
    (folder / "tests/test_a.py").write_text(SUITE)
    (folder / "tests/base.py").write_text("class Base:\n    def test_inherited(self): pass\n")
    (folder / "tests/test_b.py").write_text("from base import Base\nclass TestB(Base): pass\n")
    (folder / "test_broken.py").write_text("import nothing_of_the_kind\n")
    file = folder / "report.xml"
    arguments = ("-q", "-ojunit_family=xunit1", "--continue-on-collection-errors", "--rootdir=.")
    command = [sys.executable, "-m", "pytest", *arguments, f"--junitxml={file}", "-pno:xdist"]
    subprocess.run(command, cwd=folder, capture_output=True, timeout=120)
    return read_junit(file.read_bytes())


@pytest.mark.slow
def test_names_and_outcomes_are_those_of_pytest(report):
    assert {name: result.outcome for name, result in report.items()} == {
        "tests/test_a.py::test_parameters[a.b]": "passed",
        "tests/test_a.py::test_parameters[c::d]": "passed",
        "tests/test_a.py::test_parameters[e/f[g]]": "passed",
        "tests/test_a.py::TestOuter::TestInner::test_deep": "failed",
        "tests/test_a.py::test_skipped": "skipped",
        "tests/test_a.py::test_expected": "xfailed",
        "tests/test_a.py::test_error": "error",
        "tests/test_a.py::test_late": "error",
        "tests/test_b.py::TestB::test_inherited": "passed",
        "test_broken.py": "error",
    }


def test_a_failure_says_what_went_wrong(report):
    assert "assert 1 == 2" in report["tests/test_a.py::TestOuter::TestInner::test_deep"].message


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no xml",
        b"<testsuites>",
        b'<!DOCTYPE x [<!ENTITY a "b">]><x>&a;</x>',
        '<!DOCTYPE x [<!ENTITY a "b">]><x>&a;</x>'.encode("utf-16"),
    ],
)
def test_what_is_no_report_is_refused(content):
    with pytest.raises(DataError, match="expected a report"):
        read_junit(content)


@pytest.mark.parametrize(
    ("head", "part", "tail"), [(b"<x>", b"<a/>", b"</x>"), (b"<x ", b"a='' ", b"/>")]
)
def test_a_report_that_would_take_all_memory_is_not_parsed(head, part, tail):
    with pytest.raises(DataError, match="tags"):
        read_junit(head + part * 1_100_000 + tail)


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(content):
    try:
        results = read_junit(content)
    except DataError:
        return
    assert all(result.outcome in OUTCOMES for result in results.values())


@given(st.text(max_size=20), st.text(max_size=20), st.text(max_size=20))
def test_any_attributes_give_a_name(file, classname, name):
    assert isinstance(case_name(file, classname, name), str)

"""What became of each test, from the junit report of pytest."""

from __future__ import annotations

from collections.abc import Mapping
from xml.etree import ElementTree

from agentgym.envs.swe.grading.protection import is_protected

PASSED, FAILED, ERROR, SKIPPED, XFAIL = "PASSED", "FAILED", "ERROR", "SKIPPED", "XFAIL"
STATUSES = (PASSED, XFAIL, SKIPPED, FAILED, ERROR)
"""What can become of a test, the best first; of several reports of one test the worst counts."""
LARGEST_REPORT = 16 << 20
"""Most bytes of a report that is read."""


def read_junit(data: bytes) -> Mapping[str, str]:
    """Return the status of each test by its id, as pytest names it: ``tests/test_a.py::test_b[c]``.

    A report that is damaged, or that could blow up the parser, says nothing: it may have been
    written by the code under test.

    Args:
        data: A report of the family ``xunit1``, which names files.
    """
    # Entities are how small XML becomes large, and pytest writes none.
    if len(data) > LARGEST_REPORT or b"<!DOCTYPE" in data or b"<!ENTITY" in data:
        return {}
    try:
        root = ElementTree.fromstring(data)
    except (ElementTree.ParseError, ValueError, LookupError, RecursionError):
        return {}
    found: dict[str, str] = {}
    for case in root.iter("testcase"):
        test, status = _test_id(case), _status(case)
        worst = max(status, found.get(test, PASSED), key=STATUSES.index)
        found[test] = worst
    return found


def _test_id(case: ElementTree.Element) -> str:
    """Put the id of a test together from the three attributes that hold its parts."""
    file, name = case.get("file") or "", case.get("name") or ""
    module = file.removesuffix(".py").replace("/", ".")
    classes = (case.get("classname") or "").removeprefix(module).strip(".")
    return "::".join([file, *classes.split("."), name] if classes else [file, name])


def _status(case: ElementTree.Element) -> str:
    """Return what became of a test."""
    if case.find("error") is not None:
        return ERROR
    if case.find("failure") is not None:
        return FAILED
    skipped = case.find("skipped")
    if skipped is None:
        return PASSED
    if skipped.get("type") == "pytest.xfail":
        return XFAIL
    # A test may say that it does not apply here; source under test may not say it for the test.
    place = (skipped.text or "").partition(":")[0]
    outside = place.endswith(".py") and not place.endswith(case.get("file") or "\0")
    inside_tests = any(is_protected(place.removeprefix(root)) for root in ("", "/testbed/"))
    return FAILED if outside and not inside_tests else SKIPPED

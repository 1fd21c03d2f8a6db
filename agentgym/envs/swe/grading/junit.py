"""Parse pytest's JUnit XML report: the result of each test, by pytest's id."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import dataclass

from agentgym.errors import DataError

OUTCOMES = ("passed", "xfailed", "skipped", "failed", "error")
"""Outcomes of a test, from best to worst."""
LARGEST_REPORT = 64 << 20
"""Maximum size of a report, in bytes."""
MOST_TAGS, MOST_ATTRIBUTES = 400_000, 1_000_000
"""Maximum numbers of tags and attributes: parsed, each takes far more memory than its text."""


@dataclass(frozen=True)
class CaseResult:
    """The result of one test."""

    outcome: str
    """One of :data:`OUTCOMES`."""
    message: str = ""
    """Short error message."""
    text: str = ""
    """Full error message, as pytest shows it."""


def read_junit(content: bytes) -> dict[str, CaseResult]:
    """Parse a report written with ``-o junit_family=xunit1``.

    Args:
        content: The report. It comes from a box, so it may contain anything.

    Returns:
        The result of each test, by ids such as ``tests/test_a.py::TestB::test_c[1]``. A file that
        could not be collected has its own path as id, and the outcome ``error``.

    Raises:
        DataError: The report is too large or invalid.
    """
    if len(content) > LARGEST_REPORT:
        raise DataError(
            f"expected a report of at most {LARGEST_REPORT:,} bytes, got {len(content):,}"
        )
    if b"<!DOCTYPE" in content or b"<!ENTITY" in content:  # entities could grow without bound
        raise DataError("expected a report as pytest writes it, got one with a document type")
    if content.count(b"<") > MOST_TAGS or content.count(b"=") > MOST_ATTRIBUTES:
        raise DataError(
            f"expected a report of at most {MOST_TAGS:,} tags and {MOST_ATTRIBUTES:,} attributes, "
            "got more"
        )
    try:
        # Parse text, not bytes: in another encoding, the checks above could miss "<!DOCTYPE".
        root = ET.fromstring(content.decode())
    except (ET.ParseError, ValueError) as error:
        raise DataError(f"expected a report as pytest writes it, got no XML: {error}") from error
    results: dict[str, CaseResult] = {}
    for case in root.iter("testcase"):
        name = case_name(case.get("file", ""), case.get("classname", ""), case.get("name", ""))
        result = _result(case)
        earlier = results.get(name)
        if earlier is None or OUTCOMES.index(result.outcome) > OUTCOMES.index(earlier.outcome):
            results[name] = result
    return results


def case_name(file: str, classname: str, name: str) -> str:
    """Return pytest's id of a test, from the attributes of its ``testcase`` element.

    Args:
        file: Path of the file, relative to the repository.
        classname: Module and classes, joined by dots.
        name: Name of the function, with its parameters.
    """
    if not classname:  # a file that could not be collected
        return file or name.replace(".", "/") + ".py"
    module = file.removesuffix(".py").replace("/", ".")
    if file and (classname == module or classname.startswith(f"{module}.")):
        inside = classname.removeprefix(module).lstrip(".")
    else:  # an inherited test: the report names the file of the base class
        parts = classname.split(".")
        classes = [part for part in parts if part[:1].isupper()]
        first = parts.index(classes[0]) if classes else len(parts)
        file, inside = "/".join(parts[:first]) + ".py", ".".join(parts[first:])
    return "::".join((file, *filter(None, inside.split(".")), name))


def _result(case: ET.Element) -> CaseResult:
    """Return the worst result of a test in the report; set-up and tear-down add their own."""
    worst = CaseResult("passed")
    for child in case:
        if child.tag == "skipped":
            xfailed = "xfail" in (child.get("type") or "")
            outcome = "xfailed" if xfailed else "skipped"
        elif child.tag in ("failure", "error"):
            outcome = "failed" if child.tag == "failure" else "error"
        else:
            continue
        if OUTCOMES.index(outcome) > OUTCOMES.index(worst.outcome):
            worst = CaseResult(outcome, child.get("message") or "", child.text or "")
    return worst

"""Reading the report that pytest writes: what became of each test, by the name pytest gives it."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import dataclass

from agentgym.errors import DataError

OUTCOMES = ("passed", "xfailed", "skipped", "failed", "error")
"""What becomes of a test, from best to worst."""
LARGEST_REPORT = 64 << 20
"""Bytes of a report that are read; a larger one is refused."""
MOST_TAGS, MOST_ATTRIBUTES = 400_000, 1_000_000
"""Tags and attributes of a report that is parsed: each costs much more memory than it is long."""


@dataclass(frozen=True)
class CaseResult:
    """What became of one test."""

    outcome: str
    """One of :data:`OUTCOMES`."""
    message: str = ""
    """The first lines of what went wrong."""
    text: str = ""
    """The whole of it, as pytest shows it."""


def read_junit(content: bytes) -> dict[str, CaseResult]:
    """Read a report written with ``-o junit_family=xunit1``.

    Args:
        content: The file. It comes out of a box, so it may hold anything.

    Returns:
        What became of each test, by names such as ``tests/test_a.py::TestB::test_c[1]``. A file
        that could not be collected stands under its own path, with the outcome ``error``.

    Raises:
        DataError: It is no such report.
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
        # As text, so that no other encoding hides from the parser's eyes what was looked for above.
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
    """Return the name that pytest gives a test, from the attributes of its report.

    Args:
        file: Its file, relative to the repository.
        classname: Module and classes, with dots.
        name: The name of the function, with its parameters.
    """
    if not classname:  # a file that could not be collected
        return file or name.replace(".", "/") + ".py"
    module = file.removesuffix(".py").replace("/", ".")
    if file and (classname == module or classname.startswith(f"{module}.")):
        inside = classname.removeprefix(module).lstrip(".")
    else:  # inherited from a class of another file, which is the one that the report names
        parts = classname.split(".")
        classes = [part for part in parts if part[:1].isupper()]
        first = parts.index(classes[0]) if classes else len(parts)
        file, inside = "/".join(parts[:first]) + ".py", ".".join(parts[first:])
    return "::".join((file, *filter(None, inside.split(".")), name))


def _result(case: ET.Element) -> CaseResult:
    """Return the worst that a report says of a test."""
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

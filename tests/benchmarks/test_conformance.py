"""What the conformance suite said is read from its report."""

from __future__ import annotations

from pathlib import Path

from benchmarks.conformance import DOORS, ROOT, outcomes


def test_outcomes_are_read_from_a_report(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text(
        '<testsuites><testsuite><testcase name="a"/>'
        '<testcase name="b"><failure message="they differ">x</failure></testcase>'
        '<testcase name="c"><skipped message="not installed"/></testcase></testsuite></testsuites>'
    )
    assert list(outcomes(report)) == [
        ("passed", ""),
        ("failure", "they differ"),
        ("skipped", "not installed"),
    ]


def test_every_door_has_its_tests() -> None:
    for name, _ in DOORS.values():
        text = (ROOT / f"tests/conformance/test_{name}.py").read_text()
        assert "def test_episodes_are_those_of_gymnasium(" in text

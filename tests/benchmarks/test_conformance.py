"""What the conformance suite said is read from its report; Gymnasium plays for all doors once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentgym.core.outcome import Outcome
from agentgym.registration import FAMILIES
from benchmarks.conformance import DOORS, ROOT, outcomes
from benchmarks.tables import doors
from tests.conformance import episodes as played
from tests.toy import ToyEnv


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


def test_gymnasium_plays_once_for_all_doors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Lost(ToyEnv):
        """Cannot be played."""

        def _act(self, action: str) -> Outcome:
            raise OSError("the engine is gone")

    monkeypatch.setattr(played, "ASKED", "2:6")
    first = played.episodes(ToyEnv(), "toy")
    assert [episode.index for episode in first] == [2, 3, 4, 5]
    monkeypatch.setattr(played, "KEPT", str(tmp_path))
    assert played.episodes(ToyEnv(), "toy") == first == played.episodes(Lost(), "toy")
    with pytest.raises(OSError, match="gone"):
        played.episodes(Lost(), "toy", ["other texts"])
    with pytest.raises(OSError, match="gone"):
        played.episodes(Lost(grammar="xml"), "toy")


def test_rows_of_further_tasks_are_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    def row(first: int, tasks: int, failure: int = 0) -> dict[str, Any]:
        tests = {"failure": failure, "error": 0}
        return {
            "door": "http", "env": FAMILIES[0].id, "first": first, "tasks": tasks,
            "tests": tests, "told": "another text",
        }  # fmt: skip

    def cell(*rows: dict[str, Any]) -> str:
        monkeypatch.setattr(doors, "result", lambda name: {"rows": rows})
        return doors.doors_table()[1][1]

    assert cell(row(25, 100), row(0, 25)) == "100"
    assert cell(row(30, 100), row(0, 25)) == "25", "five tasks are missing"
    assert cell(row(0, 25, failure=1), row(25, 100)) == "differs: another text"
    assert cell(row(25, 100, failure=1), row(0, 25)) == "differs: another text"
    assert cell(row(25, 100)) == ""


def test_every_door_has_its_tests() -> None:
    for name, _ in DOORS.values():
        text = (ROOT / f"tests/conformance/test_{name}.py").read_text()
        assert "def test_episodes_are_those_of_gymnasium(" in text

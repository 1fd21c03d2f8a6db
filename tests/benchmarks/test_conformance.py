"""What the conformance suite said is read from its report; Gymnasium plays for all doors once."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentgym.core.outcome import Outcome
from benchmarks.conformance import DOORS, ROOT, outcomes
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

    monkeypatch.setattr(played, "ASKED", "6")
    first = played.episodes(ToyEnv(), "toy")
    monkeypatch.setattr(played, "KEPT", str(tmp_path))
    assert played.episodes(ToyEnv(), "toy") == first == played.episodes(Lost(), "toy")
    with pytest.raises(OSError, match="gone"):
        played.episodes(Lost(), "toy", ["other texts"])
    with pytest.raises(OSError, match="gone"):
        played.episodes(Lost(grammar="xml"), "toy")


def test_every_door_has_its_tests() -> None:
    for name, _ in DOORS.values():
        text = (ROOT / f"tests/conformance/test_{name}.py").read_text()
        assert "def test_episodes_are_those_of_gymnasium(" in text

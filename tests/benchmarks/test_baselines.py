"""What learns nothing is played anew: stored results drift where the code does."""

from __future__ import annotations

import json
from typing import Any

import pytest

from benchmarks.baselines import CHEAP, main, play
from benchmarks.tables.formats import RESULTS, result
from benchmarks.tables.training import TRAININGS

COMMANDED = "textworld"
"""Family that the command plays in a test, with all of its arms."""
AGAIN = "run: python -m benchmarks.baselines > benchmarks/results/baselines.json"


@pytest.mark.slow
@pytest.mark.parametrize("family", [family for family in CHEAP if family != COMMANDED])
def test_the_cheapest_arm_comes_to_what_is_stored(family: str) -> None:
    arm = CHEAP[family]
    assert play(family, arm) == result("baselines.json")["families"][family][arm], AGAIN


@pytest.mark.parametrize(
    "name", [name for name, training in TRAININGS.items() if training.defaults]
)
def test_trainings_are_compared_on_the_tasks_of_the_baselines(name: str) -> None:
    training = TRAININGS[name]
    stored: dict[str, Any] = result("baselines.json")["families"][training.family]
    for row in json.loads((RESULTS / training.file).read_text())["families"][training.family]:
        for baseline in stored.values():
            assert baseline["panel_sha256"] == row["evaluation"]["panel_sha256"], AGAIN


def test_the_demonstrator_is_still_the_one_that_was_compared() -> None:
    """Differences to it are paired episode by episode, and are not played anew."""
    for name in ("webshop", "alfworld", "textworld", "search"):
        training = TRAININGS[name]
        demonstrator = result("baselines.json")["families"][training.family]["demonstrator"]
        for row in result(training.file)["families"][training.family]:
            assert row["success"][training.demonstrator] == demonstrator["success"]
            assert row["score"][training.demonstrator] == pytest.approx(demonstrator["score"])


@pytest.mark.slow
def test_the_command_prints_what_a_result_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--families", COMMANDED]) == 0
    output = json.loads(capsys.readouterr().out)
    assert output["families"][COMMANDED] == result("baselines.json")["families"][COMMANDED], AGAIN
    assert output["measured"]["n"] == [150]

"""What follows from how often good and bad choices succeed, and that demonstrators make both."""

from __future__ import annotations

import json

import pytest

from benchmarks.lucky_demonstrators import FAMILIES, expected, main


def test_a_filter_is_beaten_where_luck_outnumbers_the_good_choice() -> None:
    figures = expected([True] * 15, [True] * 34 + [False] * 51)
    assert figures["good_share"] == 0.15
    assert figures["success"] == 0.49
    assert figures["good_among_successes"] == pytest.approx(15 / 49)
    assert figures["perfect_filter"] == pytest.approx(15 / 49 + 34 / 49 * 0.4)


def test_a_filter_is_perfect_where_the_bad_choice_always_fails() -> None:
    assert expected([True], [False] * 9)["perfect_filter"] == 1.0


@pytest.mark.slow
@pytest.mark.parametrize("name", FAMILIES)
def test_each_demonstrator_makes_both_choices(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--families", name, "--n", "40"]) == 0
    figures = json.loads(capsys.readouterr().out)["families"][name]
    assert 0 < figures["good_share"] < 0.45
    assert figures["bad_success"] < figures["perfect_filter"] < figures["good_success"]

"""Tables of results: how numbers are written, and what the tables say of the stored files."""

from __future__ import annotations

import pytest

from benchmarks.studies.fork_credit import FAMILIES, METHODS
from benchmarks.tables import (
    fork_credit,
    formats,
    horizons,
    method_rates,
    methods,
    origins,
    played_methods,
    training,
)


@pytest.mark.parametrize(
    ("value", "written"),
    [(0.9764, ".976"), (-0.0391, "-.039"), (1.0, "1.000"), (0.0, ".000"), (0.99996, "1.000")],
)
def test_shares(value: float, written: str) -> None:
    assert formats.share(value) == written


def test_differences_and_large_numbers() -> None:
    assert formats.difference(0.398, (0.352, 0.441)) == "+.398 [.352, .441]"
    assert formats.bold_without_zero(-0.1, (-0.2, -0.05)) == "**-.100 [-.200, -.050]**"
    assert formats.bold_without_zero(0.1, (-0.2, 0.3)) == "+.100 [-.200, .300]"
    assert formats.bold_without_zero(0.1, None) == "+.100", "of one seed there is no interval"
    large = (25_683, 3_495, 57_344, 18.3, 376, 975.6, 134_519)
    assert [formats.about(each) for each in large] == [
        "25,700", "3,500", "57,300", "18", "380", "980", "135,000",
    ]  # fmt: skip
    assert formats.two(0.9649) == ".96" and formats.two(1.044) == "1.04"


def test_a_table_is_markdown() -> None:
    assert formats.markdown([["", "a"], ["b", ""]]) == "| | a |\n|---|---|\n| b | |\n"


def test_the_gain_over_seeds_is_students_and_says_where_zero_is_inside() -> None:
    """Recomputed by a reader of the stored values: ALFWorld +.113 [-.062, .288]."""
    rows = {row[0]: row for row in training.gains_table()}
    assert rows["imitation, ALFWorld"][2].count(";") == 4, "each seed beside it"
    house = {row[0]: row for row in training.training_table("alfworld hesitant")}
    assert house["trained minus imitation"][1] == "+.113 [-.062, .288]"
    hurried = {row[0]: row for row in training.training_table("webshop hurried")}
    assert hurried["trained minus imitation"][1] == "**+.318 [.012, .624]**"
    hesitant = {row[0]: row for row in training.training_table("textworld hesitant")}
    assert hesitant["trained minus imitation"][1] == "**+.120 [.023, .217]**"
    assert hesitant["trained minus demonstrator"][1] == "+.153 [-.190, .496]"


def test_the_map_of_horizons_states_its_power() -> None:
    found = horizons.power()
    assert found["differences"] == 56
    assert found["median"] == pytest.approx(0.087, abs=5e-4)
    assert found["share"] == pytest.approx(0.82, abs=5e-3)


def test_arms_of_the_map_are_read_where_the_one_with_the_fewest_updates_ended() -> None:
    def curve(success: list[float]) -> dict[str, list[float]]:
        return {"success": success, "turns": [100.0 * number for number in range(len(success))]}

    found = {
        "cells": {
            "weak/mixed": {
                "schedules": {
                    "long": {"curves": [curve([0.0, 0.4, 0.6])]},  # after 0, 4 and 6 updates
                    "short": {"curves": [curve([0.0, 0.8, 1.0])]},  # after 0, 8 and 9
                }
            }
        },
        "runs": {
            "weak/mixed/long": {"settings": ["--eval.every", "4"], "runs": [{"steps": 6}]},
            "weak/mixed/short": {"settings": ["--eval.every", "8"], "runs": [{"steps": 9}]},
        },
    }
    at = horizons.at_equal_updates(found, "weak/mixed")
    assert at["updates"] == [6]
    assert at["success"] == {"long": (0.6,), "short": (pytest.approx(0.6),)}
    assert at["turns"] == {"long": (200.0,), "short": (75.0,)}


def test_at_equal_updates_a_short_horizon_has_played_fewer_turns() -> None:
    rows = horizons.equal_updates_table()[1:]
    assert len(rows) == 18
    for row in rows:
        long, short = (int(words.replace(",", "")) for words in row[3].split(", "))
        assert short < long, row[:2]


def test_a_part_of_another_commit_has_a_row_of_its_own() -> None:
    rows = [row for row in origins.origins_table() if "async_training" in row[0]]
    assert [row[2] for row in rows] == ["f195820", "8e80e70"]
    (horizon,) = [row for row in origins.origins_table() if "horizon_map" in row[0]]
    assert horizon[2].startswith("runs: ") and horizon[2].count(",") == 5


def test_every_preset_was_played_on_the_toy() -> None:
    assert [row[0] for row in methods.methods_table() if row[-1] == "not played"] == []
    rows = {row[0]: row for row in played_methods.played_methods_table()}
    assert rows["`matpo`"][-1] and not rows["`turn-loo` with workers"][-1], "its control"


def test_what_fell_apart_was_played_at_lower_rates_beside_turn_loo() -> None:
    head, *rows = method_rates.rates_table()
    assert head[1:4] == [".003", ".001", ".0003"]
    found = {row[0]: row for row in rows}
    for name in ("istar", "archer", "sweet"):
        assert all(found[f"`{name}`"][1:4]) and found[f"`{name}`"][-1].endswith("]")


def test_forks_stand_beside_three_methods_in_every_family() -> None:
    _, *rows = fork_credit.families_table()
    assert [row[0] for row in rows] == [
        f"{fork_credit.TITLES[family]}, `{method}`" for family in FAMILIES for method in METHODS
    ]
    assert all(cell.count(";") == 2 for row in rows for cell in row[4:]), "a figure a seed"

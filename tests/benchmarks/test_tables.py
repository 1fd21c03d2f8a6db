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
    overview,
    played_methods,
    scripts,
    training,
)
from benchmarks.tables.formats import RESULTS
from benchmarks.tables.reports import REPORTS


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.9764, ".976"), (-0.0391, "-.039"), (1.0, "1.000"), (0.0, ".000"), (0.99996, "1.000")],
)
def test_shares(value: float, text: str) -> None:
    assert formats.share(value) == text


def test_differences_and_large_numbers() -> None:
    assert formats.difference(0.398, (0.352, 0.441)) == "+.398 [.352, .441]"
    assert formats.bold_without_zero(-0.1, (-0.2, -0.05)) == "**-.100 [-.200, -.050]**"
    assert formats.bold_without_zero(0.1, (-0.2, 0.3)) == "+.100 [-.200, .300]"
    assert formats.bold_without_zero(0.1, None) == "+.100", "of one seed there is no interval"
    large = (25_683, 3_495, 57_344, 18.3, 376, 975.6, 134_519)
    assert [formats.about(number) for number in large] == [
        "25,700", "3,500", "57,300", "18", "380", "980", "135,000",
    ]  # fmt: skip
    assert formats.two(0.9649) == ".96" and formats.two(1.044) == "1.04"


def test_a_table_is_markdown() -> None:
    assert formats.markdown([["", "a"], ["b", ""]]) == "| | a |\n|---|---|\n| b | |\n"


def test_the_gain_over_seeds_is_students_and_says_where_zero_is_inside() -> None:
    """Recomputed by a reader of the stored values: ALFWorld +.113 [-.062, .288]."""
    rows = {row[0]: row for row in training.gains_table()}
    assert rows["ALFWorld, 5"][-1] == "**+.180 [.133, .227]**"
    default = {row[0]: row for row in training.training_table("alfworld")}
    assert default["trained minus bc"][2].count(";") == 4, "each seed beside it"
    house = {row[0]: row for row in training.training_table("alfworld hesitant")}
    assert house["trained minus bc"][1] == "+.113 [-.062, .288]"
    hurried = {row[0]: row for row in training.training_table("webshop hurried")}
    assert hurried["trained minus bc"][1] == "**+.318 [.012, .624]**"
    hesitant = {row[0]: row for row in training.training_table("textworld hesitant")}
    assert hesitant["trained minus bc"][1] == "**+.120 [.023, .217]**"
    assert hesitant["trained minus demonstrator"][1] == "+.153 [-.190, .496]"


def test_the_map_of_horizons_states_its_power() -> None:
    power = horizons.power()
    assert power["differences"] == 56
    assert power["median"] == pytest.approx(0.087, abs=5e-4)
    assert power["share"] == pytest.approx(0.82, abs=5e-3)


def test_arms_of_the_map_are_read_where_the_one_with_the_fewest_updates_ended() -> None:
    def curve(success: list[float]) -> dict[str, list[float]]:
        return {"success": success, "turns": [100.0 * number for number in range(len(success))]}

    figures = {
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
    at_equal = horizons.at_equal_updates(figures, "weak/mixed")
    assert at_equal["updates"] == [6]
    assert at_equal["success"] == {"long": (0.6,), "short": (pytest.approx(0.6),)}
    assert at_equal["turns"] == {"long": (200.0,), "short": (75.0,)}


def test_at_equal_updates_a_short_horizon_has_played_fewer_turns() -> None:
    figures = formats.result(horizons.FILE)
    assert len(figures["cells"]) == 18
    for cell in figures["cells"]:
        turns = horizons.at_equal_updates(figures, cell)["turns"]
        assert sum(turns["short"]) < sum(turns["long"]), cell


def test_commits_of_parts_and_runs_are_named() -> None:
    (row,) = [row for row in origins.origins_table("training_speed") if "async" in row[0]]
    assert row[2] == "f195820, 8e80e70 (`throughput`)"
    _, horizon = origins.origins_table("horizons")
    assert horizon[2].count(",") == 5


def test_a_command_is_shown_without_the_folders_it_wrote() -> None:
    command = origins.command_of("alfworld_training_gain.json")
    assert command == "python -m benchmarks.studies training_gain --only alfworld --seeds 5"
    assert "lets nothing through" not in origins.command_of("harbor_docker.json")


def test_every_result_has_one_report() -> None:
    reported = [file for files in REPORTS.values() for file in files]
    assert sorted(reported) == sorted(path.name for path in RESULTS.glob("*.json"))


def test_a_claim_names_the_strongest_baseline_and_whether_it_is_significant() -> None:
    claims = {row[0].partition("]")[0]: row[1] for row in overview.claims_table()[1:]}
    shop = "[WebShop: RL ends above `demonstrator`, stronger than every baseline"
    assert claims[shop] == "+.243 [.125, .361], 5 seeds"
    sums = "[MathPython: RL ends above `filtered-bc`, the strongest baseline"
    assert claims[sums] == "+.136 [.054, .218], 5 seeds"
    crafts = "[TextCraft: RL is not significantly above `filtered-bc`, the strongest baseline"
    assert claims[crafts] == "+.155 [-.276, .586], 3 seeds"
    assert any("RL ends below" in claim for claim in claims), "what did not work is there"


def test_every_script_is_listed_with_its_report() -> None:
    rows = {row[0]: row for row in scripts.scripts_table()[1:]}
    assert rows["`python -m benchmarks.peers`"][2] == (
        "[environment_speed](reports/environment_speed.md)"
    )
    assert "`python -m benchmarks.studies recipes`" in rows
    assert all(row[1] for row in rows.values())


UNPLAYED = {"`on-policy-distillation`", "`self-distillation`"}
"""Presets that need a teacher, which the study has not got."""


def test_every_preset_was_played_on_the_toy() -> None:
    rows = {row[0]: row for row in played_methods.played_methods_table()}
    assert {row[0] for row in methods.methods_table()[1:]} - set(rows) == UNPLAYED
    assert rows["`matpo`"][-1] and not rows["`turn-loo` with workers"][-1], "its control"


def test_what_fell_apart_was_played_at_lower_rates_beside_turn_loo() -> None:
    head, *rows = method_rates.rates_table()
    assert head[1:4] == [".003", ".001", ".0003"]
    by_name = {row[0]: row for row in rows}
    for name in ("istar", "archer", "sweet"):
        assert all(by_name[f"`{name}`"][1:4]) and by_name[f"`{name}`"][-1].endswith("]")


def test_forks_stand_beside_three_methods_in_every_family() -> None:
    _, *rows = fork_credit.families_table()
    assert [row[0] for row in rows] == [
        f"{fork_credit.TITLES[family]}, `{method}`" for family in FAMILIES for method in METHODS
    ]
    assert all(cell.count(";") == 2 for row in rows for cell in row[4:]), "a figure a seed"

"""The curves of several seeds: a thin line each, their mean with its band, and what they reach."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.trainers.pictures import drawn
from trainers.output.curve import NAMES
from trainers.output.seed_curve import draw_seeds, seed_panels


@pytest.fixture(autouse=True, scope="module")
def pictures() -> Iterator[None]:
    with drawn():
        yield


def records(level: float, steps: tuple[int, ...] = (0, 2, 4)) -> list[dict[str, Any]]:
    """Records of a run whose validations rise from a level."""
    valid = [
        {"phase": "valid", "step": step, "score": level + step / 20, "success": level}
        for step in steps
    ]
    row = {"score": level, "success": level > 0.4, "stop_reason": "done"}
    arms = [
        {"phase": "eval", "arm": arm, "rows": [row]} for arm in ("random", "warm-start", "trained")
    ]
    return [*valid, *arms]


def test_panels_say_which_figures_are_over_seeds() -> None:
    panels, keys = seed_panels(
        [records(0.3), records(0.45), records(0.5)], {**NAMES, "trained": "trained"}, [4, 3, 2]
    )
    labels = [key.label for key in keys]
    assert labels == [
        "random, test",
        "warm-start, test, mean over seeds",
        "validation tasks, mean over seeds (band: 95 %)",
        "trained, test, each seed",
    ]
    assert set(panels) == {"score", "success"} and all("<svg" in panel for panel in panels.values())


def test_two_seeds_or_equal_ones_have_no_band() -> None:
    for seeds in ([records(0.3), records(0.5)], [records(0.3)] * 3):
        panels, keys = seed_panels(seeds, NAMES, [4] * len(seeds))
        assert "validation tasks, mean over seeds" in [key.label for key in keys]
        assert all("<svg" in panel for panel in panels.values())


def test_seeds_that_were_validated_at_other_steps_are_averaged_where_all_were() -> None:
    some = [records(0.3), records(0.5, (0, 3))]
    assert draw_seeds(some, NAMES, [4, 3], "two shops").startswith(b"\x89PNG")
    nowhere = [records(0.3, (1,)), records(0.5, (2,))]
    _, keys = seed_panels(nowhere, NAMES, [1, 2])
    assert not [key for key in keys if "mean over seeds (band" in key.label]


def test_each_of_several_environments_has_a_row() -> None:
    def of_two(level: float) -> list[dict[str, Any]]:
        parts = {name: {"score": level, "success": level} for name in ("shop", "maze")}
        return [{"phase": "valid", "step": 2, "families": parts, "score": level, "success": level}]

    single = draw_seeds([records(0.3), records(0.5)], NAMES, [4, 4], "")
    two = draw_seeds([of_two(0.3), of_two(0.5)], NAMES, [2, 2], "")
    height = [int.from_bytes(picture[20:24], "big") for picture in (single, two)]
    assert height[1] > 1.5 * height[0]

"""The least time of a training step, against numbers worked by hand."""

from __future__ import annotations

import pytest

from benchmarks.roofline import Machine, Work, roofline, work_of
from trainers.models.memory import ModelShape

SHAPE = ModelShape(
    layers=2, hidden=8, intermediate=16, queries=4, keys=4, vocabulary=10, parameters=0,
    matrices=1000, ends=0,
)  # fmt: skip


def test_work_is_counted_by_turns():
    """Two turns, of which the second's prompt holds the first, and an episode of one turn."""
    work = work_of([[(3, 2), (7, 1)], [(4, 2)], []])
    assert work == Work(tokens=8 + 6, sampled=5, pairs=36 + 21, read=(3 + 4) + 7 + (4 + 5))


def test_the_least_time_is_products_and_bytes():
    work = Work(tokens=14, sampled=5, pairs=57, read=23)
    times = roofline(SHAPE, work, Machine(products=1000.0, bandwidth=100.0))
    forward = 2 * 1000 * 14 + 2 * 10 * 8 * 5 + 4 * 2 * 4 * 57
    assert times["generation_products"] == pytest.approx(forward / 1000)
    assert times["generation_reading"] == pytest.approx(23 * 2 * 2 * 4 * 4 / 100)
    assert times["update"] == pytest.approx(3 * forward / 1000)
    assert times["step"] == pytest.approx(times["generation"] + times["update"])

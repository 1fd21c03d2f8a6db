"""Intervals hold what they promise: 95 % of the time, at the edges and with few values, too."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym.errors import ConfigurationError
from agentgym.support.statistics import (
    mean_ci95,
    mean_over_trainings,
    paired_difference,
    why_no_interval,
    wilson_ci95,
)

LEAST = 0.93
"""Of a nominal 95 %: results come in whole numbers, so no simple interval has exactly that."""
RATES = (
    0.0,
    0.001,
    0.005,
    0.01,
    0.03,
    0.07,
    0.15,
    0.3,
    0.42,
    0.5,
    0.63,
    0.8,
    0.9,
    0.97,
    0.995,
    1.0,
)


def binomial(n: int, rate: float) -> list[float]:
    return [math.comb(n, k) * rate**k * (1 - rate) ** (n - k) for k in range(n + 1)]


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 10, 30, 100, 300])
def test_coverage_of_solved_or_not_is_exact_arithmetic(n):
    intervals = [mean_ci95([1.0] * k + [0.0] * (n - k), (0.0, 1.0)) for k in range(n + 1)]
    for rate in RATES:
        hits = [low - 1e-12 <= rate <= high + 1e-12 for _, low, high in intervals]
        covered = sum(p for p, inside in zip(binomial(n, rate), hits, strict=True) if inside)
        assert covered >= LEAST, rate


def pairs(n: int, better: int, worse: int) -> tuple[list[float], list[float]]:
    """Results of two policies of which the first alone solved ``better`` of n tasks."""
    ties = [0.0] * (n - better - worse)
    return [1.0] * better + [0.0] * worse + ties, [0.0] * better + [1.0] * worse + ties


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 12, 25])
def test_coverage_of_paired_success_is_exact_arithmetic(n):
    counts = [(a, b) for a in range(n + 1) for b in range(n + 1 - a)]
    intervals = {(a, b): paired_difference(*pairs(n, a, b)) for a, b in counts}
    for better in RATES:
        for worse in RATES:
            equal_share = 1 - better - worse
            if equal_share < -1e-9:
                continue
            covered = 0.0
            for a, b in counts:
                _, low, high = intervals[a, b]
                if low - 1e-9 <= better - worse <= high + 1e-9:
                    ways = math.comb(n, a) * math.comb(n - a, b)
                    covered += ways * better**a * worse**b * max(equal_share, 0.0) ** (n - a - b)
            assert covered >= LEAST, (better, worse)


Draw = Callable[[np.random.Generator, int], np.ndarray]
SCORES: dict[str, tuple[Draw, float]] = {
    "uniform": (lambda rng, n: rng.uniform(size=n), 0.5),
    "nearly solved": (lambda rng, n: rng.beta(20, 2, n), 20 / 22),
    "mostly nothing": (lambda rng, n: rng.beta(0.05, 0.5, n), 0.05 / 0.55),
    "rarely lost": (lambda rng, n: np.where(rng.uniform(size=n) < 0.03, 0.0, 0.9), 0.9 * 0.97),
    "rarely won": (lambda rng, n: np.where(rng.uniform(size=n) < 0.02, 1.0, 0.25), 0.25 + 0.015),
    "always alike": (lambda rng, n: np.full(n, 0.7), 0.7),
}


@pytest.mark.parametrize("kind", SCORES)
@pytest.mark.parametrize("n", [1, 2, 3, 5, 20, 100])
def test_coverage_of_scores(kind, n):
    draw, mean = SCORES[kind]
    rng = np.random.default_rng(n)
    estimates = [mean_ci95(draw(rng, n), (0.0, 1.0)) for _ in range(1500)]
    covered = sum(low <= mean <= high for _, low, high in estimates) / len(estimates)
    assert covered >= LEAST - 0.015  # two and a half standard errors of the simulation


@pytest.mark.parametrize("n", [2, 5, 30, 100])
def test_coverage_of_paired_scores(n):
    rng = np.random.default_rng(n)
    hits = 0
    for _ in range(1500):
        base = rng.beta(0.6, 0.4, n)
        rarely = rng.uniform(size=n) < 0.04
        held_low, held_high = paired_difference(np.where(rarely, 0.0, base), base)[1:]
        hits += held_low <= -0.04 * 0.6 <= held_high
    assert hits / 1500 >= LEAST - 0.015


def test_edges():
    for n in (1, 2, 5, 50, 2000):
        for value in (0.0, 1.0):
            mean, low, high = mean_ci95([value] * n, (0.0, 1.0))
            assert (mean, low if value == 0.0 else high) == (value, value)
            assert high - low > 2.9 / (n + 3)
    assert mean_ci95([1.0] * 1000, (0.0, 1.0)).low == pytest.approx(1 - 3 / 1000, abs=3e-4)
    difference = paired_difference([1, 1, 1, 0], [0, 1, 1, 0])
    assert difference.value == 0.25 and -1 <= difference.low < 0 < difference.high <= 1
    assert paired_difference([1] * 3, [0] * 3).high == 1.0
    no_difference = paired_difference([1.0, 0.5], [1.0, 0.5])
    assert no_difference.value == 0.0 and -1.0 <= no_difference.low < 0 < no_difference.high <= 1.0


def test_many_values_give_the_t_interval():
    values = np.random.default_rng(0).uniform(size=5000)
    plain_interval, bounded = mean_ci95(values), mean_ci95(values, (0.0, 1.0))
    assert bounded == pytest.approx(plain_interval, abs=1e-4)


def test_paired_success_against_the_formula_of_bonett_and_price():
    """Their Wald interval with n12 + 1, n21 + 1 and n + 2; only its quantile is not Student's."""
    n, better, worse = 400, 60, 25
    p, q, m = (better + 1) / (n + 2), (worse + 1) / (n + 2), n + 2
    half = 1.9600 * math.sqrt((p + q - (p - q) ** 2) / m)
    difference = paired_difference(*pairs(n, better, worse))
    assert difference.low == pytest.approx(p - q - half, rel=0.02)
    assert difference.high == pytest.approx(p - q + half, rel=0.02)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=60))
def test_an_interval_holds_its_estimate_and_stays_in_bounds(values):
    mean, low, high = mean_ci95(values, (0.0, 1.0))
    assert 0.0 <= low <= mean + 1e-12 and mean - 1e-12 <= high <= 1.0 and low < high
    mean, low, high = paired_difference(values, values[::-1])
    assert -1.0 <= low <= mean <= high <= 1.0 and low < high


def test_values_out_of_bounds_are_refused():
    for make in (
        lambda: mean_ci95([0.5, 1.5], (0.0, 1.0)),
        lambda: paired_difference([2.0], [0.5]),
    ):
        with pytest.raises(ConfigurationError, match="expected values from"):
            make()
    assert paired_difference([7.0, 9.0], [1.0, 1.0], bounds=(0.0, 10.0)).value == 7.0


def test_wilson_is_well_away_from_the_edges_too():
    assert wilson_ci95(5, 5).low > 0.5 and wilson_ci95(0, 5).high < 0.5


def test_an_interval_over_trainings_takes_three_seeds_that_differ() -> None:
    for values in ([0.5], [0.1, 0.3], [0.2] * 4, [0.0] * 3):
        assert why_no_interval(values) and mean_over_trainings(values) is None
    interval = mean_over_trainings([0.1, 0.2, 0.3])
    assert interval == pytest.approx(mean_ci95([0.1, 0.2, 0.3])) and not why_no_interval(
        [0.1, 0.2, 0.3]
    )
    assert mean_over_trainings([0.9, 1.0, 1.0], (0.0, 1.0)).high == 1.0

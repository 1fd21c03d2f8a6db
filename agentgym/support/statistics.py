"""Estimates with 95 % confidence intervals, and the scale 0 = random, 100 = oracle."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from agentgym.errors import ConfigurationError

_Z = 1.959963984540054
"""0.975 quantile of the normal distribution."""


FEWEST_TRAININGS = 3
"""Trainings from which their spread says where another one may lie."""


class Estimate(NamedTuple):
    """A number with its 95 % confidence interval."""

    value: float
    """The estimate."""
    low: float
    """Lower end of the interval."""
    high: float
    """Upper end of the interval."""


@lru_cache(maxsize=1024)
def _t975(df: int) -> float:
    """Return the 0.975 quantile of Student's t with ``df`` degrees of freedom."""
    from scipy.special import stdtrit  # type: ignore[import-untyped]

    return float(stdtrit(df, 0.975))


def mean_ci95(
    values: Sequence[float], bounds: tuple[float, float] = (-math.inf, math.inf)
) -> Estimate:
    """Estimate a mean with Student's t interval; for bounded values, adjusted near the bounds.

    If all values are equal, the t interval has no width, however few they are; if most are equal,
    it misses the mean far more often than 5 % of the time. So with finite bounds the interval is
    computed from the values and two more, one at each bound, and cut to the bounds. For successes
    and failures this is the method of Agresti and Caffo (The American Statistician 54, 2000), for
    their paired differences the method of Bonett and Price (Journal of Educational and Behavioral
    Statistics 37, 2012). At the bounds it agrees with the rule of three: n values of 1 give a lower
    end of about 1 - 3/n. With many values it approaches the t interval.

    Args:
        values: Independent observations, at least one.
        bounds: Range of the values. Infinite bounds give the plain t interval.

    Returns:
        Mean and 95 % interval, which contains the mean. One unbounded observation gives the whole
        line.

    Raises:
        ConfigurationError: There is no value, or one is not finite or out of bounds.
    """
    array = np.asarray(values, dtype=float)
    if array.size == 0 or not np.isfinite(array).all():
        raise ConfigurationError(
            f"expected at least one finite value, got {array.size} values: {array[:5].tolist()}"
        )
    low, high = bounds
    if array.min() < low or array.max() > high:
        raise ConfigurationError(
            f"expected values from {low} to {high}, got {array.min()} to {array.max()}: pass the "
            "bounds of the scores"
        )
    mean = float(array.mean())
    if math.isfinite(high - low):
        array = np.append(array, bounds)
    if array.size == 1:
        return Estimate(mean, low, high)
    centre = float(array.mean())
    half = _t975(array.size - 1) * float(array.std(ddof=1)) / math.sqrt(array.size)
    return Estimate(mean, max(low, centre - half), min(high, centre + half))


def mean_over_trainings(
    values: Sequence[float], bounds: tuple[float, float] = (-math.inf, math.inf)
) -> Estimate | None:
    """Estimate the mean over further trainings of the same kind.

    Args:
        values: A figure of each training, such as its success on the same tasks.
        bounds: Range of the values, to which the interval is cut.

    Returns:
        Mean and Student's t interval over the trainings; None where there is no such interval, see
        `why_no_interval`.

    Raises:
        ConfigurationError: There is no value, or one is not finite.
    """
    if why_no_interval(values):
        return None
    mean, low, high = mean_ci95(values)
    return Estimate(mean, max(low, bounds[0]), min(high, bounds[1]))


def why_no_interval(values: Sequence[float]) -> str:
    """Return why a figure of several trainings has no interval over them; empty if it has one.

    With two trainings there is one degree of freedom, and the interval extends 13 standard errors
    to each side. Equal values would give an interval of zero width, although a few equal values do
    not determine the next one.
    """
    if len(values) < FEWEST_TRAININGS:
        return f"an interval over trainings takes at least {FEWEST_TRAININGS} seeds"
    # Means of a few tasks are multiples of a fraction: equal ones differ by rounding at most.
    if max(values) - min(values) < 1e-9:
        return "equal values in every seed give no interval over trainings"
    return ""


def wilson_ci95(successes: int, n: int) -> Estimate:
    """Estimate a success rate with Wilson's score interval, inside [0, 1] also at its ends.

    Args:
        successes: Number of successes.
        n: Number of trials, at least one.

    Raises:
        ConfigurationError: Not 0 <= successes <= n and n >= 1.
    """
    if not (n >= 1 and 0 <= successes <= n):
        raise ConfigurationError(f"expected 0 <= successes <= n and n >= 1, got {successes} of {n}")
    rate, square = successes / n, _Z**2
    centre = (rate + square / (2 * n)) / (1 + square / n)
    half = _Z * math.sqrt(rate * (1 - rate) / n + square / (4 * n**2)) / (1 + square / n)
    return Estimate(rate, min(rate, max(0.0, centre - half)), max(rate, min(1.0, centre + half)))


def paired_difference(
    first: Sequence[float], second: Sequence[float], bounds: tuple[float, float] = (0.0, 1.0)
) -> Estimate:
    """Compare two policies on the same tasks.

    Args:
        first: Scores of one policy, in panel order.
        second: Scores of the other on the same panel.
        bounds: Range of the scores; the difference lies between low - high and high - low.

    Returns:
        Mean of first - second with the 95 % interval of `mean_ci95`, which is narrower than that of
        two independent samples because task difficulty cancels.

    Raises:
        ConfigurationError: The lengths differ, there are no values, or one is out of bounds.
    """
    if len(first) != len(second):
        raise ConfigurationError(
            f"expected scores on one panel, got {len(first)} and {len(second)} of them"
        )
    low, high = bounds
    return mean_ci95(np.subtract(first, second).tolist(), (low - high, high - low))


def mean_of_estimates(estimates: Sequence[Estimate]) -> Estimate:
    """Estimate the mean of several quantities that were measured independently.

    The interval recovers each variance from the distance of a limit to its estimate, so it needs no
    symmetry and keeps a width where all values are alike:
    mean - sqrt(sum((value - low)^2)) / K, and the same with high, for K estimates (Zou, Huang and
    Zhang, Computational Statistics & Data Analysis 53, 2009).

    Args:
        estimates: Independent estimates, at least one, each with its 95 % interval.

    Raises:
        ConfigurationError: There is none.
    """
    if not estimates:
        raise ConfigurationError("expected at least one estimate, got none")
    k = len(estimates)
    mean = sum(estimate.value for estimate in estimates) / k
    below = math.hypot(*(estimate.value - estimate.low for estimate in estimates)) / k
    above = math.hypot(*(estimate.high - estimate.value for estimate in estimates)) / k
    return Estimate(mean, mean - below, mean + above)


def scaled(score: float, random: float, oracle: float) -> float:
    """Put a score on the scale where 0 is the random policy and 100 the oracle.

    All three are scores on the same panel.

    Returns:
        100 * (score - random) / (oracle - random).

    Raises:
        ConfigurationError: The oracle is not better than random.
    """
    if not oracle > random:
        raise ConfigurationError(
            f"expected the oracle's score to be above random's, got {oracle} and {random}: "
            "measure both on the same panel"
        )
    return 100.0 * (score - random) / (oracle - random)


def pass_at_k(n: int, solved: int, k: int) -> float:
    """Estimate the chance that at least one of k samples solves a task, without bias.

    1 - C(n - solved, k) / C(n, k), of Chen et al. (arXiv 2107.03374).

    Args:
        n: Samples of the task.
        solved: Those that solved it.
        k: Samples that are drawn, 1 to n.

    Raises:
        ConfigurationError: Not 0 <= solved <= n and 1 <= k <= n.
    """
    _check_draw(n, solved, k)
    return 1.0 - math.comb(n - solved, k) / math.comb(n, k)


def pass_hat_k(n: int, solved: int, k: int) -> float:
    """Estimate the chance that all of k samples solve a task, without bias: pass^k.

    C(solved, k) / C(n, k), of tau-bench (arXiv 2406.12045).

    Args:
        n: Samples of the task.
        solved: Those that solved it.
        k: Samples that are drawn, 1 to n.

    Raises:
        ConfigurationError: Not 0 <= solved <= n and 1 <= k <= n.
    """
    _check_draw(n, solved, k)
    return math.comb(solved, k) / math.comb(n, k)


def _check_draw(n: int, solved: int, k: int) -> None:
    if not (0 <= solved <= n and 1 <= k <= n):
        raise ConfigurationError(
            f"expected 0 <= solved <= n and 1 <= k <= n, got {solved} of {n} solved and k={k}"
        )


def mcnemar(only_first: int, only_second: int) -> float:
    """Test whether two policies solve equally many of the same tasks: McNemar's exact test.

    Args:
        only_first: Tasks that only one policy solves.
        only_second: Tasks that only the other solves.

    Returns:
        Two-sided p value: the probability of a split at least as uneven, if each of these tasks
        were equally likely to be solved by either policy. 1 if there are no such tasks.

    Raises:
        ConfigurationError: A number is negative.
    """
    if min(only_first, only_second) < 0:
        raise ConfigurationError(f"expected numbers of tasks, got {only_first} and {only_second}")
    if only_first + only_second == 0:
        return 1.0
    from scipy.stats import binomtest  # type: ignore[import-untyped]

    return float(binomtest(only_first, only_first + only_second).pvalue)

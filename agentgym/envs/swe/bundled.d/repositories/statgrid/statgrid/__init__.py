"""Small matrices and descriptive statistics."""

from statgrid.describe import (
    histogram,
    mean,
    median,
    modes,
    quantile,
    ranks,
    standard_deviation,
    variance,
)
from statgrid.matrix import Matrix, ShapeError
from statgrid.relations import correlation, covariance, linear_fit, rank_correlation
from statgrid.series import cumulative, differences, moving_average, normalize
from statgrid.solving import SingularError, inverse, rank, solve

__all__ = [
    "Matrix",
    "ShapeError",
    "SingularError",
    "correlation",
    "covariance",
    "cumulative",
    "differences",
    "histogram",
    "inverse",
    "linear_fit",
    "mean",
    "median",
    "modes",
    "moving_average",
    "normalize",
    "quantile",
    "rank",
    "rank_correlation",
    "ranks",
    "solve",
    "standard_deviation",
    "variance",
]

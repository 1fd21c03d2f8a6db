"""Ring buffers and statistics over rolling windows."""

from rollwindow.ring import Overflow, Ring
from rollwindow.series import crossings, differences, downsample, rolling
from rollwindow.stats import Ewma, RollingExtremes, RollingMean, RollingMedian, RollingVariance
from rollwindow.timed import TimeWindow

__all__ = [
    "Ewma",
    "Overflow",
    "Ring",
    "RollingExtremes",
    "RollingMean",
    "RollingMedian",
    "RollingVariance",
    "TimeWindow",
    "crossings",
    "differences",
    "downsample",
    "rolling",
]

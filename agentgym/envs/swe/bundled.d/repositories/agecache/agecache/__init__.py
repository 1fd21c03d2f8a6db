"""A bounded cache with expiry and an injected clock."""

from agecache.cache import AgeCache, Reason
from agecache.clock import Clock, ManualClock
from agecache.memo import memoize
from agecache.stats import Stats

__all__ = ["AgeCache", "Clock", "ManualClock", "Reason", "Stats", "memoize"]

"""The functions, by subject; importing this package makes all of them known."""

from cellmill.functions import arithmetic, dates, logic, lookup, statistics, texts

__all__ = ["arithmetic", "dates", "logic", "lookup", "statistics", "texts"]

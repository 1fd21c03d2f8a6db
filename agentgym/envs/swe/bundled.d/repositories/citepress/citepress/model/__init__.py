"""Entries, names, dates, pages; cross references; what is wrong with entries."""

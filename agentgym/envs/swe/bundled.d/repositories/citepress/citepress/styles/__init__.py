"""Sorting, labels, citations, and what an entry of each kind looks like."""

"""Monitoring: what is recorded of a run while it trains, and what is watched in it."""

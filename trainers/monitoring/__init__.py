"""Monitoring: what is recorded of a run while it trains, and what is watched in it.

To add one of these, touch these files:

- a health rule: a row in ``trainers/monitoring/health.py``, its threshold in ``HealthConfig`` of
  ``trainers/config/sections.py``
"""

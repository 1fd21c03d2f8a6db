"""Monitoring of a training run: records, dashboards and health.

To add one of these, touch these files:

- a health rule: a row in ``trainers/phases/monitoring/health.py``, its threshold in
  ``HealthConfig`` of ``trainers/config/sections.py``
"""

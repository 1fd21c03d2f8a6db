"""Evaluation, dependencies, sheets and workbooks."""

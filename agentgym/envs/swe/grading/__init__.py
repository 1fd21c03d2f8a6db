"""Grading: what counts of an agent's changes, and whether it makes the tests pass."""

from __future__ import annotations

from agentgym.envs.swe.grading.grader import Grader
from agentgym.envs.swe.grading.verdict import FULL, NO, PARTIAL, Grade

__all__ = ["FULL", "NO", "PARTIAL", "Grade", "Grader"]

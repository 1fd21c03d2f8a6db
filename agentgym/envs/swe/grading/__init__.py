"""Grading: select the changes that count, run the tests on them, and give a verdict."""

from __future__ import annotations

from agentgym.envs.swe.grading.grader import Grader
from agentgym.envs.swe.grading.verdict import FULL, NO, PARTIAL, Grade

__all__ = ["FULL", "NO", "PARTIAL", "Grade", "Grader"]

"""Baselines without the solution: one ignores the issue (the floor), others read it."""

from __future__ import annotations

from agentgym.envs.swe.baselines.blind_mutation import BlindMutation
from agentgym.envs.swe.baselines.issue_search import IssueSearch

__all__ = ["BlindMutation", "IssueSearch"]

"""Baselines that know no solution: blind ones, the floor of the family, and ones that read."""

from __future__ import annotations

from agentgym.envs.swe.baselines.blind_mutation import BlindMutation
from agentgym.envs.swe.baselines.issue_search import IssueSearch

__all__ = ["BlindMutation", "IssueSearch"]

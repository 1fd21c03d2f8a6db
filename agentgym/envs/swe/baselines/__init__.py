"""Baselines that read no issue: what they win is the floor of the family."""

from __future__ import annotations

from agentgym.envs.swe.baselines.blind_mutation import BlindMutation

__all__ = ["BlindMutation"]

"""Figures of a set of trajectories, for logs and reports."""

from __future__ import annotations

from collections.abc import Sequence

from agentgym.outcome import StopReason
from trainers.rollouts.trajectory import LENGTH, Trajectory

__all__ = ["rollout_metrics"]


def rollout_metrics(trajectories: Sequence[Trajectory]) -> dict[str, float]:
    """Means over episodes (or turns) that were not lost to a failed environment.

    Args:
        trajectories: N episodes, N >= 1.

    Returns:
        Names under ``rollout/``: ``return, success, score, turns, action_tokens, valid`` (share of
        turns), ``stopped`` (share of turns that ended with a stop token), ``repeat`` (share of
        turns that repeat an earlier action in the same state), and the shares of episodes
        ``ended_by_horizon``, ``ended_by_length`` and ``ended_by_error``.
    """
    count = len(trajectories)
    reasons = [t.stop_reason for t in trajectories]
    shares = {
        f"rollout/ended_by_{name}": reasons.count(name) / count
        for name in (StopReason.HORIZON.value, LENGTH, StopReason.ERROR.value)
    }
    sound = [t for t in trajectories if t.stop_reason != StopReason.ERROR.value]
    turns = [turn for t in sound for turn in t.turns]
    episodes, steps = max(1, len(sound)), max(1, len(turns))
    repeats = sum(len(t.turns) - len({(u.state_key, u.text) for u in t.turns}) for t in sound)
    return {
        "rollout/return": sum(t.episode_return for t in sound) / episodes,
        "rollout/success": sum(t.success for t in sound) / episodes,
        "rollout/score": sum(t.score for t in sound) / episodes,
        "rollout/turns": len(turns) / episodes,
        "rollout/action_tokens": sum(t.action_tokens for t in sound) / episodes,
        "rollout/valid": sum(turn.valid for turn in turns) / steps,
        "rollout/stopped": sum(turn.stopped for turn in turns) / steps,
        "rollout/repeat": repeats / steps,
        **shares,
    }

"""Figures of the episodes of a step for the log."""

from __future__ import annotations

from collections.abc import Sequence

from agentgym.core.outcome import StopReason, total
from trainers.rollouts.trajectory import Trajectory, by_family

__all__ = [
    "cost_metrics",
    "episode_figures",
    "family_metrics",
    "judge_metrics",
    "rollout_metrics",
]

_COUNTED_ENDS = tuple(
    reason.value
    for reason in (
        StopReason.HORIZON,
        StopReason.TOKEN_LIMIT,
        StopReason.INVALID_ACTIONS,
        StopReason.ERROR,
    )
)
"""Endings whose shares are among the metrics."""


def episode_figures(trajectories: Sequence[Trajectory]) -> dict[str, float]:
    """Return all figures of some episodes, without those that concern none of them."""
    return {
        **rollout_metrics(trajectories),
        **family_metrics(trajectories),
        **judge_metrics(trajectories),
        **cost_metrics(trajectories),
    }


def rollout_metrics(trajectories: Sequence[Trajectory]) -> dict[str, float]:
    """Average over the episodes (or turns) without a failed environment.

    Returns:
        Names under ``rollout/``: ``return, success, score, turns, rows`` (training rows of an
        episode), ``action_tokens, valid`` (share of turns), ``stopped`` (share of turns that ended
        with a stop token), ``repeat`` (share of turns that repeat an earlier action in the same
        state), and the shares of episodes ``ended_by_horizon``, ``ended_by_token_limit``,
        ``ended_by_invalid_actions`` and ``ended_by_error``.
    """
    count = len(trajectories)
    reasons = [t.stop_reason for t in trajectories]
    shares = {f"rollout/ended_by_{name}": reasons.count(name) / count for name in _COUNTED_ENDS}
    sound = [t for t in trajectories if t.stop_reason != StopReason.ERROR.value]
    turns = [turn for t in sound for turn in t.turns]
    episodes, steps = max(1, len(sound)), max(1, len(turns))
    rows = sum(index == 0 or turn.fresh for t in sound for index, turn in enumerate(t.turns))
    repeats = sum(len(t.turns) - len({(u.state_key, u.text) for u in t.turns}) for t in sound)
    return {
        "rollout/return": sum(t.episode_return for t in sound) / episodes,
        "rollout/success": sum(t.success for t in sound) / episodes,
        "rollout/score": sum(t.score for t in sound) / episodes,
        "rollout/turns": len(turns) / episodes,
        "rollout/rows": rows / episodes,
        "rollout/action_tokens": sum(t.action_tokens for t in sound) / episodes,
        "rollout/valid": sum(turn.valid for turn in turns) / steps,
        "rollout/stopped": sum(turn.stopped for turn in turns) / steps,
        "rollout/repeat": repeats / steps,
        **shares,
    }


def judge_metrics(trajectories: Sequence[Trajectory]) -> dict[str, float]:
    """Count the requests to judges and average their scores; empty without judges.

    Returns:
        For each judge by the name of its hook ``judges/NAME_asked`` (verdicts, cached ones
        included), ``judges/NAME_missing`` and, over the others, ``judges/NAME_score``; of all
        together ``judges/judge_calls`` and ``judges/judge_tokens``.
    """
    turns = [turn.verdicts for trajectory in trajectories for turn in trajectory.turns]
    figures: dict[str, float] = {}
    for name in dict.fromkeys(name for verdicts in turns for name in verdicts):
        scores = [verdicts[name].score for verdicts in turns if name in verdicts]
        valid_scores = [score for score in scores if score is not None]
        figures[f"judges/{name}_asked"] = len(scores)
        figures[f"judges/{name}_missing"] = len(scores) - len(valid_scores)
        if valid_scores:
            figures[f"judges/{name}_score"] = sum(valid_scores) / len(valid_scores)
    all_verdicts = [verdict for verdicts in turns for verdict in verdicts.values()]
    if all_verdicts:
        tokens = (verdict.prompt_tokens + verdict.completion_tokens for verdict in all_verdicts)
        figures["judges/judge_calls"] = sum(verdict.calls for verdict in all_verdicts)
        figures["judges/judge_tokens"] = sum(tokens)
    return figures


def cost_metrics(trajectories: Sequence[Trajectory]) -> dict[str, float]:
    """Average the costs of episodes; empty without hooks that count them.

    Returns:
        For each cost by the name of its hook ``costs/cost_NAME`` (mean of the episodes that did not
        break, in families that count it), ``costs/cost_NAME_above`` (share of them above its limit,
        if it has one) and ``costs/price_NAME`` (of a unit, where it follows the limit).
    """
    sound = [
        trajectory
        for trajectory in trajectories
        if trajectory.stop_reason != StopReason.ERROR.value
    ]
    costs = {
        k: cost
        for trajectory in sound
        for turn in trajectory.turns
        for k, cost in turn.costs.items()
    }
    counted = {
        (trajectory.family, name)
        for trajectory in sound
        for turn in trajectory.turns
        for name in turn.costs
    }
    figures: dict[str, float] = {}
    for name, cost in costs.items():
        members = [trajectory for trajectory in sound if (trajectory.family, name) in counted]
        used = [trajectory.used(name) for trajectory in members]
        figures[f"costs/cost_{name}"] = total(used) / len(used)
        if cost.limit is not None:
            figures[f"costs/cost_{name}_above"] = sum(amount > cost.limit for amount in used) / len(
                used
            )
        prices = [trajectory.options.get("prices", {}).get(name) for trajectory in members]
        if None not in prices:
            figures[f"costs/price_{name}"] = total(prices) / len(prices)
    return figures


def family_metrics(trajectories: Sequence[Trajectory]) -> dict[str, float]:
    """Average over the episodes of each family; empty if there is only one.

    Returns:
        The figures of :func:`rollout_metrics` as ``family/NAME/return`` and so on, those of
        :func:`cost_metrics` as ``family/NAME/cost_calls`` and so on, and ``family/NAME/horizon``,
        ``family/NAME/episodes`` and ``family/NAME/token_share``, its share of all sampled tokens,
        which is its weight in a mean over tokens.
    """
    parts = by_family(trajectories)
    if len(parts) < 2:
        return {}
    figures: dict[str, float] = {}
    tokens = max(1, sum(t.action_tokens for t in trajectories))
    for name, part in parts.items():
        family_figures = {
            key.removeprefix("rollout/"): value for key, value in rollout_metrics(part).items()
        }
        family_figures |= {
            k.removeprefix("costs/"): value for k, value in cost_metrics(part).items()
        }
        family_figures |= {
            "horizon": float(max(t.horizon for t in part)),
            "episodes": float(len(part)),
        }
        family_figures["token_share"] = sum(t.action_tokens for t in part) / tokens
        figures |= {f"family/{name}/{key}": value for key, value in family_figures.items()}
    return figures

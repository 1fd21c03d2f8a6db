"""Forks as a part of the step: they make the episodes of a group, and report their number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from agentgym.errors import ConfigurationError
from trainers.grpo.step_part import MakeStepPart, StepContext, StepPart
from trainers.methods.forks.branches import Branches
from trainers.methods.forks.branching import branching_of
from trainers.rollouts.step_plan import StepPlan
from trainers.rollouts.trajectory import Trajectory

if TYPE_CHECKING:
    from trainers.config.resolve import ResolvedRun
    from trainers.models.loaded_policy import LoadedPolicy

__all__ = ["ForkedEpisodes", "fork_metrics", "forks_part"]


class ForkedEpisodes(StepPart):
    """Fork the episodes of a step as its preset says."""

    def __init__(self, context: StepContext) -> None:
        self._branching = branching_of(context.preset)

    def rollout_parts(self, plan: StepPlan) -> Sequence[Branches]:
        """Return the object that forks the episodes of a process.

        Raises:
            ConfigurationError: The tree of an episode would straddle processes.
        """
        assert self._branching is not None
        leaves = self._branching.leaves(plan.group_size)
        if plan.count % leaves:
            raise ConfigurationError(
                f"expected the {plan.count} episodes of each process to be a multiple of the "
                f"{leaves} that one may become by forks; launch fewer processes, or raise "
                "--rl.groups"
            )
        return [Branches(self._branching, leaves)]

    def figures(self, episodes: Sequence[Trajectory]) -> Mapping[str, float]:
        """Return figures of the forks."""
        return fork_metrics(episodes)


def fork_metrics(trajectories: Sequence[Trajectory]) -> dict[str, float]:
    """Return metrics of forks; empty if episodes cannot be forked.

    Returns:
        Names under ``rollout/``: ``forks`` (of an episode that began with its task), ``fork_rate``
        (share of possible forks that were made), ``forked`` (share of forked episodes) and
        ``shared_tokens`` (share of all episodes' tokens that were sampled for another episode).
    """
    chances = sum(trajectory.chances for trajectory in trajectories)
    if not chances:
        return {}
    copies = [trajectory for trajectory in trajectories if trajectory.parent is not None]
    forks = len({(trajectory.parent, trajectory.shared) for trajectory in copies})
    tokens = max(1, sum(trajectory.action_tokens for trajectory in trajectories))
    return {
        "rollout/forks": forks / max(1, len(trajectories) - len(copies)),
        "rollout/fork_rate": forks / chances,
        "rollout/forked": len(copies) / len(trajectories),
        "rollout/shared_tokens": 1.0
        - sum(trajectory.own_tokens for trajectory in trajectories) / tokens,
    }


def forks_part(run: ResolvedRun | None, policy: LoadedPolicy | None) -> MakeStepPart:
    """Return the maker of the part, which depends only on the preset."""
    return ForkedEpisodes

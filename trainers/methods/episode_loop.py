"""The loop of an episode where the trainer does not own it: whatever else calls the policy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Protocol

from trainers.config.resolve import ResolvedRun
from trainers.methods.table import methods
from trainers.rollouts.chat import TurnTokenizer
from trainers.rollouts.expert_demonstrations import Demonstration, PlayOne
from trainers.rollouts.rollout_runner import RolloutRunner
from trainers.rollouts.trajectory import Trajectory

__all__ = ["EpisodeLoop", "loop_of"]


class EpisodeLoop(Protocol):
    """The interface between a run and a loop other than the trainer's."""

    player: Callable[..., RolloutRunner]
    """Makes a runner of the arguments of ``RolloutRunner``."""
    demonstrate: PlayOne
    """Plays a demonstration."""

    def make_envs(self, families: Sequence[str], training: bool) -> Any:
        """Make an environment of each family for the runner; reward hooks apply in training."""

    def encode(
        self, demonstrations: Iterable[Demonstration], chat: TurnTokenizer
    ) -> Iterable[Trajectory]:
        """Write demonstrations in a policy's tokens, with log-probabilities 0."""

    def output_to(self, folder: Path) -> AbstractContextManager[None]:
        """Write what the loop prints to a file of the run's folder."""

    def output_note(self, folder: Path) -> str:
        """Say where that file is; empty if nothing was printed."""

    def close(self) -> None:
        """Release the resources of demonstrations."""


def loop_of(run: ResolvedRun) -> EpisodeLoop | None:
    """Return the loop that a run's flags name; None: the trainer's own.

    Raises:
        AgentGymError: It cannot be made.
    """
    names = (method.loop for method in methods() if method.loop and method.is_used(run))
    name = next(names, None)
    loop: EpisodeLoop | None = resolve_name(name)(run) if name else None
    return loop

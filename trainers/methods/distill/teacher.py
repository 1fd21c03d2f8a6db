"""A teacher: it scores the tokens that the policy has sampled, as a part of the step."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from torch import Tensor

from trainers.grpo.step_part import StepPart, StepRows
from trainers.rollouts.trajectory import Trajectory

__all__ = ["Teacher"]


class Teacher(StepPart):
    """Scores the sampled tokens of a batch."""

    columns = MappingProxyType({"logp_teacher": "teacher_per_token_logps"})
    credit_scores = True

    def add_columns(self, rows: StepRows) -> Mapping[str, float]:
        """Add the log-probabilities of the sampled tokens."""
        rows.batch["teacher_per_token_logps"] = self.logps(rows.batch, rows.row_episodes)
        return {}

    @abstractmethod
    def logps(self, batch: Mapping[str, Tensor], episodes: Sequence[Trajectory]) -> Tensor:
        """Return the teacher's log-probabilities (B, T) of the sampled tokens, in nats.

        Args:
            batch: Rows under TRL's names.
            episodes: The episode of each row; rows beyond them hold nothing that was sampled.
        """

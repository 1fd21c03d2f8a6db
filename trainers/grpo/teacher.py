"""What a trainer asks of a teacher, which scores the tokens that the policy has sampled."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from accelerate import Accelerator
from torch import Tensor, nn

from trainers.grpo.forward import TokenForward
from trainers.grpo.micro_batches import MicroBatch
from trainers.rollouts.chat import TurnTokenizer
from trainers.rollouts.trajectory import Trajectory

__all__ = ["MakeTeacher", "Teacher", "TeacherParts"]


@dataclass(frozen=True)
class TeacherParts:
    """What a trainer lends to a teacher."""

    accelerator: Accelerator
    """The trainer's accelerator."""
    policy: nn.Module
    """The policy before it is wrapped for training."""
    wrapped: Callable[[], nn.Module]
    """Returns the policy in the wrappers of training."""
    forward: TokenForward
    """Scores tokens."""
    chat: TurnTokenizer
    """Turn tokenizer of the policy."""
    divide: Callable[[Mapping[str, Tensor]], list[MicroBatch]]
    """Divides rows into passes, into as many in every process."""
    temperature: float
    """Temperature at which tokens are sampled and scored."""
    own_adapters: bool
    """Whether the policy without its adapters is the one that training began with."""


class Teacher(Protocol):
    """Scores the sampled tokens of a batch."""

    def logps(self, batch: Mapping[str, Tensor], episodes: Sequence[Trajectory]) -> Tensor:
        """Return the teacher's log-probabilities (B, T) of the sampled tokens, in nats.

        Args:
            batch: Rows under TRL's names.
            episodes: The episode of each row; rows beyond them hold nothing that was sampled.
        """
        ...


MakeTeacher = Callable[[TeacherParts], Teacher]
"""Makes a teacher for a trainer."""

"""The credit of on-policy distillation: the reverse KL divergence, token by token."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from trainers.algorithms.batch import Batch
from trainers.algorithms.needs import Need
from trainers.algorithms.segments import BoolArray, FloatArray
from trainers.algorithms.signals import Signal, aux_column

TEACHER = Need(
    "teacher",
    "a teacher of its tokens: --distill.teacher NAME; the policy itself, as it was at the start, "
    "where a teacher reads the expert's plan",
    "distill",
)
Privileged = Literal["none", "plan"]
"""Information for the teacher alone: none, or the plan of the expert."""


@dataclass(frozen=True)
class ReverseKL:
    """Log-ratio of teacher to student for a sampled token; token level.

        A_k = log pi_T(a_k | c, s_k) - log pi_old(a_k | s_k),

    at the run's temperature, where s_k are the tokens before a_k and c is the privileged
    information, if any. Its mean over tokens sampled by pi is -KL(pi || pi_T) in each state, so
    its policy gradient minimises the reverse KL divergence in the states that the student visits
    (GKD, arXiv 2306.13649; MiniLLM, arXiv 2306.08543). What a token does to later states is left
    out, a discount of 0, as in Thinking Machines' "On-policy distillation" (2025), which MiniLLM
    keeps. As an advantage it has no gradient of its own.
    """

    needs: ClassVar[tuple[Need, ...]] = (TEACHER,)
    """Requirements of a run."""
    privileged: Privileged = "none"
    """Information for the teacher alone."""
    name: str = "logp_teacher"
    """Entry of ``Batch.aux``, (K,): the teacher's log-probability of each token."""

    def __call__(self, batch: Batch) -> Signal:
        """Return (K,) log-ratios."""
        return Signal(self._gap(batch), "token")

    def figures(self, batch: Batch, train: BoolArray) -> dict[str, float]:
        """Return the estimate of KL(student || teacher), in nats a token.

        Args:
            batch: The packed batch.
            train: (K,) tokens in the loss.
        """
        return {"distill/reverse_kl": -float(self._gap(batch)[train].mean())} if train.any() else {}

    def _gap(self, batch: Batch) -> FloatArray:
        """(K,) log-probabilities of the teacher minus those of the student."""
        gap: FloatArray = aux_column(batch, self.name, "token") - batch.logp_old
        return gap

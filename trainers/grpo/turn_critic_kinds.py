"""Which critic of turns a preset has."""

from __future__ import annotations

from trainers.algorithms.preferences import TurnPreference
from trainers.algorithms.preset import Preset
from trainers.algorithms.signals import QMinusV
from trainers.grpo.critic import check_warmup
from trainers.grpo.off_policy_critic import OffPolicyCritic
from trainers.grpo.privileged_critic import PrivilegedCritic
from trainers.grpo.turn_critic import TurnCritic, TurnCriticParts

__all__ = ["make_turn_critic"]


def make_turn_critic(preset: Preset, parts: TurnCriticParts) -> TurnCritic | None:
    """Make the critic of turns whose judgement a signal of a preset reads; None: it has none.

    Raises:
        NotSupported: DeepSpeed would train the policy while the critic warms up.
    """
    check_warmup(parts.settings, parts.accelerator)
    for term in preset.terms:
        if isinstance(term.signal, QMinusV):
            return OffPolicyCritic(parts, term.signal)
        if isinstance(term.signal, TurnPreference):
            return PrivilegedCritic(parts, term.signal)
    return None

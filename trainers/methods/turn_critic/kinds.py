"""Which critic of turns a preset has."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from agentgym.errors import ConfigurationError
from trainers.grpo.step_part import MakeStepPart, StepContext
from trainers.methods.expert_plans import ExpertPlans
from trainers.methods.method import section_of
from trainers.methods.turn_critic.credit import QMinusV, TurnPreference
from trainers.methods.turn_critic.off_policy_critic import OffPolicyCritic
from trainers.methods.turn_critic.privileged_critic import PrivilegedCritic
from trainers.methods.turn_critic.settings import TurnCriticConfig
from trainers.methods.turn_critic.turn_critic import TurnCritic, TurnCriticSettings
from trainers.rollouts.trajectory import Trajectory

if TYPE_CHECKING:
    from trainers.config.resolve import ResolvedRun
    from trainers.models.loaded_policy import LoadedPolicy

__all__ = ["make_turn_critic", "plans_of", "turn_critic_part"]


def make_turn_critic(
    context: StepContext,
    settings: TurnCriticSettings | None = None,
    plan: Callable[[Trajectory], str] | None = None,
) -> TurnCritic:
    """Make the critic of turns that a signal of the preset reads.

    Args:
        context: Parts of the trainer that it uses.
        settings: How the critic learns; None: the defaults.
        plan: Returns the expert's plan for the task of an episode, for a critic that sees it.

    Raises:
        ConfigurationError: No signal reads one.
    """
    settings = settings or TurnCriticSettings()
    for term in context.preset.terms:
        if isinstance(term.signal, QMinusV):
            return OffPolicyCritic(context, settings, term.signal)
        if isinstance(term.signal, TurnPreference):
            return PrivilegedCritic(context, settings, term.signal, plan)
    raise ConfigurationError(
        "expected a preset with a signal that a critic of turns makes, such as archer or sweet, "
        f"got {context.preset.name!r}; choose one of these"
    )


def turn_critic_part(run: ResolvedRun | None, policy: LoadedPolicy | None) -> MakeStepPart:
    """Return the maker of a run's critic of turns, or of one with default settings."""
    if run is None:
        return make_turn_critic
    section = section_of(run.config, TurnCriticConfig)
    settings = TurnCriticSettings(
        lr=section.learning_rate,
        warmup=section.warmup_steps,
        updates=section.updates,
        max_grad_norm=run.config.rl.max_grad_norm,
    )
    return partial(make_turn_critic, settings=settings, plan=plans_of(run))


def plans_of(run: ResolvedRun) -> ExpertPlans | None:
    """Return the plans of the expert if the critic of a run sees them."""
    sees = any(isinstance(term.signal, TurnPreference) for term in run.preset.terms)
    return ExpertPlans.of_run(run) if sees else None

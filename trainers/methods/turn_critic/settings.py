"""The section ``--turn-critic.*``: the critic of turns of a preset, and its changes of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from agentgym.errors import ConfigurationError
from trainers.algorithms.advantage import Term
from trainers.algorithms.preset import Preset
from trainers.config.field_types import OPEN, Count, Open, Positive, Probability, Whole, strict
from trainers.config.layers import DEFAULT, PRESET, Layer
from trainers.methods.method import section_of, set_fields
from trainers.methods.table import lag_of
from trainers.methods.turn_critic.credit import TURN_CRITIC, QMinusV, TurnPreference

if TYPE_CHECKING:
    from trainers.config.schema import TrainConfig

UPDATES: Mapping[type, int] = {QMinusV: 8, TurnPreference: 4}
"""Updates of a step by the signal that reads the critic."""
WARMUP = 2
"""First steps in which the critic learns alone."""
RATE = 10.0
"""Learning rate of a critic, relative to that of the policy (arXiv 2510.01132)."""


@strict
@dataclass(frozen=True)
class TurnCriticConfig:
    """The critic of turns, in presets that have one: ``archer``, ``sweet``."""

    learning_rate: Open[Positive] = OPEN
    """Learning rate, constant. None: ten times that of the policy."""
    warmup_steps: Open[Whole] = OPEN
    """Initial steps in which only the critic learns. None: 2."""
    updates: Open[Count] = OPEN
    """Updates of a step, each on all of its episodes, or on ``batch`` turns of the replay. None: 8
    (archer) or 4 (sweet)."""
    replay: Count | None = None
    """Replay capacity in turns of an off-policy critic (``archer``); None: the preset's,
    100,000."""
    batch: Count | None = None
    """Turns per update, drawn from the replay; None: the preset's, 128."""
    tau: Probability | None = None
    """Rate at which its target networks follow after each update; None: the preset's, .1."""
    candidates: Count | None = None
    """Actions sampled per state for the critic to rank (``sweet``); None: the preset's, 16."""
    pairs: Count | None = None
    """Pairs per state, each of an action from the better half and one from the worse half; None:
    the preset's, 4."""


LEARNING = ("learning_rate", "warmup_steps", "updates")
"""Settings of how any such critic learns; the others are fields of the signal that reads it."""


def default_learning(preset: Preset, config: TrainConfig, rate: float) -> Layer:
    """Return how a critic of turns learns where no flag says it."""
    signals = [type(term.signal) for term in preset.terms]
    updates = next((UPDATES[signal] for signal in signals if signal in UPDATES), 1)
    values = {"learning_rate": RATE * rate, "warmup_steps": WARMUP, "updates": updates}
    return Layer(PRESET if TURN_CRITIC in preset.needs else DEFAULT, values)


def with_turn_critic(preset: Preset, config: TrainConfig) -> Preset:
    """Return a preset with the fields of its signal that the section sets.

    Raises:
        ConfigurationError: The preset has no critic of turns, or not one that has such a field.
    """
    critic = section_of(config, TurnCriticConfig)
    if TURN_CRITIC not in preset.needs:
        for name in set_fields(critic):
            raise ConfigurationError(
                f"expected --turn-critic.{name.replace('_', '-')} with a preset that has a critic "
                f"of turns, archer or sweet, because nothing of {preset.name!r} reads one"
            )
    return replace(
        preset, terms=tuple(_changed(term, critic, preset.name) for term in preset.terms)
    )


def values_of_turn_critic(preset: Preset) -> Mapping[str, Any]:
    """Return the fields of the signal that are settings, by their names."""
    names = {item.name for item in fields(TurnCriticConfig)}
    return {
        item.name: getattr(term.signal, item.name)
        for term in preset.terms
        if isinstance(term.signal, QMinusV | TurnPreference)
        for item in fields(term.signal)
        if item.name in names
    }


def check_turn_critic(preset: Preset, config: TrainConfig, without_expert: Sequence[str]) -> None:
    """Check the requirements of a critic of turns.

    Args:
        preset: The preset.
        config: The settings, with nothing left open.
        without_expert: Names of the environments without an expert.

    Raises:
        ConfigurationError: The current policy cannot be sampled, nothing can be paired, or the
            expert's plan is not available.
    """
    if TURN_CRITIC not in preset.needs:
        return
    if lag := lag_of(config):
        raise ConfigurationError(
            f"expected --async-rollouts.staleness 0 with --preset {preset.name}, whose critic "
            f"scores actions of the current policy, got {lag}"
        )
    if config.memory.quantize != "none":
        raise ConfigurationError(
            f"expected --memory.quantize none with --preset {preset.name}, because its critic "
            f"would be a copy of quantised weights; got {config.memory.quantize}"
        )
    if not any(isinstance(term.signal, TurnPreference) for term in preset.terms):
        return
    if config.rl.episodes % 2:
        raise ConfigurationError(
            f"expected an even number of episodes of a step with --preset {preset.name}, which "
            f"trains on as many actions in pairs, got {config.rl.episodes}; change --rl.groups"
        )
    if without_expert:
        raise ConfigurationError(
            f"expected environments with an expert with --preset {preset.name}, whose critic sees "
            f"the expert's plan; {', '.join(without_expert)} has none"
        )


def _changed(term: Term, critic: TurnCriticConfig, preset: str) -> Term:
    """Return a term with the values of flags, if its signal reads a critic of turns."""
    signal = term.signal
    if not isinstance(signal, QMinusV | TurnPreference):
        return term
    changes = {name: getattr(critic, name) for name in set_fields(critic) if name not in LEARNING}
    field_names = {item.name for item in fields(signal)}
    if unread := [name for name in changes if name not in field_names]:
        raise ConfigurationError(
            f"expected --turn-critic.{unread[0]} with a preset that reads it, because the critic "
            f"of {preset!r} has none"
        )
    return replace(term, signal=replace(signal, **changes))

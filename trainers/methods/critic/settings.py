"""The section ``--critic.*``: the critic of a preset with one, and its changes of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Literal

from agentgym.errors import ConfigurationError
from trainers.algorithms.advantage import Term
from trainers.algorithms.loss import ValueTargets
from trainers.algorithms.preset import Preset
from trainers.config.field_types import (
    OPEN,
    Count,
    Fraction,
    NotNegative,
    Open,
    Positive,
    Whole,
    strict,
)
from trainers.config.layers import DEFAULT, Layer
from trainers.methods.critic.gae import CRITIC, GAE, BiLevelGAE, TurnGAE
from trainers.methods.method import section_of, set_fields

if TYPE_CHECKING:
    from trainers.config.schema import TrainConfig

STEPS_OF_GAE: Mapping[str, type[GAE | TurnGAE | BiLevelGAE]] = {
    "token": GAE,
    "turn": TurnGAE,
    "bi-level": BiLevelGAE,
}
"""What ``--critic.gae`` names."""
UPDATES: Mapping[str, int] = {"head": 16, "model": 4, "zero": 1}
"""Updates of a step by kind; updates of a head are cheap."""
RATE = 10.0
"""Learning rate of a critic, relative to that of the policy (arXiv 2510.01132)."""


@strict
@dataclass(frozen=True)
class CriticConfig:
    """The critic, in presets that have one such as ``ppo``; it is not part of the policy."""

    kind: Literal["head", "model", "zero"] = "head"
    """Value estimate: a linear head on the policy's final hidden states (head); a separate model,
    initialised as a copy of the policy (model); or always 0 (zero), the control that measures the
    benefit of a critic."""
    trunk: Literal["detached", "shared"] = "detached"
    """Whether the error of a head also trains the policy's layers (shared). It then learns in the
    policy's updates; otherwise in separate ``updates`` before them."""
    learning_rate: Open[Positive] = OPEN
    """Learning rate, constant. None: ten times that of the policy."""
    warmup_steps: Open[Whole] = OPEN
    """Initial steps in which only the critic learns. None: 0."""
    updates: Open[Count] = OPEN
    """Updates of a step, each on all of its episodes. None: 16 for a head, 4 for a model."""
    gae: Literal["token", "turn", "bi-level"] | None = None
    """Steps of the advantages: tokens; turns, with one advantage for all tokens of a turn; or turns
    and then the tokens within each, as in RAGEN. None: the preset's."""
    lam: Fraction | None = None
    """Trace decay (lambda) between two turns, whose discount is ``--rl.gamma``; None: the
    preset's, mostly 1."""
    token_lam: Fraction | None = None
    """Trace decay between two tokens of a turn; where every token is a step (``gae token``) also
    between two turns, unless ``lam`` is set. None: the preset's."""
    token_gamma: Fraction | None = None
    """Discount between two tokens of a turn; where every token is a step also between two turns,
    unless ``--rl.gamma`` is set. None: the preset's."""
    targets: ValueTargets | None = None
    """What the values learn: value and advantage together (gae), or the returns, whatever lambda
    the advantages have (monte-carlo). None: the preset's, mostly gae."""
    clip: NotNegative | None = None
    """Value clip: maximum useful change of a value per step, in units of reward; 0: no clip. None:
    the preset's."""
    weight: NotNegative | None = None
    """Weight of the error in a shared trunk; None: the preset's, mostly .02."""


def default_learning(preset: Preset, config: TrainConfig, rate: float) -> Layer:
    """Return how a critic learns where no flag says it."""
    updates = UPDATES[section_of(config, CriticConfig).kind]
    return Layer(DEFAULT, {"learning_rate": RATE * rate, "warmup_steps": 0, "updates": updates})


def with_critic(preset: Preset, config: TrainConfig) -> Preset:
    """Return a preset with the parts that the section sets.

    Raises:
        ConfigurationError: The preset has no critic or lacks the part that a flag sets, or two
            flags contradict each other.
    """
    critic = section_of(config, CriticConfig)
    if CRITIC not in preset.needs:
        _refuse_unread(preset, critic)
        return preset
    if critic.kind != "head" and critic.trunk == "shared":
        raise ConfigurationError(
            "expected --critic.trunk shared only with --critic.kind head, because nothing else "
            f"has layers of the policy; got {critic.kind}"
        )
    settings = {
        "value_targets": critic.targets,
        "value_weight": critic.weight,
        "value_clip": critic.clip,
    }
    changes: dict[str, Any] = {name: value for name, value in settings.items() if value is not None}
    if critic.clip == 0:
        changes["value_clip"] = None
    terms = tuple(_estimated(term, critic) for term in preset.terms)
    return replace(preset, terms=terms, loss=replace(preset.loss, **changes))


def values_of_critic(preset: Preset) -> Mapping[str, Any]:
    """Return the settings of a critic's estimates and loss, by names of the section."""
    signals = [term.signal for term in preset.terms]
    signal = next((s for s in signals if isinstance(s, GAE | TurnGAE | BiLevelGAE)), None)
    if signal is None:
        return {}
    decays = {"lam": "lam_turn", "token_lam": "lam", "token_gamma": "gamma"}
    values = {name: getattr(signal, field, None) for name, field in decays.items()}
    return {
        "gae": next(name for name, cls in STEPS_OF_GAE.items() if cls is type(signal)),
        **{name: value for name, value in values.items() if value is not None},
        "targets": preset.loss.value_targets,
        "clip": preset.loss.value_clip or 0.0,
        "weight": preset.loss.value_weight,
    }


def check_critic(preset: Preset, config: TrainConfig, without_expert: Sequence[str]) -> None:
    """Check that a critic can be a copy of the policy, if it is to be one.

    Raises:
        ConfigurationError: The policy's weights are quantised.
    """
    if section_of(config, CriticConfig).kind == "model" and config.memory.quantize != "none":
        raise ConfigurationError(
            "expected --critic.kind head with --memory.quantize, because a second model would be a "
            f"copy of quantised weights; got model with {config.memory.quantize}"
        )


def unread_settings(preset: Preset, config: TrainConfig) -> Collection[str]:
    """Return the settings that a critic of its kind does not read."""
    return () if section_of(config, CriticConfig).trunk == "shared" else ("weight",)


def _refuse_unread(preset: Preset, critic: CriticConfig) -> None:
    """Refuse flags of a critic that is not there."""
    for name in set_fields(critic):
        raise ConfigurationError(
            f"expected --critic.{name.replace('_', '-')} with a preset that has a critic such as "
            f"ppo or starpo, because nothing of {preset.name!r} reads a value"
        )


def _estimated(term: Term, critic: CriticConfig) -> Term:
    """Return a term with another estimate, if it has one of these and flags ask for it."""
    signal = term.signal
    if not isinstance(signal, GAE | TurnGAE | BiLevelGAE):
        return term
    signal_type: Any = STEPS_OF_GAE[critic.gae] if critic.gae is not None else type(signal)
    has = [item.name for item in fields(signal_type)]
    arguments = {
        item.name: getattr(signal, item.name) for item in fields(signal) if item.name in has
    }
    if signal_type is not GAE:  # Only there a turn may be left to be as a token.
        for name in ("gamma", "lam"):
            if arguments[f"{name}_turn"] is None:
                arguments[f"{name}_turn"] = getattr(signal, name)
    settings = {"lam_turn": critic.lam, "gamma": critic.token_gamma, "lam": critic.token_lam}
    changes = {name: value for name, value in settings.items() if value is not None}
    if missing := [name for name in changes if name not in has]:
        raise ConfigurationError(
            f"expected --critic.token-{missing[0]} with advantages of tokens, got it with "
            "--critic.gae turn"
        )
    return replace(term, signal=signal_type(**{**arguments, **changes}))

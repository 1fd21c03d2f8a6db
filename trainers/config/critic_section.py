"""The section ``--critic.*``: the critic of a preset that has one, and what it changes in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from agentgym.errors import ConfigurationError
from trainers.algorithms.advantage import Term
from trainers.algorithms.gae import GAE, BiLevelGAE, TurnGAE
from trainers.algorithms.loss import ValueTargets
from trainers.algorithms.presets import Preset
from trainers.config.field_types import Count, Fraction, NotNegative, Positive, Whole, strict

STEPS_OF_GAE: Mapping[str, type[GAE | TurnGAE | BiLevelGAE]] = {
    "token": GAE,
    "turn": TurnGAE,
    "bi-level": BiLevelGAE,
}
"""What ``--critic.gae`` names."""
UPDATES: Mapping[str, int] = {"head": 16, "model": 4, "zero": 1}
"""Updates of a step by kind; those of a head cost next to nothing."""
RATE = 10.0
"""Learning rate of a critic, relative to that of the policy (arXiv 2510.01132)."""


@strict
@dataclass(frozen=True)
class CriticConfig:
    """The critic, in presets that have one such as ``ppo``; it is no part of the policy."""

    kind: Literal["head", "model", "zero"] = "head"
    """What foresees the return: a linear head on the policy's final hidden states (head); a model
    of its own, which begins as a copy of the policy (model); or nothing, every value being 0
    (zero): the control that tells what a critic is worth."""
    trunk: Literal["detached", "shared"] = "detached"
    """Whether the error of a head also trains the policy's layers (shared). It then learns in the
    policy's updates; otherwise in ``updates`` of its own, before them."""
    lr: Positive | None = None
    """Learning rate, constant. None: ten times that of the policy."""
    warmup: Whole = 0
    """First steps in which the critic learns and the policy does not."""
    updates: Count | None = None
    """Updates of a step, each on all of its episodes. None: 16 of a head, 4 of a model."""
    gae: Literal["token", "turn", "bi-level"] | None = None
    """Steps of the advantages: tokens; turns, whose tokens all get that of their turn; or turns and
    then the tokens within each, as RAGEN's. None: the preset's."""
    lam: Fraction | None = None
    """Trace decay (lambda) between two turns, whose discount is ``--rl.gamma``; None: the
    preset's, mostly 1."""
    token_lam: Fraction | None = None
    """Trace decay between two tokens of a turn; where every token is a step (``gae token``) also
    between two turns, unless ``lam`` is set."""
    token_gamma: Fraction | None = None
    """Discount between two tokens of a turn; where every token is a step also between two turns,
    unless ``--rl.gamma`` is set."""
    targets: ValueTargets | None = None
    """What the values learn: value and advantage together (gae), or the returns, whatever lambda
    the advantages have (monte-carlo). None: the preset's, mostly gae."""
    clip: NotNegative | None = None
    """How far a value may move in a step and still be pulled to its target, in units of reward; 0:
    any distance. None: the preset's."""
    weight: NotNegative | None = None
    """Weight of the error in a shared trunk; None: the preset's, mostly .02."""


@dataclass(frozen=True, kw_only=True)
class FilledCritic(CriticConfig):
    """The critic, with every default decided."""

    lr: float
    updates: int


def with_critic(preset: Preset, critic: CriticConfig) -> Preset:
    """Return a preset with the parts that these flags set.

    Raises:
        ConfigurationError: The preset has no critic, or has not what a flag sets, or two of them
            contradict each other.
    """
    if "critic" not in preset.needs:
        return _without_critic(preset, critic)
    if critic.kind != "head" and critic.trunk == "shared":
        raise ConfigurationError(
            "expected --critic.trunk shared only with --critic.kind head, because nothing else "
            f"has layers of the policy; got {critic.kind}"
        )
    asked = {
        "value_targets": critic.targets,
        "value_weight": critic.weight,
        "value_clip": critic.clip,
    }
    given: dict[str, Any] = {name: value for name, value in asked.items() if value is not None}
    if critic.clip == 0:
        given["value_clip"] = None
    terms = tuple(_estimated(term, critic) for term in preset.terms)
    return replace(preset, terms=terms, loss=replace(preset.loss, **given))


def _without_critic(preset: Preset, critic: CriticConfig) -> Preset:
    """Refuse flags of a critic that is not there."""
    asked = [
        f"--critic.{item.name.replace('_', '-')}"
        for item in fields(CriticConfig)
        if getattr(critic, item.name) != item.default
    ]
    if asked:
        raise ConfigurationError(
            f"expected {asked[0]} with a preset that has a critic, such as ppo or starpo, because "
            f"nothing of {preset.name!r} reads a value"
        )
    return preset


def _estimated(term: Term, critic: CriticConfig) -> Term:
    """Return a term with another estimate, if it has one of these and flags ask for it."""
    now = term.signal
    if not isinstance(now, GAE | TurnGAE | BiLevelGAE):
        return term
    made: Any = STEPS_OF_GAE[critic.gae] if critic.gae is not None else type(now)
    has = [item.name for item in fields(made)]
    kept = {item.name: getattr(now, item.name) for item in fields(now) if item.name in has}
    if made is not GAE:  # Only there a turn may be left to be as a token.
        for name in ("gamma", "lam"):
            if kept[f"{name}_turn"] is None:
                kept[f"{name}_turn"] = getattr(now, name)
    asked = {"lam_turn": critic.lam, "gamma": critic.token_gamma, "lam": critic.token_lam}
    given = {name: value for name, value in asked.items() if value is not None}
    if missing := [name for name in given if name not in has]:
        raise ConfigurationError(
            f"expected --critic.token-{missing[0]} with advantages of tokens, got it with "
            "--critic.gae turn"
        )
    return replace(term, signal=made(**{**kept, **given}))

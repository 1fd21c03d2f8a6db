"""The section ``--critic.*``: the critic of a preset that has one, and what it changes in it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from agentgym.errors import ConfigurationError
from trainers.algorithms.advantage import Term
from trainers.algorithms.gae import GAE, BiLevelGAE, TurnGAE
from trainers.algorithms.loss import ValueTargets
from trainers.algorithms.preferences import TurnPreference
from trainers.algorithms.preset import Preset
from trainers.algorithms.signals import QMinusV
from trainers.config.field_types import (
    Count,
    Fraction,
    NotNegative,
    Positive,
    Probability,
    Whole,
    strict,
)

STEPS_OF_GAE: Mapping[str, type[GAE | TurnGAE | BiLevelGAE]] = {
    "token": GAE,
    "turn": TurnGAE,
    "bi-level": BiLevelGAE,
}
"""What ``--critic.gae`` names."""
UPDATES: Mapping[str, int] = {"head": 16, "model": 4, "zero": 1}
"""Updates of a step by kind; updates of a head are cheap."""
TURNS_UPDATES: Mapping[type, int] = {QMinusV: 8, TurnPreference: 4}
"""Updates of a step of a critic of turns, by the signal that reads it."""
TURNS_WARMUP = 2
"""First steps in which a critic of turns learns alone."""
OF_TURNS = ("replay", "batch", "tau", "candidates", "pairs")
"""Flags that are fields of such a signal."""
OF_ANY = ("learning_rate", "warmup_steps", "updates")
"""Flags of every critic."""
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
    learning_rate: Positive | None = None
    """Learning rate, constant. None: ten times that of the policy."""
    warmup_steps: Whole | None = None
    """Initial steps in which only the critic learns. None: 0, or 2 for a critic of turns."""
    updates: Count | None = None
    """Updates of a step, each on all of its episodes, or on ``batch`` turns of the replay. None: 16
    for a head, 4 for a model; for a critic of turns 8 (archer) or 4 (sweet)."""
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


@dataclass(frozen=True, kw_only=True)
class FilledCritic(CriticConfig):
    """The critic, with every default decided."""

    learning_rate: float
    warmup_steps: int
    updates: int


def times_to_learn(preset: Preset, critic: CriticConfig) -> dict[str, int]:
    """Return the default number of updates of a preset's critic."""
    if "turn_critic" not in preset.needs:
        return {"warmup_steps": 0, "updates": UPDATES[critic.kind]}
    signals = [type(term.signal) for term in preset.terms]
    updates = next(TURNS_UPDATES[signal] for signal in signals if signal in TURNS_UPDATES)
    return {"warmup_steps": TURNS_WARMUP, "updates": updates}


def check_turn_critic(
    preset: Preset, settings: Mapping[str, Any], without_expert: Sequence[str]
) -> None:
    """Check the requirements of a critic of turns.

    Args:
        preset: The preset.
        settings: All settings, filled in.
        without_expert: Names of the environments without an expert.

    Raises:
        ConfigurationError: The current policy cannot be sampled, nothing can be paired, or the
            expert's plan is not available.
    """
    if "turn_critic" not in preset.needs:
        return
    if settings["rl"]["staleness"]:
        raise ConfigurationError(
            f"expected --rl.staleness 0 with --preset {preset.name}, whose critic scores actions "
            f"of the current policy, got {settings['rl']['staleness']}"
        )
    if settings["memory"]["quantize"] != "none":
        raise ConfigurationError(
            f"expected --memory.quantize none with --preset {preset.name}, because its critic "
            f"would be a copy of quantised weights; got {settings['memory']['quantize']}"
        )
    if not any(isinstance(term.signal, TurnPreference) for term in preset.terms):
        return
    episodes = settings["rl"]["groups"] * settings["rl"]["num_generations"]
    if episodes % 2:
        raise ConfigurationError(
            f"expected an even number of episodes of a step with --preset {preset.name}, which "
            f"trains on as many actions in pairs, got {episodes}; change --rl.groups"
        )
    if without_expert:
        raise ConfigurationError(
            f"expected environments with an expert with --preset {preset.name}, whose critic sees "
            f"the expert's plan; {', '.join(without_expert)} has none"
        )


def with_critic(preset: Preset, critic: CriticConfig) -> Preset:
    """Return a preset with the parts that these flags set.

    Raises:
        ConfigurationError: The preset has no critic or lacks the part that a flag sets, or two
            flags contradict each other.
    """
    if "turn_critic" in preset.needs:
        return _of_turns(preset, critic)
    if "critic" not in preset.needs or _list_set_flags(critic, OF_TURNS):
        return _without_critic(preset, critic)
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


def _list_set_flags(critic: CriticConfig, names: Collection[str]) -> list[str]:
    """Return those of some settings that flags set."""
    return [
        item.name
        for item in fields(CriticConfig)
        if item.name in names and getattr(critic, item.name) != item.default
    ]


def _without_critic(preset: Preset, critic: CriticConfig) -> Preset:
    """Refuse flags of a critic that is not there."""
    of_turns = _list_set_flags(critic, OF_TURNS)
    names = [item.name for item in fields(CriticConfig)]
    for name in of_turns or _list_set_flags(critic, names):
        description = "of turns, archer or sweet" if of_turns else "such as ppo or starpo"
        raise ConfigurationError(
            f"expected --critic.{name.replace('_', '-')} with a preset that has a critic "
            f"{description}, because nothing of {preset.name!r} reads a value"
        )
    return preset


def _of_turns(preset: Preset, critic: CriticConfig) -> Preset:
    """Return a preset with what flags set of its critic of turns."""

    def changed(term: Term) -> Term:
        signal: Any = term.signal
        if not isinstance(signal, QMinusV | TurnPreference):
            return term
        field_names = [item.name for item in fields(signal)]
        unread = [
            item.name for item in fields(CriticConfig) if item.name not in (*OF_ANY, *field_names)
        ]
        if strange := _list_set_flags(critic, unread):
            raise ConfigurationError(
                f"expected --critic.{strange[0].replace('_', '-')} with a preset that reads it, "
                f"because the critic of {preset.name!r} has none"
            )
        return replace(
            term, signal=replace(signal, **{name: getattr(critic, name)
                                            for name in _list_set_flags(critic, field_names)})
        )  # fmt: skip

    return replace(preset, terms=tuple(map(changed, preset.terms)))


def _estimated(term: Term, critic: CriticConfig) -> Term:
    """Return a term with another estimate, if it has one of these and flags ask for it."""
    now = term.signal
    if not isinstance(now, GAE | TurnGAE | BiLevelGAE):
        return term
    signal_type: Any = STEPS_OF_GAE[critic.gae] if critic.gae is not None else type(now)
    has = [item.name for item in fields(signal_type)]
    arguments = {item.name: getattr(now, item.name) for item in fields(now) if item.name in has}
    if signal_type is not GAE:  # Only there a turn may be left to be as a token.
        for name in ("gamma", "lam"):
            if arguments[f"{name}_turn"] is None:
                arguments[f"{name}_turn"] = getattr(now, name)
    settings = {"lam_turn": critic.lam, "gamma": critic.token_gamma, "lam": critic.token_lam}
    changes = {name: value for name, value in settings.items() if value is not None}
    if missing := [name for name in changes if name not in has]:
        raise ConfigurationError(
            f"expected --critic.token-{missing[0]} with advantages of tokens, got it with "
            "--critic.gae turn"
        )
    return replace(term, signal=signal_type(**{**arguments, **changes}))

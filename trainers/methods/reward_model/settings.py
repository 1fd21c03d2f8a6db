"""The section ``--reward-model.*``: the reward model of a preset, and its changes of the preset."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from agentgym.errors import ConfigurationError
from trainers.algorithms.advantage import Term
from trainers.algorithms.preset import Preset
from trainers.config.field_types import OPEN, Count, NotNegative, Open, Positive, Whole, strict
from trainers.config.layers import DEFAULT, Layer
from trainers.methods.method import section_of, set_fields
from trainers.methods.reward_model.credit import PRM, Implicit
from trainers.methods.reward_model.pairs import PreferredBy

if TYPE_CHECKING:
    from trainers.config.schema import TrainConfig

LEVELS: Mapping[str, Literal["turn", "trajectory"]] = {"turns": "turn", "episodes": "trajectory"}
"""Values of ``--reward-model.pays``."""
RATE = 2.0
"""Learning rate of a reward model, relative to that of the policy (arXiv 2509.19199)."""


@strict
@dataclass(frozen=True)
class RewardModelConfig:
    """The reward model of a preset such as ``istar``, or added to another preset (``weight``).

    It is a copy of the policy that learns, each step, preferences between episodes of a task.
    """

    weight: NotNegative | None = None
    """Weight of its advantages, normalised within the group; 0 leaves it out. With a preset without
    a reward model, it adds one. None: the preset's."""
    beta: Positive | None = None
    """Scale beta of its rewards: beta times the log-ratio to the policy before the update, in
    rewards and loss. None: the preset's, mostly .05."""
    pays: Literal["turns", "episodes"] | None = None
    """Level of its rewards: each turn, or the episode with the sum over its turns, a learned
    return. None: the preset's, mostly turns."""
    alone: bool = False
    """Whether its rewards replace the environment's, which then only train the reward model."""
    preferred: PreferredBy = "success"
    """Which episode of a group is better: the one that solved its task (success), or the one with
    the higher return (return), for partial success."""
    learning_rate: Open[Positive] = OPEN
    """Learning rate, constant. None: twice that of the policy."""
    warmup_steps: Whole = 0
    """Initial steps in which it learns and gives no rewards."""
    updates: Count = 1
    """Updates of a step, each on all pairs of its episodes."""


def default_learning(preset: Preset, config: TrainConfig, rate: float) -> Layer:
    """Return how fast a reward model learns where no flag says it."""
    return Layer(DEFAULT, {"learning_rate": RATE * rate})


def with_reward_model(preset: Preset, config: TrainConfig) -> Preset:
    """Return a preset with the parts that the section sets.

    Raises:
        ConfigurationError: The preset has no reward model, and none is added.
    """
    reward_model = section_of(config, RewardModelConfig)
    terms, weight = preset.terms, reward_model.weight
    has = any(isinstance(term.signal, Implicit) for term in terms)
    if not has and not weight:
        return _without(preset, reward_model)
    if not has:
        terms = (*terms, Term(Implicit(), center="group", scale="group"))
    if reward_model.alone:
        terms = tuple(term for term in terms if isinstance(term.signal, Implicit))
    if weight == 0:
        terms = tuple(term for term in terms if not isinstance(term.signal, Implicit))
    if not terms:
        raise ConfigurationError(
            "expected --reward-model.weight above 0 with --reward-model.alone, because nothing "
            "else would be learned from, got 0"
        )
    changed = replace(preset, terms=tuple(_changed(term, reward_model) for term in terms))
    _check_fits(changed)
    return changed


def values_of_reward_model(preset: Preset) -> Mapping[str, Any]:
    """Return the rewards of a reward model, by names of the section."""
    for term in preset.terms:
        if isinstance(term.signal, Implicit):
            pays = next(name for name, level in LEVELS.items() if level == term.signal.level)
            return {"weight": term.weight, "beta": term.signal.beta, "pays": pays}
    return {}


def _check_fits(preset: Preset) -> None:
    """Check that a reward model reads whole episodes, and differs from the acting policy.

    Raises:
        ConfigurationError: A part of the preset prevents it.
    """
    why = None
    if "turn_critic" in preset.needs:
        why = "its rows are actions scored by a critic, not whole episodes"
    elif preset.loss.behave == "ratio":
        why = "its ratio is to the behaviour policy, while a reward model starts as the current "
        "policy"
    if why and PRM in preset.needs:
        raise ConfigurationError(
            f"expected a preset whose episodes a reward model can judge, got {preset.name!r}: "
            f"{why}; leave --reward-model.weight out"
        )


def _without(preset: Preset, reward_model: RewardModelConfig) -> Preset:
    """Refuse flags of a reward model that is not there."""
    flags = [f"--reward-model.{name}" for name in set_fields(reward_model) if name != "weight"]
    if flags:
        raise ConfigurationError(
            f"expected {flags[0]} with a preset that has a reward model, such as istar, or with "
            f"--reward-model.weight, which adds one, because nothing of {preset.name!r} reads it"
        )
    return preset


def _changed(term: Term, reward_model: RewardModelConfig) -> Term:
    """Return a term with the values of flags, if it is the reward model's."""
    if not isinstance(term.signal, Implicit):
        return term
    changes: dict[str, Any] = {} if reward_model.beta is None else {"beta": reward_model.beta}
    if reward_model.pays is not None:
        changes["level"] = LEVELS[reward_model.pays]
    weight = term.weight if reward_model.weight is None else reward_model.weight
    return replace(term, signal=replace(term.signal, **changes), weight=weight)

"""The section ``--distill.*``: the teacher, and its weight relative to the reward."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from agentgym.errors import ConfigurationError
from trainers.algorithms.advantage import Term
from trainers.algorithms.core_presets import TURN_LOO
from trainers.algorithms.filters import ZeroVariance
from trainers.algorithms.preset import Preset
from trainers.config.field_types import NotNegative, strict
from trainers.config.layers import PRESET, Layer
from trainers.methods.distill.credit import Privileged, ReverseKL
from trainers.methods.method import section_of

if TYPE_CHECKING:
    from trainers.config.schema import TrainConfig

__all__ = [
    "CURRENT",
    "START",
    "DistillConfig",
    "check_distillation",
    "default_teacher",
    "distillation_of",
    "has_teacher",
    "values_of_distillation",
    "with_distillation",
]

START, CURRENT = "start", "current"
"""Teachers that are the policy itself: as reinforcement learning found it, or as it is now."""
METHOD = "on-policy-distillation"
"""The preset that learns from a teacher alone."""


@strict
@dataclass(frozen=True)
class DistillConfig:
    """On-policy distillation: the policy plays, and a teacher scores every token it samples.

    With a preset such as ``on-policy-distillation``, or beside the rewards of another one.
    """

    teacher: str | None = None
    """The teacher: a folder of a run or of a checkpoint in one, a model as ``--model`` names it, or
    the policy itself: ``start``, as it was before reinforcement learning, or ``current``. Its
    tokens must be those of the policy; a tiny policy is made with them. None: ``start`` with
    privileged information."""
    url: str | None = None
    """Address of a vLLM server that serves the teacher, in place of a name."""
    weight: NotNegative | None = None
    """Weight of the teacher's log-ratio in the advantage; 0 leaves it out. With a preset without a
    teacher, it is added. None: the preset's, mostly 1."""
    reward_weight: NotNegative | None = None
    """Weight of the preset's advantages from rewards; 0 leaves them out. With a preset without
    rewards, those of the default preset are added. None: the preset's."""
    privileged: Privileged | None = None
    """What the teacher reads before the policy's prompt: nothing (none), or the plan of the
    environment's expert (plan). None: the preset's, mostly none."""


def with_distillation(preset: Preset, config: TrainConfig) -> Preset:
    """Return a preset with the parts that the section sets.

    Filters that drop groups of equal returns go, unless flags decide on the filters: a teacher
    tells their members apart.

    Raises:
        ConfigurationError: There is no teacher, or nothing would be learned from.
    """
    distill = section_of(config, DistillConfig)
    if distill.teacher and distill.url:
        raise ConfigurationError(
            "expected --distill.teacher or --distill.url, because there is one teacher, got both: "
            f"{distill.teacher} and {distill.url}"
        )
    term = _term_of(preset)
    if distill.weight == 0 or (term is None and not _adds_teacher(distill)):
        _refuse_unread(preset, distill, term)
        return replace(preset, terms=tuple(part for part in preset.terms if part is not term))
    term = term or Term(ReverseKL())
    if distill.privileged is not None:
        term = replace(term, signal=ReverseKL(distill.privileged))
    if distill.weight is not None:
        term = replace(term, weight=distill.weight)
    filters = preset.filters
    if config.rl.filters is None:
        filters = tuple(part for part in filters if not isinstance(part, ZeroVariance))
    rewards = tuple(_reward_terms(preset, distill.reward_weight))
    preset = replace(preset, terms=(*rewards, term), filters=filters)
    _check_fits(preset, distill)
    return preset


def distillation_of(preset: Preset) -> ReverseKL | None:
    """Return the credit from a teacher that a preset has, or None."""
    term = _term_of(preset)
    return None if term is None else term.signal  # type: ignore[return-value]


def default_teacher(preset: Preset, config: TrainConfig, rate: float) -> Layer:
    """Return the teacher of a preset where no flag names one: the policy that reads more."""
    return Layer(PRESET, {"teacher": _named_teacher(preset, config)})


def has_teacher(preset: Preset, config: TrainConfig) -> bool:
    """Return whether flags or the preset name a teacher."""
    distill = section_of(config, DistillConfig)
    return bool(distill.teacher or distill.url or _named_teacher(preset, config))


def values_of_distillation(preset: Preset) -> Mapping[str, Any]:
    """Return the settings that a preset's parts stand for, by their names in the section."""
    term, signal = _term_of(preset), distillation_of(preset)
    if term is None or signal is None:
        return {}
    return {"weight": term.weight, "privileged": signal.privileged}


def check_distillation(preset: Preset, config: TrainConfig, without_expert: Sequence[str]) -> None:
    """Check the requirements of a teacher in a run.

    Args:
        preset: The preset.
        config: The settings, with nothing left open.
        without_expert: Names of the environments without an expert.

    Raises:
        ConfigurationError: There is no plan, or the tokens would be scored at another temperature.
    """
    signal = distillation_of(preset)
    if signal is None:
        return
    if signal.privileged == "plan" and without_expert:
        raise ConfigurationError(
            f"expected --distill.privileged none, because {', '.join(without_expert)} has no "
            "expert whose plan a teacher could read, got plan"
        )
    if section_of(config, DistillConfig).url and config.temperature != 1:
        raise ConfigurationError(
            "expected --temperature 1 with --distill.url, because a vLLM server scores prompts at "
            f"that temperature, got {config.temperature:g}"
        )


def _named_teacher(preset: Preset, config: TrainConfig) -> str | None:
    """Return the teacher that a preset names where no flag does."""
    signal, distill = distillation_of(preset), section_of(config, DistillConfig)
    if signal is None or signal.privileged == "none" or distill.teacher or distill.url:
        return None
    return START


def _term_of(preset: Preset) -> Term | None:
    """Return the term of a teacher."""
    return next((term for term in preset.terms if isinstance(term.signal, ReverseKL)), None)


def _adds_teacher(distill: DistillConfig) -> bool:
    """Whether flags add a teacher to a preset that has none."""
    return bool(distill.teacher or distill.url or distill.weight or distill.privileged == "plan")


def _refuse_unread(preset: Preset, distill: DistillConfig, term: Term | None) -> None:
    """Refuse flags of a teacher that is not there."""
    flags = [
        f"--distill.{item.name.replace('_', '-')}"
        for item in fields(DistillConfig)
        if getattr(distill, item.name) is not None and item.name != "weight"
    ]
    if flags:
        raise ConfigurationError(
            f"expected {flags[0]} with a preset that has a teacher, such as {METHOD}, or with "
            "--distill.teacher and a --distill.weight above 0, because nothing of "
            f"{preset.name!r} reads it"
        )
    if term is not None and len(preset.terms) == 1:
        raise ConfigurationError(
            f"expected --distill.weight above 0 with --preset {preset.name}, because nothing else "
            "would be learned from, got 0"
        )


def _reward_terms(preset: Preset, weight: float | None) -> Iterator[Term]:
    """Yield the terms beside the teacher, with the weight of a flag."""
    terms = [term for term in preset.terms if not isinstance(term.signal, ReverseKL)]
    if weight is None:
        yield from terms
    elif weight > 0:
        for term in terms or TURN_LOO.terms:
            yield replace(term, weight=term.weight * weight)


def _check_fits(preset: Preset, distill: DistillConfig) -> None:
    """Check that a teacher can score the tokens of a preset, and has something to say.

    Raises:
        ConfigurationError: It cannot.
    """
    why = None
    if "turn_critic" in preset.needs:
        why = "its rows are actions scored by a critic, not whole episodes"
    elif preset.prefers:
        why = "its credit is a preference between two episodes"
    if why:
        raise ConfigurationError(
            f"expected a preset whose episodes a teacher can score, got {preset.name!r}: {why}; "
            "leave --distill.* out"
        )
    signal = distillation_of(preset)
    if signal is not None and signal.privileged == "none" and distill.teacher in (START, CURRENT):
        raise ConfigurationError(
            f"expected --distill.privileged plan with --distill.teacher {distill.teacher}, because "
            "without it the policy would be its own teacher and learn nothing, got none"
        )

"""The interface of a method, so that no other package names one.

A user's method is a `Method` in a package whose entry point of the group ``agentgym.methods`` names
it. It is read to parse flags and to show help, so its module imports no torch; `Method.step_part`
is a name for that reason.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from agentgym.trust.table import Entry
from trainers.algorithms.needs import Need
from trainers.algorithms.preset import Preset
from trainers.config.layers import DEFAULT, Layer

__all__ = ["Method", "MethodMemory", "MethodResult", "section_of", "set_fields"]

Section = TypeVar("Section")


def _keep_preset(preset: Preset, config: Any) -> Preset:
    return preset


@dataclass(frozen=True)
class MethodMemory:
    """The memory of a method besides the policy's."""

    part: str = ""
    """Its purpose; empty: included in another."""
    size: int = 0
    """Bytes."""
    advice: str = ""
    """How to reduce them."""
    reference: bool = False
    """Whether it needs a copy of the policy."""
    players: int = 0
    """Further policies that play."""


class MethodResult(NamedTuple):
    """A method's entry in the result of a run that used it."""

    figures: Mapping[str, Any] = MappingProxyType({})
    """Its ``Method.figures``, as far as they are known."""
    remarks: Sequence[str] = ()
    """Further remarks for the reader."""


@dataclass(frozen=True, kw_only=True)
class Method:
    """An optional method of the trainer.

    ``config`` is the run's `trainers.config.schema.TrainConfig`, of which a method reads its own
    section with `section_of`.
    """

    name: str
    """Its name; that of its entry point and of its section of settings too: ``--NAME.*``, with
    ``-`` for ``_``."""
    needs: tuple[Need, ...] = ()
    """What its parts of presets need, which this method provides; each has its name."""
    start_settings: Collection[str] = ()
    """Settings of the section that already change the warm start or its evaluation."""
    used: Callable[[Any], bool] | None = None
    """Whether a `trainers.config.resolve.ResolvedRun` uses the method; None: if its preset needs
    it."""
    provides: Callable[[Preset, Any], bool] | None = None
    """Whether the settings ``(preset, config)`` name what the method needs itself, such as a model
    that teaches; None: it always provides its ``needs``."""
    presets: Mapping[str, tuple[Preset, ...]] = field(default_factory=dict)
    """Presets by the name of the one after which they are listed; ``""``: after all others."""
    parts: Mapping[str, tuple[type, ...]] = field(default_factory=dict)
    """Classes that a file of ``--preset-file`` may name, by the field in which they may stand, such
    as ``signal``."""
    section: type | None = None
    """Dataclass of its settings; None: it has none. All of them have defaults."""
    trust: Mapping[str, Entry] = field(default_factory=dict)
    """The permissions that each of these settings gives a file; see `agentgym.trust.table`."""
    extend_preset: Callable[[Preset, Any], Preset] = _keep_preset
    """Return a preset with the terms that the section adds: before the flags of ``--rl.*``, which
    then change these terms as well."""
    change_preset: Callable[[Preset, Any], Preset] = _keep_preset
    """Return a preset with the section's changes, applied after the flags of ``--rl.*``."""
    preset_values: Callable[[Preset], Mapping[str, Any]] = lambda preset: {}
    """Return the settings of the section that the parts of a preset stand for."""
    defaults: Callable[[Preset, Any, float], Layer] = lambda preset, config, rate: Layer(
        DEFAULT, {}
    )
    """Return what the section leaves open: of ``(preset, config, rate)``, with the learning rate of
    the policy."""
    check: Callable[[Preset, Any, Sequence[str]], None] = lambda preset, config, without_expert: (
        None
    )
    """Refuse inconsistent settings: of the preset, the settings with nothing left open, and the
    names of the environments without an expert."""
    unread: Callable[[Preset, Any], Collection[str]] = lambda preset, config: ()
    """Return the settings of the section that a run does not read although it has the method."""
    memory: Callable[[Any, Any, Any], MethodMemory] = lambda run, shape, training: MethodMemory()
    """Return what it takes in a run: of the `trainers.config.resolve.ResolvedRun`, and the
    ``ModelShape`` and ``TrainingSetup`` of its policy (`trainers.models.memory`)."""
    figures: Mapping[str, object] = field(default_factory=dict)
    """Its figures in ``summary.json``, with their values in runs that do not use it."""
    result: str = ""
    """Its entry in the result of a run: ``module:function`` of the run and the records of its
    steps, which returns a `MethodResult`; empty: nothing."""
    loop: str = ""
    """Loop of episodes that the trainer does not own: ``module:name`` of a
    `trainers.methods.episode_loop.EpisodeLoop`, made of the run; empty: the trainer's own."""
    lag: Callable[[Any], int] = lambda config: 0
    """Return from the settings how many steps generation runs ahead of training; above 0 its engine
    has a copy of the weights."""
    in_flight: Callable[[Any], int] = lambda config: 0
    """Return from the settings how many episodes play at a time; 0: those of a step."""
    snapshots: bool = False
    """Whether it forks episodes, so that environments must take snapshots after any turn."""
    own_loop: bool = False
    """Whether it needs the trainer's own loop, so that no agent (``--agent``) can play."""
    step_part: str = ""
    """Its part in a step: ``module:function`` of ``(run, policy)``, which returns the maker of its
    `trainers.grpo.step_part.StepPart`, with default settings if both are None; the function of a
    method without ``needs`` returns None if it is inactive. Empty: it has none."""
    check_start: str = ""
    """Its check before anything is loaded: ``module:function`` of the run; empty: nothing."""
    tokenizer: str = ""
    """The tokenizer that a tiny policy is made with: ``module:function`` of the run, which returns
    it or None; empty: the method needs none."""

    def is_used(self, run: Any) -> bool:
        """Return whether a `trainers.config.resolve.ResolvedRun` uses the method."""
        if self.used is not None:
            return self.used(run)
        return not {*self.needs}.isdisjoint(run.preset.needs)


def section_of(config: object, section: type[Section]) -> Section:
    """Return the section of a run's settings that is of a class.

    Args:
        config: A `trainers.config.schema.TrainConfig`.
        section: The class, `Method.section` of a method.

    Raises:
        LookupError: There is none: the table of methods does not have this one.
    """
    for value in vars(config).values():
        if isinstance(value, section):
            return value
    raise LookupError(f"expected a section {section.__name__} in the settings, got none")


def set_fields(section: Any) -> list[str]:
    """Return the names of the settings of a section that are not at their defaults."""
    return [item.name for item in fields(section) if getattr(section, item.name) != item.default]

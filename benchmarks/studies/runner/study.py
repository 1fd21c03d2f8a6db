"""The definition of a study: arms that differ in settings, and the analysis of their runs."""

from __future__ import annotations

import importlib
import pkgutil
import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import benchmarks.studies
from agentgym.core.options import import_named
from agentgym.errors import ConfigurationError
from trainers.phases.multirun.played import PlayedRun

BEFORE = "{before}"
"""What stands in the settings of an arm for the folder of the run that comes before."""
Runs = Mapping[str, Sequence[PlayedRun]]
"""The finished runs of each arm that has some, in the order of the arms and of the seeds."""


@dataclass(frozen=True)
class Arm:
    """Settings that are run once per seed."""

    name: str
    """Its name in the results; unique in its study."""
    settings: tuple[str, ...]
    """Flags of ``agentgym-train``, without those of the seed and the folder."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Its label on each axis of the study."""
    needs: str = ""
    """Word that must be given to select it, such as ``tasks=search``; for long runs."""
    after: Arm | None = None
    """Arm of the study whose run with the same seed ends first; ``{before}`` in the settings is
    its folder. It comes after no other."""


@dataclass(frozen=True)
class Pilot:
    """A seed that is run first, to choose the arms for the other seeds."""

    seed: int
    """Seed of the pilot, not among the compared ones."""
    choose: Callable[[Runs], Collection[str]]
    """Returns the names of the chosen arms, given the runs of that seed."""


@dataclass(frozen=True)
class Study:
    """A question, the runs that answer it, and their analysis."""

    name: str
    """Name of its module and of its result."""
    question: str
    """The question, in one sentence."""
    arms: Sequence[Arm]
    """The arms."""
    measure: Callable[[Runs], dict[str, Any]]
    """Returns JSON figures of the finished runs; arms without a run are absent."""
    draw: Callable[[Mapping[str, Any], Path], None]
    """Draws the result, read back from JSON, to a file."""
    share_start: bool = True
    """Whether runs share equal warm starts; False if whole runs are timed."""
    pictures: bool = True
    """Whether each run draws its own curves, which takes as long as a small run trains."""
    pilot: Pilot | None = None
    """The pilot that chooses the arms for a command's seeds; None: all arms are run."""
    recorded: tuple[str, ...] = ()
    """Arguments of ``agentgym eval`` with which a policy that others come after is played once it
    is trained, into the folder ``recorded`` of its run."""

    def __post_init__(self) -> None:
        """Check that the arms have different names."""
        names = [arm.name for arm in self.arms]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ConfigurationError(
                f"expected arms of different names in study {self.name}, got {twice[0]!r} twice"
            )


def study_names() -> list[str]:
    """Return the names of all studies: the modules of ``benchmarks.studies``."""
    modules = pkgutil.iter_modules(benchmarks.studies.__path__)
    return sorted(
        module.name for module in modules if not module.ispkg and module.name != "__main__"
    )


def load_study(name: str) -> Study:
    """Return a study by its name, or by the dotted name of your own module.

    Raises:
        ConfigurationError: There is none.
    """
    if "." in name:
        study = getattr(import_named(name, "a study of your own"), "STUDY", None)
    elif name in study_names():
        study = importlib.import_module(f"benchmarks.studies.{name}").STUDY
    else:
        raise ConfigurationError(
            f"expected a study: one of {', '.join(study_names())}, or a module of your own such as "
            f"own.study; got {name!r}"
        )
    if not isinstance(study, Study):
        raise ConfigurationError(
            f"expected the module of a study of your own, which holds STUDY = Study(...), got "
            f"{name!r} with STUDY = {study!r:.80}"
        )
    return study


def chosen_arms(study: Study, only: Sequence[str]) -> list[Arm]:
    """Return the arms selected by words; all without words.

    A word is the name of an arm, or ``AXIS=LABEL``; arms have to fit one of the words for each axis
    that is named, and one of the names if there are any. What an arm needs has to be among them, or
    its name. An arm that another one comes after is chosen with it.

    Raises:
        ConfigurationError: A word, or all words together, select nothing.
    """
    for word in only:
        axis, _, label = word.rpartition("=")
        if not any(_place(arm, axis) == label for arm in study.arms):
            axes = sorted(
                {f"{axis}={label}" for arm in study.arms for axis, label in arm.labels.items()}
            )
            choices = axes or [arm.name for arm in study.arms]
            raise ConfigurationError(
                f"expected --only to name an arm of {study.name} or a place on an axis "
                f"({', '.join(choices)}), got {word!r}"
            )
    if arms := _select_arms(study, only):
        return [
            arm for arm in study.arms if arm in arms or arm in [arm_used.after for arm_used in arms]
        ]
    needs = sorted({arm.needs for arm in _fitting(study, only)})
    raise ConfigurationError(
        f"expected --only to choose arms of {study.name}, got "
        f"{shlex.join(only) or 'no words'}: "
        + (
            f"what fits is played only if it is asked for by its name or by {' or '.join(needs)}"
            if needs
            else "no arm fits all of these; words of different axes exclude one another, and so do "
            "a word of an axis and the name of an arm that lies elsewhere"
        )
    )


def words_for(study: Study, names: Collection[str]) -> list[str]:
    """Return a few words of ``--only`` that select exactly these arms."""
    arms = [arm for arm in study.arms if arm.name in names]
    axes = list(dict.fromkeys(axis for arm in study.arms for axis in arm.labels))
    labels = {axis: list(dict.fromkeys(_place(arm, axis) for arm in arms)) for axis in axes}
    parts = [
        axis for axis in axes if len(labels[axis]) < len({_place(a, axis) for a in study.arms})
    ]
    needed = {arm.needs.rpartition("=")[0] for arm in arms if arm.needs}
    for some in ([], parts, [axis for axis in axes if axis in parts or axis in needed]):
        words = [f"{axis}={label}" for axis in some for label in labels[axis]]
        if _select_arms(study, words) == arms:
            return words
    return [arm.name for arm in arms]


def _select_arms(study: Study, only: Sequence[str]) -> list[Arm]:
    """Return the arms that words choose, or none."""
    return [
        arm
        for arm in _fitting(study, only)
        if not arm.needs or arm.needs in only or arm.name in only
    ]


def _fitting(study: Study, only: Sequence[str]) -> list[Arm]:
    """Return the arms that words choose, also those that need a word which is not there."""
    labels_by_axis: dict[str, set[str]] = {}
    for word in only:
        axis, _, label = word.rpartition("=")
        labels_by_axis.setdefault(axis, set()).add(label)
    return [
        arm
        for arm in study.arms
        if all(_place(arm, axis) in labels for axis, labels in labels_by_axis.items())
    ]


def _place(arm: Arm, axis: str) -> str | None:
    """Return the label of an arm on an axis; without an axis its name."""
    return arm.labels.get(axis) if axis else arm.name

"""The section ``--forks.*``: where episodes are forked, and how forks are trained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from agentgym.errors import ConfigurationError
from trainers.algorithms.preset import Preset, part_path
from trainers.config.field_types import Count, strict
from trainers.methods.forks.branching import (
    FORK_RULES,
    ForkCredit,
    ForkRule,
    branching_of,
)
from trainers.methods.forks.presets import PRESETS
from trainers.methods.method import section_of

if TYPE_CHECKING:
    from trainers.config.schema import TrainConfig

__all__ = ["ForksConfig", "check_forks", "values_of_forks", "with_forks"]


@strict
@dataclass(frozen=True)
class ForksConfig:
    """Forks of episodes, in presets that have them."""

    rule: str | None = None
    """Where episodes are forked: after turns at which the entropy of what the policy writes has
    risen (entropy), at any (random), or after every n-th (uniform); with fields as in
    ``entropy:base=0.5,weight=0.2``, ``random:rate=0.5``, ``uniform:n=1``. None: the preset's."""
    roots: Count | None = None
    """Episodes of a group that begin with its task, and of which forks make the others; None: the
    preset's."""
    copies: Count | None = None
    """Maximum episodes that a fork adds; None: the preset's."""
    credit: ForkCredit | None = None
    """How tokens that episodes share since a fork are trained: in each of them (soft), once with
    the mean of their advantages and weighed by their number (hard), or once and weighed as if each
    fork were a draw among its continuations (tree). None: the preset's."""


def with_forks(preset: Preset, config: TrainConfig) -> Preset:
    """Return a preset with the forks that the flags set.

    Raises:
        ConfigurationError: It has none.
    """
    flags = section_of(config, ForksConfig)
    settings = {"roots": flags.roots, "copies": flags.copies, "credit": flags.credit}
    changes: dict[str, Any] = {name: value for name, value in settings.items() if value is not None}
    if flags.rule is not None:
        changes["rule"] = _fork_rule(flags.rule)
    if not changes:
        return preset
    branching = branching_of(preset)
    if branching is None:
        raise ConfigurationError(
            "expected --forks.rule and its like with a preset whose episodes are forked "
            f"({', '.join(preset.name for preset in PRESETS)}), because the credit of "
            f"{preset.name!r} takes them for independent; leave them out"
        )
    return replace(preset, branching=replace(branching, **changes))


def _fork_rule(text: str) -> ForkRule:
    """Read where episodes are forked."""
    name, _, tail = text.partition(":")
    cls = FORK_RULES.get(name)
    fields_by_name = {} if cls is None else {item.name: item for item in fields(cls)}
    pairs = [pair.partition("=") for pair in tail.split(",") if pair]
    # All fields are numbers that have a default.
    kinds: dict[str, Any] = {name: type(item.default) for name, item in fields_by_name.items()}
    try:
        values = {field: kinds[field](value) for field, _, value in pairs}
    except (KeyError, ValueError):
        values = {}
    if cls is not None and len(values) == len(pairs):
        return cls(**values)
    forms = [
        f"{rule_name}:{','.join(f'{item.name}={item.default}' for item in fields(rule))}"
        for rule_name, rule in FORK_RULES.items()
    ]
    raise ConfigurationError(f"expected --forks.rule as in {' or '.join(forms)}, got {text!r:.80}")


def values_of_forks(preset: Preset) -> Mapping[str, Any]:
    """Return the settings that the forks of a preset stand for, by names of the section."""
    branching = branching_of(preset)
    if branching is None:
        return {}
    return {
        "rule": _rule_text(branching.rule),
        "roots": branching.roots,
        "copies": branching.copies,
        "credit": branching.credit,
    }


def _rule_text(rule: Any) -> str:
    """Write where episodes are forked as ``--forks.rule`` reads it."""
    name = next(
        (name for name, cls in FORK_RULES.items() if type(rule) is cls), part_path(type(rule))
    )
    values = ",".join(f"{item.name}={getattr(rule, item.name)}" for item in fields(rule))
    return f"{name}:{values}" if values else name


def check_forks(preset: Preset, config: TrainConfig, without_expert: Sequence[str]) -> None:
    """Check that the groups of a step can be made of forks.

    Raises:
        ConfigurationError: The size of a group does not fit, or groups are to be replaced.
    """
    branching = branching_of(preset)
    if branching is None:
        return
    if preset.refill:
        raise ConfigurationError(
            f"expected no groups that are replaced with --preset {preset.name}, whose groups grow "
            f"as they are played, got {preset.refill} (--refill.groups)"
        )
    branching.leaves(config.rl.num_generations)

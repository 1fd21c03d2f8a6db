"""``config.yaml``: settings as a file, written with every run and read back.

The file holds the settings as requested, so it can be passed to ``--config``. Its part ``resolved``
holds the values that were chosen for open settings when the run began.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentgym.episodes.run_layout import CONFIG_FILE, RESOLVED
from agentgym.errors import ConfigurationError, DataError, require
from agentgym.support.nested import flat
from agentgym.support.redaction import for_others, holds_hidden
from agentgym.support.structured_files import read_structured
from trainers.config.schema import TrainConfig, from_mapping, to_dict

__all__ = [
    "CONFIG_FILE",
    "RESOLVED",
    "SettingsComparison",
    "check_no_secret_is_missing",
    "compare",
    "read_config",
    "read_settings",
    "stored_settings",
]

NOT_KEPT = ("resume", "out")
"""Settings that say nothing about the run itself."""
FREE = (
    "report_to", "otel", "backend", "workers", "step_timeout", "threads",
    "sft.save_minutes", "rl.save_minutes",
    "rollout.rank_timeout", "export", "push_to_hub", "hub_private", "memory.checkpointing",
    "memory.micro_tokens", "memory.logits_mib", "vllm.memory", "vllm.max_sequences", "vllm.sleep",
    "vllm.eager", "vllm.url", "vllm.folder", "vllm.patience", "sglang.max_sequences", "sglang.url",
    "sglang.folder", "sglang.patience",
)  # fmt: skip
"""Settings that may differ between a run and its continuation, since no result depends on them."""
FREE_SECTIONS = ("health",)
"""Sections that may differ too, since they have no effect before the next alarm."""
GROWING = ("steps", "minutes")
"""Settings that a continuation may raise, which extends the run."""


def read_settings(path: Path) -> dict[str, Any]:
    """Read a YAML file of settings, partial or complete, nested like the flags.

    The result includes ``resolved`` if the file has it.

    Raises:
        ConfigurationError: There is no such file, or it does not hold settings.
    """
    require("yaml", "train")
    try:
        values = read_structured(path, "settings")
    except DataError as error:
        raise ConfigurationError(str(error)) from error
    if not isinstance(values, Mapping):
        content = "nothing" if values is None else f"{values!r:.80}"
        raise ConfigurationError(
            f"expected {path} to hold settings, one 'name: value' a line; got {content}"
        )
    return dict(values)


def read_config(path: Path, env: str = "") -> TrainConfig:
    """Read a configuration from a YAML file; missing settings have their defaults.

    ``env`` is used if the file names no environment.

    Raises:
        ConfigurationError: It cannot be read, or holds a wrong setting.
    """
    values = {key: value for key, value in read_settings(path).items() if key != RESOLVED}
    try:
        return from_mapping({"env": env, **values})
    except ConfigurationError as error:
        raise ConfigurationError(f"{error} (in {path})") from error


def stored_settings(
    config: TrainConfig, resolved: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the content of ``config.yaml``: settings as requested, and those chosen for the rest.

    Secrets, such as an environment's argument ``api_key``, are hidden, because users publish the
    folders of runs. A continuation needs them again.
    """
    values = {key: value for key, value in to_dict(config).items() if key not in NOT_KEPT}
    return for_others(values if resolved is None else {**values, RESOLVED: dict(resolved)})


def check_no_secret_is_missing(config: TrainConfig) -> None:
    """Check that every secret that a file hides was given again.

    Raises:
        ConfigurationError: A secret is missing; the message names its flag.
    """
    hidden = {name: value for name, value in flat(to_dict(config)).items() if holds_hidden(value)}
    if hidden:
        flags = [f"--{name.replace('_', '-')}" for name in hidden]
        raise ConfigurationError(
            f"expected {' and '.join(flags)} to be given again, because the file of a run does "
            f"not store secrets; got {', '.join(map(str, hidden.values())):.300}"
        )


@dataclass(frozen=True)
class SettingsComparison:
    """The differences between the settings of a run and of its continuation."""

    changes: tuple[str, ...]
    """Differences that make it another run, in words."""
    extends: bool
    """Whether the continuation is longer."""


def compare(stored: Mapping[str, Any], current: Mapping[str, Any]) -> SettingsComparison:
    """Compare the stored settings of a run with those of its continuation."""
    old, new = _parts(stored), _parts(current)
    changes = [
        f"{name} was {old[name]} and is {value}"
        for name, value in new.items()
        if name in old
        and old[name] != value
        and not _may_change(name)
        # Requesting the resolved value is no change: another machine may resolve it otherwise.
        and (old[name] is not None or old.get(f"{RESOLVED}.{name}") != value)
    ]
    extends = False
    for name in GROWING:
        old_length, new_length = _length(old, name), _length(new, name)
        extends |= new_length > old_length
        if new_length < old_length:
            changes.append(
                f"{name} was {old_length:g} and is {new_length:g}, but a run cannot be shortened"
            )
    return SettingsComparison(tuple(changes), extends)


def _may_change(name: str) -> bool:
    """Return whether a setting may differ, or is compared separately."""
    setting = name.removeprefix(f"{RESOLVED}.")
    return setting in (*FREE, *GROWING) or setting.split(".")[0] in FREE_SECTIONS


def _length(values: Mapping[str, Any], name: str) -> float:
    """Return the length of a run in steps or minutes: as requested, else as resolved."""
    setting = values.get(name)
    length = values.get(f"{RESOLVED}.{name}") if setting is None else setting
    # Of a file that does not say, nothing is known to be longer; no limit in time is the longest.
    return math.inf if not length else float(length)


def _parts(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings as ``rl.groups``, and what was decided as ``resolved.rl.groups``."""
    settings = {key: value for key, value in values.items() if key != RESOLVED}
    parts = flat(stored_settings(from_mapping(settings)))
    return parts | flat(for_others(values.get(RESOLVED) or {}), f"{RESOLVED}.")

"""Checks what a settings file may name, and records what the user typed for a run's folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from agentgym.episodes.run_layout import RESOLVED
from agentgym.trust import TRAINING, Claim, argument_claims, check_trusted, setting_claims
from agentgym.trust.table import Entry, SettingGroup
from agentgym.trust.typed_here import TypedHere
from trainers.methods.table import methods

__all__ = ["check_settings", "remember_typed", "training_table"]


@cache
def training_table() -> Mapping[str, Entry | SettingGroup]:
    """Return what each setting lets a file do, including the settings of methods."""
    rows = {f"{m.name}.{name}": row for m in methods() for name, row in m.trust.items()}
    return {**TRAINING, **rows}


def check_settings(stored: Mapping[str, Any], typed: Mapping[str, Any], path: Path) -> None:
    """Check that all that a file names is plain data, typed by the user, or trusted.

    Args:
        stored: The settings of the file, nested.
        typed: The flags by dotted name, which override the file.
        path: The file.

    Raises:
        NotTrusted: The file names something else.
    """
    flags = {claim.text for claim in setting_claims(typed, training_table())}
    envs = [part.strip() for part in str(typed.get("env") or "").split(",") if part.strip()]
    kept_settings = _left_to_the_file(stored, typed, envs)
    claims = [
        c for c in setting_claims(kept_settings, training_table(), envs) if c.text not in flags
    ]
    check_trusted(claims, str(path), TypedHere(path.parent))


def _left_to_the_file(
    stored: Mapping[str, Any], typed: Mapping[str, Any], envs: Sequence[str]
) -> dict[str, Any]:
    """Return the settings of a file that no flag replaces."""
    kept_settings = {
        name: {key: part for key, part in value.items() if f"{name}.{key}" not in typed}
        if isinstance(value, Mapping)
        else value
        for name, value in stored.items()
        if name not in typed
    }
    if envs:  # flags name the environments: other entries of the file's list have no effect
        kept_settings["envs"] = [
            entry for entry in stored.get("envs") or () if entry["env"] in envs
        ]
    return kept_settings


def remember_typed(folder: Path, settings: Mapping[str, Any]) -> None:
    """Record what the user typed for a run's folder, so that the run resumes without flags.

    Args:
        folder: The folder.
        settings: The content of its ``config.yaml``.
    """
    unresolved = {name: value for name, value in settings.items() if name != RESOLVED}
    resolved = settings.get(RESOLVED) or {}
    TypedHere(folder).remember(
        [*setting_claims(unresolved, training_table()), *_resolved_claims(resolved)]
    )


def _resolved_claims(resolved: Mapping[str, Any]) -> Iterator[Claim]:
    """Yield the claims of the resolved environments."""
    several = resolved.get("envs") or {}
    for env in several.values():
        yield from argument_claims(env["env_id"], env["kwargs"])
    if not several and "env_id" in resolved:
        yield from argument_claims(resolved["env_id"], resolved.get("env") or {})

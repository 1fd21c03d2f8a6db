"""What a file of settings may name by itself, and what its user has typed for a run's folder."""

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
    """Return what each setting of a training lets a file do, those of methods among them."""
    rows = {f"{m.name}.{name}": row for m in methods() for name, row in m.trust.items()}
    return {**TRAINING, **rows}


def check_settings(stored: Mapping[str, Any], typed: Mapping[str, Any], path: Path) -> None:
    """Refuse what a file names, unless it is plain, typed or trusted.

    Args:
        stored: The settings of the file, nested.
        typed: The flags, by their names with dots, which the file does not decide.
        path: The file.

    Raises:
        NotTrusted: It names something else.
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
    if envs:  # of its list of environments, those that are named count
        kept_settings["envs"] = [
            entry for entry in stored.get("envs") or () if entry["env"] in envs
        ]
    return kept_settings


def remember_typed(folder: Path, settings: Mapping[str, Any]) -> None:
    """Note for the folder of a run what its user has typed, so that the run goes on without flags.

    Args:
        folder: The folder.
        settings: What its ``config.yaml`` holds.
    """
    unresolved = {name: value for name, value in settings.items() if name != RESOLVED}
    resolved = settings.get(RESOLVED) or {}
    TypedHere(folder).remember(
        [*setting_claims(unresolved, training_table()), *_resolved_claims(resolved)]
    )


def _resolved_claims(resolved: Mapping[str, Any]) -> Iterator[Claim]:
    """Yield the claims of the environments as they were made."""
    several = resolved.get("envs") or {}
    for env in several.values():
        yield from argument_claims(env["env_id"], env["kwargs"])
    if not several and "env_id" in resolved:
        yield from argument_claims(resolved["env_id"], resolved.get("env") or {})

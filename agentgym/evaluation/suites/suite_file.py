"""Read suites, which evaluate every listed policy on every listed environment.

A suite is a YAML or TOML file, or a mapping of the same form::

    num_tasks: 200            # common settings: the fields of `EvaluationSettings`
    environments:
      - webshop
      - env: alfworld
        split: valid
        env_kwargs: {difficulty: easy}
    policies:
      - random
      - policy: chat
        model: Qwen/Qwen3-4B
        base_url: http://localhost:8000/v1

Every policy plays every environment. Settings of a policy override those of an environment, which
override common settings; arguments override the file. Two evaluations that differ only in length
would share a folder, and are rejected.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any, get_args, get_type_hints

from agentgym.errors import ConfigurationError, DataError
from agentgym.evaluation.suites.named_evaluation import NamedEvaluation
from agentgym.evaluation.suites.settings import EvaluationSettings
from agentgym.registration.making import parse_pairs
from agentgym.support.guesses import with_guesses
from agentgym.support.structured_files import read_structured
from agentgym.support.typed_json import read_json
from agentgym.trust import (
    EVALUATION,
    Claim,
    check_trusted,
    env_claims,
    policy_claims,
    setting_claims,
)

ENVIRONMENTS, POLICIES = "environments", "policies"
OF_ALL = ("out", "chart")
"""Settings of the whole suite, which a single evaluation does not have."""
PAIRS = ("env_kwargs", "policy_kwargs", "extra")
"""Settings that are mappings of names to values."""
KNOWN = tuple(field.name for field in fields(EvaluationSettings))
HINTS = {name: {hint, *get_args(hint)} for name, hint in get_type_hints(EvaluationSettings).items()}

Settings = Mapping[str, Any]
NOTHING: Settings = MappingProxyType({})


@dataclass(frozen=True)
class Suite:
    """Evaluations for one table."""

    evaluations: tuple[NamedEvaluation, ...]
    """All policies on the first environment, then on the next."""
    title: str
    """Title, from which the default folder gets its name."""
    out: Path | None = None
    """Folder of the evaluations and their table."""
    chart: Path | None = None
    """PNG or SVG file for a chart of the leaderboard."""


def make_suite(
    envs: Sequence[str],
    policies: Sequence[str],
    settings: EvaluationSettings,
    out: Path | None = None,
    chart: Path | None = None,
) -> Suite:
    """Return the suite of all policies on all environments with the same settings.

    Raises:
        ConfigurationError: There is no environment, or an environment or policy occurs twice.
    """
    if not envs:
        raise ConfigurationError(
            "expected the name of an environment, such as webshop (agentgym list shows them), or "
            "--config with a list of them, got none"
        )
    for names in (envs, policies):
        if len({*names}) < len(names):
            raise ConfigurationError(
                f"expected every environment and policy once, got {' '.join(names)}; list policies "
                "with different settings in a --config"
            )
    evaluations = [NamedEvaluation(env, policy, settings) for env in envs for policy in policies]
    return Suite(tuple(evaluations), envs[0], out, chart)


def read_suite(suite: str | Path | Settings, overrides: Settings = NOTHING) -> Suite:
    """Read the evaluations of a file or a mapping.

    Args:
        suite: A YAML or TOML file, or a mapping of the same form.
        overrides: Settings that override those of the suite.

    Raises:
        ConfigurationError: An entry or a setting is wrong, or two evaluations are the same.
        DataError: The file cannot be read.
        NotTrusted: The file names more than plain data.
    """
    source_name = "the suite" if isinstance(suite, Mapping) else str(suite)
    data = _checked(
        suite if isinstance(suite, Mapping) else read_structured(Path(suite), "evaluations"),
        source_name,
    )
    _check_names(overrides, "what is given beside the suite", OF_ALL)
    environments = _entries(data, ENVIRONMENTS, "env", source_name)
    policies = _entries(data, POLICIES, "policy", source_name)
    shared_settings = {
        key: value for key, value in data.items() if key not in (ENVIRONMENTS, POLICIES)
    }
    if not isinstance(suite, Mapping):  # a mapping comes from the user's own code
        check_trusted(
            _claims(shared_settings, environments, policies, overrides), f"the suite {source_name}"
        )
    shared = _merged(shared_settings, overrides)
    of_all = {name: Path(shared[name]) for name in OF_ALL if shared.get(name) is not None}
    evaluations: dict[str, NamedEvaluation] = {}
    for number, env in enumerate(environments):
        for place, policy in enumerate(policies):
            spot = f"{ENVIRONMENTS}[{number}] and {POLICIES}[{place}]"
            merged = _merged(shared_settings, env, policy, overrides)
            settings = _settings(merged, f"{source_name}, {spot}")
            evaluations[spot] = NamedEvaluation(env["env"], policy["policy"], settings)
    _check_different(evaluations, source_name)
    title = "suite" if isinstance(suite, Mapping) else Path(suite).stem
    return Suite(tuple(evaluations.values()), title, **of_all)


def _claims(
    settings: Settings, envs: Sequence[Settings], policies: Sequence[Settings], overrides: Settings
) -> Iterator[Claim]:
    """Yield the claims of a suite's file, except for settings that a flag replaces."""
    typed = _merged(overrides)
    for env in envs:
        yield from env_claims(env["env"], {})
        for policy in policies:
            yield from policy_claims(policy["policy"])
            yield from setting_claims(
                _left_to_the_file(_merged(settings, env, policy), typed), EVALUATION, [env["env"]]
            )


def _left_to_the_file(settings: Settings, typed: Settings) -> dict[str, Any]:
    """Return the settings that no flag replaces; ``PAIRS`` are compared name by name."""
    kept_settings: dict[str, Any] = {}
    for name, value in settings.items():
        if name in PAIRS and isinstance(value, Mapping):
            replaced = typed.get(name) or {}
            kept_settings[name] = {key: part for key, part in value.items() if key not in replaced}
        elif name not in (*typed, "env", "policy"):
            kept_settings[name] = value
    return kept_settings


def _check_different(evaluations: Mapping[str, NamedEvaluation], source_name: str) -> None:
    """Check that no two evaluations would use the same folder.

    Raises:
        ConfigurationError: Two of them would.
    """
    places: dict[str, str] = {}
    for place, evaluation in evaluations.items():
        first = places.setdefault(evaluation.name, place)
        if first != place:
            raise ConfigurationError(
                f"expected different evaluations in {source_name}, but {first} name the same one "
                f"as {place}: {evaluation.title}; other values of num_tasks, samples, price or "
                "concurrency do not distinguish them: leave one out, or give it a separate file "
                "and --out"
            )


def _checked(data: Any, source_name: str) -> Settings:
    """Return the data of a suite after checking the names of its settings."""
    if not isinstance(data, Mapping):
        raise ConfigurationError(
            f"expected {source_name} to hold the lists {ENVIRONMENTS} and {POLICIES}, got "
            f"{type(data).__name__}"
        )
    _check_names(data, source_name, (ENVIRONMENTS, POLICIES, *OF_ALL))
    return data


def _entries(data: Settings, key: str, name: str, file: str) -> list[dict[str, Any]]:
    """Return the entries of a list as mappings; a plain text becomes ``{name: text}``."""
    entries = data.get(key)
    if not isinstance(entries, list | tuple) or not entries:
        raise ConfigurationError(f"expected a list of {key} in {file}, got {entries!r:.80}")
    named_entries = []
    for index, entry in enumerate(entries):
        source_name = f"{file}, {key}[{index}]"
        mapping = {name: entry} if isinstance(entry, str) else entry
        if (
            not isinstance(mapping, Mapping)
            or not isinstance(mapping.get(name), str)
            or not mapping[name]
        ):
            raise ConfigurationError(
                f"expected a name, or settings with {name}: NAME, in {source_name}, got "
                f"{entry!r:.80}"
            )
        _check_names({k: v for k, v in mapping.items() if k != name}, source_name)
        named_entries.append(dict(mapping))
    return named_entries


def _check_names(settings: Settings, source_name: str, more: Sequence[str] = ()) -> None:
    names = [*more, *KNOWN]
    unknown = [str(name) for name in settings if str(name).replace("-", "_") not in names]
    if unknown:
        guesses = with_guesses(unknown, names)
        listing = "" if "did you mean" in guesses else f"; there are {', '.join(names)}"
        raise ConfigurationError(
            f"expected settings of agentgym eval in {source_name}, got {guesses}{listing}"
        )


def _merged(*settings: Settings) -> dict[str, Any]:
    """Merge settings; later ones take precedence, and pairs are merged name by name."""
    merged: dict[str, Any] = {}
    for layer in settings:
        for key, value in layer.items():
            name = str(key).replace("-", "_")
            if name in PAIRS and isinstance(value, str | list | tuple):
                texts = [value] if isinstance(value, str) else [str(part) for part in value]
                value = parse_pairs(texts, f"`{name}`")
            old_value = merged.get(name)
            if isinstance(old_value, Mapping) and isinstance(value, Mapping):
                value = {**old_value, **value}
            merged[name] = value
    return merged


def _settings(merged: Settings, source_name: str) -> EvaluationSettings:
    """Read the settings of an evaluation; None counts as left out."""
    data = {
        name: _plain_value(name, value, source_name)
        for name, value in merged.items()
        if name in KNOWN and value is not None
    }
    try:
        return read_json(EvaluationSettings, data, finite=False)  # ranges are checked later
    except DataError as error:
        raise ConfigurationError(f"{error} ({source_name})") from error


def _plain_value(name: str, value: Any, source_name: str) -> Any:
    """Convert a value of YAML to the setting's type: an int to float, or a number to a name."""
    if name in PAIRS and isinstance(value, Mapping):
        return [f"{key}={_json(part, f'{name}.{key}', source_name)}" for key, part in value.items()]
    if name == "task" and isinstance(value, str):
        return [value]
    if isinstance(value, int) and not isinstance(value, bool):
        return next((kind(value) for kind in (float, str) if kind in HINTS[name]), value)
    return value


def _json(value: object, name: str, source_name: str) -> str:
    try:
        return json.dumps(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigurationError(
            f"expected a JSON-safe value for {name} in {source_name}, but: {error}; put a date "
            'in quotes to make it a text, "2024-01-01"'
        ) from error

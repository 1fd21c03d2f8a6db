"""Evaluations from a YAML file.

::

    n: 200                    # settings of all, by the names of the flags of agentgym eval
    environments:
      - webshop
      - env: alfworld
        split: valid
        set: {difficulty: easy}
    policies:
      - random
      - policy: chat
        model: Qwen/Qwen3-4B
        base_url: http://localhost:8000/v1

Every policy plays every environment. Settings of a policy win over those of an environment, these
over those of all, and flags that were typed over everything. Two that differ in their length alone
would share a folder, and are refused.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agentgym.cli.arguments import LISTS, Eval
from agentgym.cli.evaluations import Evaluation, named_evaluations
from agentgym.cli.parsing import parse
from agentgym.core.options import with_guesses
from agentgym.errors import ConfigurationError, DataError

ENVIRONMENTS, POLICIES = "environments", "policies"
FIELDS = {field.name: field for field in dataclasses.fields(Eval)}
OF_ALL = ("out", "chart")
"""Settings that evaluations do not have of their own."""
NOT_IN_FILES = ("env", "policy", "file", "typed")
"""Fields that the lists stand for."""

Settings = Mapping[str, Any]


def read_evaluations(command: Eval) -> tuple[Eval, list[Evaluation]]:
    """Read the file that a command names.

    Returns:
        The command with the settings of all evaluations, and the evaluations: all policies on the
        first environment, then on the next.

    Raises:
        ConfigurationError: An entry or a setting is wrong, two evaluations are the same, or names
            were typed beside the file.
        DataError: The file cannot be read.
    """
    assert command.file is not None
    if command.env or command.policy:
        raise ConfigurationError(
            "expected the environments and policies in the --file alone, got "
            f"{' '.join((*command.env, *command.policy))} beside it"
        )
    data = _load(command.file)
    environments = _entries(data, ENVIRONMENTS, "env", command.file)
    policies = _entries(data, POLICIES, "policy", command.file)
    common = {key: value for key, value in data.items() if key not in (ENVIRONMENTS, POLICIES)}
    typed = _without_file(command.typed[1:])
    whole = _parsed({}, {}, common, typed, str(command.file))
    found: list[Evaluation] = []
    places: list[str] = []
    for at, env in enumerate(environments):
        for place, policy in enumerate(policies):
            places.append(f"{ENVIRONMENTS}[{at}] and {POLICIES}[{place}]")
            own = {name: value for name, value in common.items() if name not in OF_ALL}
            where = f"{command.file}, {places[-1]}"
            found += named_evaluations(_parsed(policy, env, own, typed, where))
    _check_different(found, places, command.file)
    return whole, found


def _check_different(found: Sequence[Evaluation], places: Sequence[str], file: Path) -> None:
    """Check that no two evaluations would be kept in one folder, where one would replace the other.

    Raises:
        ConfigurationError: Two would.
    """
    seen: dict[str, str] = {}
    for each, place in zip(found, places, strict=True):
        first = seen.setdefault(each.name, place)
        if first != place:
            raise ConfigurationError(
                f"expected different evaluations in {file}, but {first} name the same one as "
                f"{place}: {each.title}; settings such as n, samples, price and concurrency make "
                "no other evaluation: leave one out, or give it a file and an --out of its own"
            )


def _load(file: Path) -> dict[str, Any]:
    import yaml

    try:
        data = yaml.safe_load(file.read_text("utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise DataError(f"expected a YAML file of evaluations at {file}, but: {error}") from error
    if not isinstance(data, dict):
        raise ConfigurationError(
            f"expected {file} to hold the lists {ENVIRONMENTS} and {POLICIES}, got "
            f"{type(data).__name__}"
        )
    _check_names(data, str(file), (ENVIRONMENTS, POLICIES, *OF_ALL))
    return data


def _entries(data: Settings, key: str, name: str, file: Path) -> list[dict[str, Any]]:
    """Return the entries of a list, each with the name of what it is about."""
    entries = data.get(key)
    if not isinstance(entries, list) or not entries:
        raise ConfigurationError(f"expected a list of {key} in {file}, got {entries!r:.80}")
    found = []
    for index, entry in enumerate(entries):
        where = f"{file}, {key}[{index}]"
        made = {name: entry} if isinstance(entry, str) else entry
        if not isinstance(made, dict) or not isinstance(made.get(name), str) or not made[name]:
            raise ConfigurationError(
                f"expected a name, or settings with {name}: NAME, in {where}, got {entry!r:.80}"
            )
        _check_names({k: v for k, v in made.items() if k != name}, where)
        found.append(made)
    return found


def _check_names(settings: Settings, where: str, more: Sequence[str] = ()) -> None:
    known = [*more, *(name for name in FIELDS if name not in (*NOT_IN_FILES, *OF_ALL))]
    unknown = [str(name) for name in settings if str(name).replace("-", "_") not in known]
    if unknown:
        told = with_guesses(unknown, known)
        there = "" if "did you mean" in told else f"; there are {', '.join(known)}"
        raise ConfigurationError(
            f"expected settings of agentgym eval in {where}, got {told}{there}"
        )


def _parsed(
    policy: Settings, env: Settings, common: Settings, typed: Sequence[str], where: str
) -> Eval:
    """Read settings as the flags that they are, the last of a name winning."""
    merged = _merged(common, env, policy)
    names = {name: merged.pop(name, None) for name in ("env", "policy")}
    argv = ["eval", *filter(None, [names["env"]])]
    argv += [f"--policy={names['policy']}"] if names["policy"] else []
    for name, value in merged.items():
        argv += _flag(name, value, where)
    try:
        parsed = parse([*argv, *typed])
    except SystemExit as stop:
        raise ConfigurationError(
            f"expected values that agentgym eval takes in {where} (see above)"
        ) from stop
    assert isinstance(parsed, Eval)
    return parsed


def _merged(*settings: Settings) -> dict[str, Any]:
    """Merge settings, the last winning; those that are mappings are merged themselves."""
    merged: dict[str, Any] = {}
    for each in settings:
        for key, value in each.items():
            name = str(key).replace("-", "_")
            before = merged.get(name)
            if isinstance(before, dict) and isinstance(value, dict):
                value = {**before, **value}
            merged[name] = value
    return merged


def _flag(name: str, value: Any, where: str) -> list[str]:
    """Write a setting as flags."""
    flag = f"--{name.replace('_', '-')}"
    if value is None:
        return []
    if isinstance(value, bool):
        if FIELDS[name].type == "bool":
            return [flag if value else f"--no-{flag[2:]}"]
        return [flag, str(value)]
    if isinstance(value, Mapping):
        value = [f"{key}={_json(each, f'{name}.{key}', where)}" for key, each in value.items()]
    if isinstance(value, list):
        texts = [_text(each, name, where) for each in value]
        return [f"{flag}={text}" for text in texts] if flag in LISTS else [flag, *texts]
    return [f"{flag}={_text(value, name, where)}"]


def _json(value: Any, name: str, where: str) -> str:
    try:
        return json.dumps(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigurationError(
            f"expected a value that JSON can hold for {name} in {where}, but: {error}; a date is a "
            'text if it stands in quotes, "2024-01-01"'
        ) from error


def _text(value: Any, name: str, where: str) -> str:
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        return str(value)
    raise ConfigurationError(f"expected text or a number for {name} in {where}, got {value!r:.80}")


def _without_file(typed: Sequence[str]) -> list[str]:
    """Return what was typed, but for ``--file``."""
    found: list[str] = []
    skip = False
    for argument in typed:
        if skip or argument == "--file" or argument.startswith("--file="):
            skip = argument == "--file" and not skip
        else:
            found.append(argument)
    return found

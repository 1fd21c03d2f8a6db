"""Apply a protocol to an evaluation: arguments of the environment, tasks, horizon, prompts."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from types import EllipsisType
from typing import Any

from agentgym.conversation import Prompt, Shot
from agentgym.core.env import TextEnv
from agentgym.core.options import arguments, integer
from agentgym.errors import ConfigurationError, DataError, TaskNotFound
from agentgym.policies.base import Policy, PolicyWithPrompt
from agentgym.protocols.items import are_items, choose_tasks
from agentgym.protocols.prompts import NamedPrompt, find_prompt
from agentgym.protocols.protocol_file import load_protocol
from agentgym.protocols.schema import ProtocolUse, Setup
from agentgym.registration.making import resolve

_log = logging.getLogger(__name__)
USUAL_SPLIT, USUAL_TASKS = "test", 100
"""Default split and number of tasks."""


@dataclass(frozen=True)
class Terms:
    """The resolved terms of an evaluation, with all defaults filled in."""

    split: str
    """Split of the tasks."""
    num_tasks: int | None
    """Number of tasks; None: the whole split."""
    tasks: Sequence[str] | None = None
    """Ids of the tasks, if they are not a panel of the split."""
    horizon: int | None = None
    """Turn budget; None: the environment's default."""
    setup: Setup | None = None
    """The protocol."""
    prompt: Prompt | None = None
    """Prompt of a model; None: the policy's own."""
    use: ProtocolUse | None = None
    """Description of the protocol for the report."""
    make_shots: Callable[[], Sequence[Shot]] | None = None
    """Makes worked examples for a model to read before its task; None: the examples of its
    prompt."""

    def configured(self, policy: Policy) -> Policy:
        """Return a policy with the prompt and examples of these terms, if it supports prompts."""
        changes_prompt = self.prompt is not None or self.make_shots is not None
        if not changes_prompt or not isinstance(policy, PolicyWithPrompt):
            return policy
        prompt = getattr(policy, "prompt", None) if self.prompt is None else self.prompt
        if prompt is None:
            raise ConfigurationError(
                "expected a policy that says in its attribute prompt what its model reads, for "
                f"worked examples to be added; got {type(policy).__name__}: pass prompt (--prompt)"
            )
        if self.make_shots is not None:
            prompt = prompt.with_shots(self.make_shots())
        return policy.with_prompt(prompt, self.setup.sampling if self.setup else {})

    def used(self, facts: Mapping[str, Any]) -> ProtocolUse | None:
        """Return the description of the protocol for the report.

        Args:
            facts: Facts of the policy, which may depart from the protocol.
        """
        if self.use is None or self.setup is None:
            return None
        policy_settings = {**facts, **dict(facts.get("sampling") or {})}
        laid_out = self.setup.layout is not None and "prompt" in policy_settings
        sampling = self.setup.sampling if laid_out else {}
        departures = {
            f"policy.{name}": (value, policy_settings[name])
            for name, value in sampling.items()
            if name in policy_settings and policy_settings[name] != value
        }
        if laid_out and policy_settings.get("instructions"):
            departures["policy.instructions"] = ("", policy_settings["instructions"])
        if (
            laid_out
            and self.prompt is not None
            and policy_settings["prompt"] != self.prompt.identity
        ):
            departures["policy.prompt"] = (self.prompt.identity, policy_settings["prompt"])
        return replace(self.use, departures={**self.use.departures, **departures})


def find_setup(protocol: str | Path | None, env: str) -> Setup | None:
    """Return the set-up of a protocol for an environment; None without a protocol.

    Args:
        protocol: Name, or path of its file.
        env: Short name, id or ``MODULE:ID`` of the environment.

    Raises:
        ConfigurationError: There is no such protocol, or it does not cover this environment.
        DataError: Its file cannot be read.
    """
    if protocol is None:
        return None
    named = resolve(env)
    return load_protocol(protocol).setup(named.family, named.id)


def chosen_prompt(prompt: str | Path | None, env: str, setup: Setup | None) -> NamedPrompt | None:
    """Return the prompt chosen by the user; None if there is none.

    Args:
        prompt: Its name, or the path of its file.
        env: Short name, id or ``MODULE:ID`` of the environment.
        setup: The protocol; None: none.

    Raises:
        ConfigurationError: There is no such prompt, or the protocol has another.
        DataError: Its file cannot be read.
    """
    if prompt is None:
        return None
    named_prompt = find_prompt(prompt, env)
    if setup is not None and setup.layout not in (None, named_prompt.layout):
        raise ConfigurationError(
            f"expected one prompt, got that of the protocol {setup.protocol} and "
            f"{named_prompt.name} (--prompt): leave out one of them"
        )
    return named_prompt


def env_arguments(setup: Setup | None, kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the user's arguments of the environment, with the protocol's as defaults.

    Raises:
        DataError: The official data is required, but its folder is not set.
    """
    if setup is None:
        return dict(kwargs)
    data = setup.data
    values = {**setup.arguments, **kwargs}
    if data is None:
        return values
    if data.argument not in kwargs:
        folder = os.environ.get(data.variable)
        if not folder:
            raise _no_data(setup)
        values[data.argument] = folder
    # A user who passes None for the data does without it, and without its other arguments.
    return {**data.env, **values} if values[data.argument] is not None else values


def resolve_terms(
    setup: Setup | None,
    env: TextEnv,
    split: str | None,
    num_tasks: int | EllipsisType | None,
    tasks: Sequence[str] | None,
    horizon: int | None,
    prompt: NamedPrompt | None = None,
) -> Terms:
    """Return the resolved terms of an evaluation.

    Args:
        setup: The protocol; None: none.
        env: The environment.
        split: Split, or `agentgym.core.tasks.ALL`; None: the protocol's, or the default.
        num_tasks: Number of tasks; left out (``...``): the protocol's, or the default.
        tasks: Ids of tasks to play instead; with a protocol also its items, or files of them.
        horizon: Turn budget; None: the protocol's, or the environment's default.
        prompt: The prompt chosen by the user; None: the protocol's, or the policy's own.

    Raises:
        ConfigurationError: The number of tasks is not an integer of at least 1, or the prompt is
            for another grammar.
        DataError: The data does not contain the protocol's tasks.
    """
    size = None
    if num_tasks is not None and not isinstance(num_tasks, EllipsisType):
        size = integer(num_tasks, "num_tasks", low=1, high=None)
    laid_out = _prompt(setup, prompt, env)
    if setup is None:
        usual = USUAL_TASKS if isinstance(num_tasks, EllipsisType) else size
        return Terms(split or _usual_split(env), usual, tasks, horizon, prompt=laid_out)
    played_split = split or setup.tasks.split
    departures = _departures(setup, env)
    ids, full = _tasks(setup, env, played_split, tasks)
    if (
        tasks is None
        and _elsewhere(setup, env, played_split)
        and played_split not in setup.tasks.also
    ):
        departures["split"] = (setup.tasks.split, played_split)
    if tasks is not None and not are_items(setup.tasks.items, tasks):
        departures["tasks"] = ("its own", "others, by their ids")
    turns = setup.horizon if horizon is None else horizon
    if turns != setup.horizon:
        departures["horizon"] = (setup.horizon, turns)
    if tasks is None and ids is not None:
        ids = ids[:size]
    use = ProtocolUse(setup.protocol, setup.sha256, full, setup.figures, departures)
    return Terms(played_split, size, ids, turns, setup, laid_out, use)


def _usual_split(env: TextEnv) -> str:
    """Return the default split: ``test``, or else the last split."""
    tasks = env.tasks
    if USUAL_SPLIT in (*tasks.splits, *tasks.aliases):
        return USUAL_SPLIT
    _say_split(tasks.name, tasks.splits[-1])
    return tasks.splits[-1]


@lru_cache(maxsize=64)
def _say_split(name: str, split: str) -> None:
    """Log which split is played, once per process."""
    _log.warning("%s has no split %s: the split %s is played", name, USUAL_SPLIT, split)


def _tasks(
    setup: Setup, env: TextEnv, split: str, named: Sequence[str] | None
) -> tuple[list[str] | None, int | None]:
    """Return the ids of the tasks, or None for a panel, and the protocol's number of tasks.

    Raises:
        DataError: The data does not contain them.
    """
    items, tasks = setup.tasks.items, env.tasks
    if named is None:
        _check_split(setup, env, split)
        if items is None or _elsewhere(setup, env, split):
            return None, setup.tasks.sizes.get(tasks.check(split))
    return choose_tasks(setup, tasks, named), items.count if items else None


def _prompt(setup: Setup | None, prompt: NamedPrompt | None, env: TextEnv) -> Prompt | None:
    """Return the user's prompt, or else the protocol's.

    Raises:
        ConfigurationError: The user's prompt is not for this environment.
    """
    if prompt is not None:
        return prompt.at(env)
    layout = setup.layout if setup else None
    return Prompt.at(env, layout, setup.protocol) if setup and layout else None


def _departures(setup: Setup, env: TextEnv) -> dict[str, tuple[Any, Any]]:
    """Return the arguments of an environment that differ from the protocol's.

    Raises:
        DataError: The environment was made without the path of the official data.
    """
    usual = arguments(type(env))
    kwargs = dict(env.spec.kwargs) if env.spec else {}
    expected, data = dict(setup.arguments), setup.data
    departures: dict[str, tuple[Any, Any]] = {}
    if data is not None:
        if data.argument not in kwargs:
            raise _no_data(setup)
        if kwargs[data.argument] is None:
            departures["data"] = ("official data", "generated tasks")
        else:
            expected = {**data.env, **expected}
    for name, value in expected.items():
        # Compare as JSON, because a tuple in Python is a list in the protocol's file.
        used = json.loads(json.dumps(kwargs.get(name, usual.get(name)), default=str))
        if name == "grammar":
            used = env.language.grammar
        if used != value:
            departures[f"env.{name}"] = (value, used)
    return departures


def _elsewhere(setup: Setup, env: TextEnv, split: str) -> bool:
    """Return whether a split differs from the protocol's; then the data need not contain that."""
    aliases, usual = env.tasks.aliases, setup.tasks.split
    return env.tasks.check(split) != aliases.get(usual, usual)


def _check_split(setup: Setup, env: TextEnv, split: str) -> None:
    try:
        env.tasks.check(split)
    except TaskNotFound as error:
        remedy = f"; {setup.data.remedy}" if setup.data else ""
        raise DataError(
            f"expected tasks of the split {split!r:.80}, which {setup.protocol} plays in "
            f"{setup.env}, but there are {', '.join(env.tasks.splits)} only{remedy}"
        ) from error


def _no_data(setup: Setup) -> DataError:
    assert setup.data is not None
    data = setup.data
    return DataError(
        f"expected the official data of {setup.env}, which {setup.protocol} plays: set "
        f"{data.variable} to its folder, or give --env-kwargs {data.argument}=FOLDER "
        f"(env_kwargs={{'{data.argument}': ...}}); {data.remedy}. To try the protocol on generated "
        f"tasks, which its report will say, give --env-kwargs {data.argument}=null"
    )

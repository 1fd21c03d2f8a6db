"""``--protocol`` of ``agentgym eval``, and ``agentgym protocols``."""

from __future__ import annotations

import sys
from types import EllipsisType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from agentgym.cli.environments import make
from agentgym.evaluation.agent_session import GRAMMAR
from agentgym.evaluation.protocols import bundled, load_protocol
from agentgym.evaluation.protocols.setup import (
    Terms,
    chosen_prompt,
    env_arguments,
    find_setup,
    settle,
)
from agentgym.making import parse_pairs, resolve

if TYPE_CHECKING:
    from rich.console import Console

    from agentgym.cli.arguments import Eval, Protocols
    from agentgym.core.env import TextEnv


class Evaluated(Protocol):
    """An evaluation that a command names."""

    @property
    def env(self) -> str:
        """The environment, as it was named."""
        ...

    @property
    def policy(self) -> str:
        """The policy, as it was named."""
        ...

    @property
    def settings(self) -> Eval:
        """Everything else."""
        ...

    @property
    def agent(self) -> bool:
        """Whether the policy plays by calls of tools."""
        ...


def open_env(evaluation: Evaluated) -> TextEnv:
    """Make the environment of an evaluation, as its protocol says where nothing else is said.

    Raises:
        ConfigurationError: There is no such protocol, it is not about this environment, or an
            argument is wrong.
        DataError: The protocol is about data that is not here.
    """
    command = evaluation.settings
    setup = find_setup(command.protocol, evaluation.env)
    asked = parse_pairs(command.set, "--set")
    grammar = command.grammar or (GRAMMAR if evaluation.agent else None)
    prompt = chosen_prompt(command.prompt, evaluation.env, setup)
    if grammar is None and prompt is not None:
        grammar = prompt.grammar
    named = {"grammar": grammar} if grammar else {}
    added = {k: v for k, v in env_arguments(setup, {**named, **asked}).items() if k not in asked}
    added = {**known_arguments(evaluation), **added}
    return make(_Named(evaluation.env, command.set), command.grammar, added)


def known_arguments(evaluation: Evaluated) -> dict[str, Any]:
    """Return what a policy, such as a run, knows of its environment, and nobody typed.

    A protocol says itself what is played.

    Raises:
        AgentGymError: The policy cannot be read.
    """
    from agentgym.evaluation.policy_names import policy_env_kwargs

    command = evaluation.settings
    if command.protocol or evaluation.policy == "chat":
        return {}
    known = policy_env_kwargs(evaluation.policy, resolve(evaluation.env)[1])
    typed = {*parse_pairs(command.set, "--set"), *(["grammar"] if command.grammar else ())}
    return {name: value for name, value in known.items() if name not in typed}


class _Named(NamedTuple):
    """An environment and its arguments, each as name=value."""

    env: str
    set: tuple[str, ...]


def tasks_to_play(evaluation: Evaluated, env: TextEnv) -> int:
    """Return how many tasks are played.

    Raises:
        DataError: The data does not hold what the protocol plays.
        TaskNotFound: There is no such split.
    """
    terms = settled(evaluation, env)
    if terms.tasks is not None:
        return len(terms.tasks)
    most = env.tasks.len(env.tasks.check(terms.split))
    return most if terms.n is None else min(terms.n, most)


def settled(evaluation: Evaluated, env: TextEnv) -> Terms:
    """Return what is played, by the flags and the protocol.

    Raises:
        DataError: The data does not hold what the protocol plays.
        TaskNotFound: There is no such split.
    """
    command = evaluation.settings
    setup = find_setup(command.protocol, evaluation.env)
    prompt = chosen_prompt(command.prompt, evaluation.env, setup)
    named = command.task or None
    return settle(setup, env, command.split, number(command), named, command.horizon, prompt)


def number(command: Eval) -> int | EllipsisType:
    """Return the number of tasks that was asked for, as `evaluate` takes it."""
    return ... if command.n is None else command.n


def show(command: Protocols, console: Console) -> int:
    """List the protocols, or print the file of one."""
    if command.name:
        sys.stdout.write(load_protocol(command.name).path.read_text("utf-8"))
        return 0
    from rich.table import Table

    table = Table("name", "environments", "about")
    for name in bundled():
        protocol = load_protocol(name)
        table.add_row(name, ", ".join(protocol.setups), protocol.about)
    console.print(table)
    told = "agentgym protocols NAME prints the file of one; a copy of it works as --protocol FILE."
    console.print(told, markup=False, soft_wrap=True)
    return 0

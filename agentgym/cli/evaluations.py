"""Which evaluations ``agentgym eval`` plays: every policy that is named on every environment."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from agentgym.cli.arguments import Eval
from agentgym.cli.protocols import open_env, tasks_to_play
from agentgym.errors import AgentGymError, ConfigurationError
from agentgym.making import parse_pairs
from agentgym.policies.blind import BLIND
from agentgym.support.redaction import hide_secrets

RUNS = Path("runs")
"""Where evaluations are kept that were given no folder."""
CHANGEABLE = (
    "env", "policy", "file", "typed", "out", "chart", "retry_failed", "failed", "scale", "n",
    "samples", "price", "concurrency", "backend", "step_timeout", "timeout", "retries",
    "requests_per_minute", "api_key_env", "max_tokens_parameter", "limit_total_tokens",
    "limit_total_cost", "dry_run",
)  # fmt: skip
"""Arguments of which the name of an evaluation's folder is independent, or that it has besides."""


@dataclass(frozen=True)
class Evaluation:
    """One policy on one environment."""

    env: str
    """The environment, as it was named."""
    policy: str
    """The policy, as it was named."""
    settings: Eval
    """Everything else."""

    @property
    def set(self) -> tuple[str, ...]:
        """Arguments of the environment, each as name=value."""
        return self.settings.set

    @property
    def model(self) -> bool:
        """Whether the policy is more than a yardstick."""
        return self.policy not in ("random", "oracle", *BLIND)

    @property
    def player(self) -> str:
        """Who plays: the chat model, or the policy as it was named."""
        return (self.settings.model if self.policy == "chat" else "") or self.policy

    @property
    def title(self) -> str:
        """What it is called to a person."""
        shown = without_secrets(self.set)
        return " ".join((self.player, "on", self.env, *shown))

    @property
    def name(self) -> str:
        """A name for a folder: the same for evaluations that differ in length alone."""
        return folder_name([self.env, self.player], self.identity)

    @cached_property
    def content(self) -> str:
        """A hash of what a policy of one's own is made of; empty if there is none.

        What is amiss with the policy is said when it is loaded.
        """
        from agentgym.evaluation.policy_names import policy_content

        if not self.model or self.policy == "chat":
            return ""
        with suppress(AgentGymError, OSError):
            options = parse_pairs(self.settings.policy_set, "--policy-set")
            return policy_content(self.policy, **options)
        return ""

    @cached_property
    def agent(self) -> bool:
        """Whether the policy is an agent, which plays by calls of tools.

        What is amiss with the policy is said when it is loaded.
        """
        from agentgym.evaluation.policy_names import names_agent

        with suppress(AgentGymError):
            options = parse_pairs(self.settings.policy_set, "--policy-set")
            return names_agent(self.policy, **options)
        return False

    @property
    def identity(self) -> dict[str, str]:
        """What makes it another evaluation, by the names of the flags."""
        its = asdict(self.settings)
        its |= {name: without_secrets(its[name]) for name in ("set", "policy_set", "extra")}
        said = {key: str(value) for key, value in its.items()}
        kept = {key: value for key, value in said.items() if key not in CHANGEABLE}
        made_of = {"content": self.content} if self.content else {}
        return {**kept, **made_of, "env": self.env, "policy": self.policy}

    @property
    def tasks(self) -> tuple[Any, ...]:
        """What decides which episodes a policy would play."""
        its = self.settings
        return (
            self.env, its.set, its.split, its.n, its.seed, its.task, its.horizon, its.grammar,
            its.protocol, its.prompt,
        )  # fmt: skip


def named_evaluations(command: Eval) -> list[Evaluation]:
    """Return the evaluations that the flags of a command name.

    Raises:
        ConfigurationError: No environment is named, or one or a policy twice.
    """
    policies = command.policy or ("random",)
    if not command.env:
        raise ConfigurationError(
            "expected the name of an environment, such as webshop (agentgym list shows them), or "
            "--file with a list of them, got none"
        )
    for names in (command.env, policies):
        if len({*names}) < len(names):
            raise ConfigurationError(
                f"expected every environment and policy once, got {' '.join(names)}; policies "
                "that differ in their settings are told in a --file"
            )
    return [Evaluation(env, policy, command) for env in command.env for policy in policies]


def without_secrets(pairs: Sequence[str]) -> tuple[str, ...]:
    """Return name=value pairs as they may be shown."""
    found = []
    for pair in pairs:
        name, equals, text = pair.partition("=")
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            value = text
        shown = hide_secrets(value, name)
        if shown != value:
            pair = f"{name}{equals}{shown if isinstance(shown, str) else json.dumps(shown)}"
        found.append(pair)
    return tuple(found)


def folder_name(words: Sequence[str], identity: Any) -> str:
    """Name a folder by words, made safe, and a hash of what it is for."""
    digest = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:8]
    safe = (re.sub(r"[^A-Za-z0-9.]+", "-", word).strip("-.")[:60] for word in words)
    return "-".join((*filter(None, safe), digest))


def check(evaluations: Sequence[Evaluation]) -> None:
    """Check that all environments can be made and have the split, before the first is played.

    Raises:
        AgentGymError: One cannot be made, or has not what its protocol plays.
        TaskNotFound: One has no such split.
    """
    seen = set()
    for each in evaluations:
        if each.tasks not in seen:
            seen.add(each.tasks)
            env = open_env(each)
            try:
                tasks_to_play(each, env)
            finally:
                env.close()

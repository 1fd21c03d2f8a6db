"""An evaluation of a suite: a policy and an environment by name, with settings."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from types import EllipsisType
from typing import Any

from agentgym.agents import GRAMMAR
from agentgym.core.env import TextEnv
from agentgym.errors import AgentGymError, ConfigurationError
from agentgym.evaluation.episode_result import EpisodeResult
from agentgym.evaluation.policy_maker import PolicyMaker
from agentgym.evaluation.policy_names import (
    check_policy,
    load_policy,
    names_agent,
    policy_content,
    policy_env_kwargs,
    takes_sampling,
)
from agentgym.evaluation.protocol_terms import (
    Terms,
    chosen_prompt,
    env_arguments,
    find_setup,
    resolve_terms,
)
from agentgym.evaluation.reports.report import Report
from agentgym.evaluation.reports.scale import Scale
from agentgym.evaluation.runner import evaluate
from agentgym.evaluation.suites.chat_settings import at_endpoint, chat_policy
from agentgym.evaluation.suites.settings import EvaluationSettings
from agentgym.policies.base import ModelOutput, Policy
from agentgym.policies.blind import is_reference_policy
from agentgym.registration.making import HOW_PLAYED, make_asked, parse_pairs, resolve
from agentgym.rewards import parse_hooks
from agentgym.rewards.judge.terms import AskingHook
from agentgym.support.redaction import hide_secrets

CHANGEABLE = (
    "retry_failed", "failed", "scale", "num_tasks", "samples", "price", "concurrency", "backend",
    "step_timeout", "timeout", "retries", "requests_per_minute", "api_key_env",
    "max_tokens_parameter", "limit_total_tokens", "limit_total_cost",
)  # fmt: skip
"""Settings that do not affect the name of an evaluation's folder."""


class EvaluationProgress:
    """Base class of progress displays; the default methods do nothing."""

    def begin(
        self, evaluation: NamedEvaluation, out: Path | None, policy: Any, episodes: int
    ) -> None:
        """Called when an evaluation begins.

        Args:
            evaluation: The evaluation.
            out: Its folder, if any.
            policy: The policy, as passed to `evaluate`.
            episodes: Number of episodes.
        """

    def episode(self, result: EpisodeResult) -> None:
        """Called after each episode."""

    def output(self, output: ModelOutput) -> None:
        """Called with each model output, in the thread of its episode."""

    def end(self) -> None:
        """Called when the evaluation has ended, also after an error."""

    def report(self, evaluation: NamedEvaluation, report: Report) -> None:
        """Called with the report."""

    def failed(self, evaluation: NamedEvaluation, error: AgentGymError) -> None:
        """Called with the reason when an evaluation of a suite fails."""


SILENT = EvaluationProgress()


@dataclass(frozen=True)
class NamedEvaluation:
    """One policy on one environment."""

    env: str
    """Name of the environment, as given."""
    policy: str
    """Name of the policy, as given."""
    settings: EvaluationSettings
    """Everything else."""

    @property
    def env_kwargs(self) -> tuple[str, ...]:
        """Arguments of the environment, each as name=value."""
        return self.settings.env_kwargs

    @property
    def model(self) -> bool:
        """Whether the policy is not a reference policy."""
        return not is_reference_policy(self.policy)

    @property
    def player(self) -> str:
        """Name of the player: the chat model, or the policy as given."""
        return (self.settings.model if self.policy == "chat" else "") or self.policy

    @property
    def title(self) -> str:
        """Display name."""
        pairs = without_secrets(self.env_kwargs)
        return " ".join((self.player, "on", self.env, *pairs))

    @property
    def name(self) -> str:
        """Folder name, equal for evaluations that differ only in length."""
        return folder_name([self.env, self.player], self.identity)

    @cached_property
    def content(self) -> str:
        """A hash of the source or weights of the user's policy; empty for built-in policies.

        An invalid policy raises its error later, when it is loaded.
        """
        its, hashes = self.settings, []
        with suppress(AgentGymError, OSError):
            if self.model and self.policy != "chat":
                options = parse_pairs(its.policy_kwargs, "`policy_kwargs`")
                hashes.append(policy_content(self.policy, **options))
            if its.agent:
                hashes.append(policy_content(its.agent))
        return " ".join(filter(None, hashes))

    @cached_property
    def agent(self) -> bool:
        """Whether the policy is an agent, which plays by tool calls.

        An invalid policy raises its error later, when it is loaded.
        """
        if self.policy == "chat":
            return self.settings.agent is not None
        with suppress(AgentGymError):
            options = parse_pairs(self.settings.policy_kwargs, "`policy_kwargs`")
            return names_agent(self.policy, **options)
        return False

    @property
    def identity(self) -> dict[str, str]:
        """Settings that identify the evaluation, by name."""
        names = [entry.name for entry in fields(EvaluationSettings)]  # not a subclass's own fields
        its = {name: getattr(self.settings, name) for name in names}
        its |= {
            name: without_secrets(its[name]) for name in ("env_kwargs", "policy_kwargs", "extra")
        }
        texts = {key: str(value) for key, value in its.items()}
        identifying = {key: value for key, value in texts.items() if key not in CHANGEABLE}
        made_of = {"content": self.content} if self.content else {}
        return {**identifying, **made_of, "env": self.env, "policy": self.policy}

    @property
    def same_tasks(self) -> tuple[Any, ...]:
        """Settings that determine the episodes of a policy."""
        its = self.settings
        return (
            self.env, its.env_kwargs, its.split, its.num_tasks, its.seed, its.task, its.horizon,
            its.grammar, its.protocol, its.prompt,
        )  # fmt: skip

    @property
    def known_arguments(self) -> dict[str, Any]:
        """Arguments of the environment that a policy, such as a run, sets by default.

        A protocol defines its own arguments.

        Raises:
            AgentGymError: The policy cannot be read.
        """
        its = self.settings
        if its.protocol or self.policy == "chat":
            return {}
        typed = {
            *parse_pairs(its.env_kwargs, "`env_kwargs`"),
            *(["grammar"] if its.grammar else ()),
        }
        kwargs = policy_env_kwargs(self.policy, resolve(self.env), typed)
        if self.policy == "demonstrator" and typed - HOW_PLAYED:
            return {}  # other tasks, such as the user's own questions, that the policy may not know
        return kwargs

    def wants_scale(self, usual: bool) -> bool:
        """Return whether to measure the scale, from the settings or the default."""
        return usual if self.settings.scale is None else self.settings.scale

    def open(self) -> TextEnv:
        """Make the environment, with the protocol's arguments as defaults.

        Raises:
            ConfigurationError: The protocol does not exist or has no section for this environment,
                or an argument is invalid.
            DataError: Data of the protocol is missing.
        """
        its = self.settings
        setup = find_setup(its.protocol, self.env)
        kwargs = parse_pairs(its.env_kwargs, "`env_kwargs`")
        grammar = its.grammar or (GRAMMAR if self.agent else None)
        prompt = chosen_prompt(its.prompt, self.env, setup)
        if grammar is None and prompt is not None:
            grammar = prompt.grammar
        named = {"grammar": grammar} if grammar else {}
        suited = env_arguments(setup, {**named, **kwargs})
        suited = {**self.known_arguments, **{k: v for k, v in suited.items() if k not in kwargs}}
        if its.reward_hooks:
            suited["reward_hooks"] = hooks = parse_hooks(its.reward_hooks)
            for hook in hooks:
                if isinstance(hook, AskingHook):
                    hook.check()
        return make_asked(self.env, its.env_kwargs, "`env_kwargs`", its.grammar, suited)

    def terms(self, env: TextEnv) -> Terms:
        """Return the tasks and terms of the evaluation, from the settings and the protocol.

        Raises:
            DataError: The data does not contain the protocol's tasks.
            TaskNotFound: There is no such split.
        """
        its = self.settings
        setup = find_setup(its.protocol, self.env)
        prompt = chosen_prompt(its.prompt, self.env, setup)
        return resolve_terms(
            setup, env, its.split, self._num_tasks, its.task or None, its.horizon, prompt
        )

    def count(self, env: TextEnv) -> int:
        """Return the number of tasks.

        Raises:
            DataError: The data does not contain the protocol's tasks.
            TaskNotFound: There is no such split.
        """
        terms = self.terms(env)
        if terms.tasks is not None:
            return len(terms.tasks)
        task_count = env.tasks.size(terms.split)
        return task_count if terms.num_tasks is None else min(terms.num_tasks, task_count)

    @property
    def _num_tasks(self) -> int | EllipsisType:
        return ... if self.settings.num_tasks is None else self.settings.num_tasks

    def play(
        self,
        out: Path | None = None,
        scale: bool | Scale = False,
        progress: EvaluationProgress = SILENT,
    ) -> Report:
        """Run the evaluation.

        Args:
            out: Folder of the evaluation; None: nothing is saved.
            scale: As for `evaluate`.
            progress: Receives progress events.

        Raises:
            AgentGymError: As `evaluate`.
        """
        its = self.settings
        env = self.open()
        try:
            episodes = self.count(env) * its.samples
            with self._policy(env) as policy:
                progress.begin(self, out, policy, episodes)
                try:
                    return evaluate(
                        policy,
                        env,
                        its.split,
                        self._num_tasks,
                        its.seed,
                        protocol=its.protocol,
                        prompt=its.prompt,
                        shots=its.shots,
                        tasks=its.task or None,
                        samples=its.samples,
                        horizon=its.horizon,
                        end_after_invalid=its.end_after_invalid,
                        out=out,
                        retry_failed=its.retry_failed,
                        on_episode=progress.episode,
                        on_output=progress.output,
                        concurrency=its.concurrency,
                        backend=its.backend,
                        step_timeout=its.step_timeout,
                        limits=its.limits,
                        total_limits=its.total_limits,
                        prices=its.prices,
                        scale=scale,
                        failed=its.failed,
                    )
                finally:
                    progress.end()
        finally:
            env.close()

    def check_policy(self, env: TextEnv) -> None:
        """Check the name and options of the policy, without loading a model.

        Args:
            env: The environment to play.

        Raises:
            ConfigurationError: The policy or an option is unknown.
            DependencyNotInstalled: Packages are missing; the message names the extra.
        """
        if self.policy == "chat":
            if self.settings.agent:
                check_policy(self.settings.agent, env)
            return
        check_policy(self.policy, env, **self._policy_options())

    def _policy_options(self) -> dict[str, Any]:
        """Return the options of a policy that is not the chat model."""
        its = self.settings
        options = parse_pairs(its.policy_kwargs, "`policy_kwargs`")
        sampling = {"temperature": its.temperature, "top_p": its.top_p}
        for name, value in sampling.items():
            if value is None or not takes_sampling(self.policy):
                continue
            if options.setdefault(name, value) != value:
                raise ConfigurationError(
                    f"expected one {name}, got `{name}` {value} and `policy_kwargs` "
                    f"{name}={options[name]}; leave one out"
                )
        return {**options, "agent": its.agent} if its.agent else options

    @contextmanager
    def _policy(self, env: TextEnv) -> Iterator[Policy | PolicyMaker]:
        """Load the policy, and close it when the evaluation ends."""
        its = self.settings
        if self.policy == "chat" and its.agent:
            with load_policy(its.agent, env, seed=its.seed) as maker:
                yield at_endpoint(maker, its.model, its.base_url, its.api_key_env)
            return
        if self.policy == "chat":
            # Made once: its copies play the episodes, and share connection and rate limit.
            yield chat_policy(its, env.action_prompt(), env.language.grammar)
            return
        with load_policy(self.policy, env, seed=its.seed, **self._policy_options()) as maker:
            yield maker


def without_secrets(pairs: Sequence[str]) -> tuple[str, ...]:
    """Return name=value pairs with secrets hidden."""
    public_pairs = []
    for pair in pairs:
        name, equals, text = pair.partition("=")
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            value = text
        public = hide_secrets(value, name)
        if public != value:
            pair = f"{name}{equals}{public if isinstance(public, str) else json.dumps(public)}"
        public_pairs.append(pair)
    return tuple(public_pairs)


def folder_name(words: Sequence[str], identity: object) -> str:
    """Return the name of a folder: words without special characters, and a hash of the identity."""
    digest = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:8]
    safe = (re.sub(r"[^A-Za-z0-9.]+", "-", word).strip("-.")[:60] for word in words)
    return "-".join((*filter(None, safe), digest))

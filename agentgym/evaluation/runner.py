"""`evaluate`: play a policy on a fixed panel of tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, replace
from functools import cache, partial
from pathlib import Path
from types import EllipsisType
from typing import Any

import gymnasium

from agentgym.agents import GRAMMAR
from agentgym.core.guard import GuardedEnv
from agentgym.core.hooks import HookRunner
from agentgym.core.options import check_seed, choice, integer
from agentgym.core.tasks import TaskSet
from agentgym.episodes import Recorder
from agentgym.episodes.recorder import origin, package_versions, plain
from agentgym.episodes.spans import is_tracing
from agentgym.errors import ConfigurationError, EvaluationFailed, NotSupported
from agentgym.evaluation.argument_checks import check_kinds
from agentgym.evaluation.demonstrations import make_shots
from agentgym.evaluation.episode_result import EpisodeResult
from agentgym.evaluation.evaluation_folder import DETAILS, EvaluationFolder
from agentgym.evaluation.evaluation_session import EvaluationSession
from agentgym.evaluation.placement import Env, Where
from agentgym.evaluation.plan import Plan, plan
from agentgym.evaluation.players import EpisodeRules, Player
from agentgym.evaluation.policy_names import policy_env_kwargs
from agentgym.evaluation.policy_sources import GuardedPolicy, PolicySource, is_agent, policy_source
from agentgym.evaluation.prices import Limits, Prices
from agentgym.evaluation.protocol_terms import (
    Terms,
    chosen_prompt,
    env_arguments,
    find_setup,
    resolve_terms,
)
from agentgym.evaluation.reports.data import FAILED
from agentgym.evaluation.reports.report import Report
from agentgym.evaluation.reports.scale import Scale
from agentgym.policies.base import ModelOutput, Policy
from agentgym.protocols.prompts import NamedPrompt
from agentgym.protocols.schema import ProtocolUse, Setup
from agentgym.registration.making import make, resolve
from agentgym.support.event_loop import EventLoop
from agentgym.support.provenance import commit, machine
from agentgym.vector.backends import backend_session


def evaluate(
    policy: Policy | Callable[..., Any] | str,
    env: Env | str,
    split: str | None = None,
    num_tasks: int | EllipsisType | None = ...,
    seed: int = 0,
    *,
    protocol: str | Path | None = None,
    prompt: str | Path | None = None,
    shots: int | None = None,
    tasks: Sequence[str] | None = None,
    samples: int = 1,
    horizon: int | None = None,
    env_kwargs: Mapping[str, Any] | None = None,
    out: str | Path | None = None,
    retry_failed: bool = False,
    record: str | Path | None = None,
    on_episode: Callable[[EpisodeResult], None] | None = None,
    on_output: Callable[[ModelOutput], None] | None = None,
    concurrency: int | None = None,
    backend: str = "sync",
    step_timeout: float | None = None,
    limits: Limits | None = None,
    total_limits: Limits | None = None,
    end_after_invalid: int = 0,
    prices: Prices | None = None,
    scale: bool | Scale = False,
    failed: str = "leave-out",
) -> Report:
    """Play a policy on the fixed panel ``env.unwrapped.tasks.panel(split, num_tasks, seed)``.

    The report is in panel order and independent of the number of concurrent episodes, if the
    policy's actions depend only on its episode.

    Errors of the policy count: if its context is full, a filter stops it, its response is
    unreadable, a limit is reached or its code raises, the episode ends with a stop reason and its
    score counts. Episodes broken by the infrastructure (the environment, the connection, the
    endpoint) are listed with the reason and left out of the means; `Report.success_lower_bound`
    then gives a lower bound; see ``failed``.

    Args:
        policy: A policy, a function or class that makes one, a function of (observation, info) that
            returns an action, an agent that owns the loop (a function of an `agentgym.Session`), or
            a name that `agentgym.load_policy` understands, such as ``"random"``,
            ``"oracle"``, ``"blind-verbs"`` or the folder of a run. Functions and ``act`` may be
            coroutines. A policy receives the keys of the info dict listed in
            `agentgym.policies.PUBLIC_INFO`.
        env: A text environment, or its short name, id or ``MODULE:ID``, from which it is made.
        split: Split to evaluate on. Default: ``test``, or the protocol's.
        num_tasks: Number of tasks, at most the size of the split; None: the whole split. Default:
            100, or all tasks of the protocol.
        seed: Seed of the panel, of the episodes and of the random policy.
        protocol: Evaluate as a paper does: ``"verl-agent"``, ``"agentgym"``, ``"official"``, or a
            file of your own (`agentgym.protocols.protocol_file`). It defines the tasks
            and the prompts; other arguments override it, and the report lists them under
            `Report.departures`.
        prompt: What a model reads: ``"default"``, the prompt of a protocol such as
            ``"verl-agent"``, or of a file of your own. An environment given by name is made with
            its grammar. Default: the prompt of the protocol, or else of the policy; a run uses the
            prompt it was trained with.
        shots: Number of worked examples that a model reads before its task: first turns of the
            demonstrator on training tasks, which depend on ``seed`` alone. Default: those of the
            training, or else none.
        tasks: Ids of tasks to play instead of a panel, in this order. With a protocol that names
            its items, also item names and JSON files of them.
        samples: Episodes of each task, for `Report.pass_at` and `Report.pass_hat`.
        horizon: Turn budget; None: the environment's default.
        env_kwargs: Keyword arguments for an environment given by name. The grammar of an agent is
            ``tool_call``, and the folder of a run sets the arguments of its training; arguments
            given here override them.
        out: Folder to which every episode is written as it ends, and the report at the end, see
            `agentgym.evaluation.evaluation_folder`. Existing episodes are not played again: an
            interrupted evaluation resumes, a finished one is read, and one with a smaller num_tasks
            or fewer samples is extended.
        retry_failed: Play the broken episodes of a finished evaluation again; a resumed evaluation
            always does.
        record: JSONL file to which every episode is appended as it ends, see `agentgym.episodes`.
        on_episode: Called after each episode as it ends, for progress display.
        on_output: Called with each model output, in the thread of its episode.
        concurrency: Number of concurrent episodes, each in a separate environment. Default: 8 for
            policies that wait for I/O (coroutines, endpoints) and for the thread backend, one per
            CPU for processes and actors, else 1. A policy object plays one episode at a time unless
            it has ``copy()``; functions of (observation, info) are called from several threads.
        backend: ``"sync"``: environments run in the threads of their episodes; or ``"thread"``,
            ``"process"`` or ``"ray"``: every environment has its own thread, process or Ray actor,
            and a failure costs one episode.
        step_timeout: Time limit for a step of an environment, in seconds; not with ``"sync"``.
        limits: Limits on tokens and cost of an episode.
        total_limits: Limits on tokens and cost of all episodes together, including those in
            ``out``. When a limit is reached, no further episode begins, running episodes end, and
            the report is unfinished; the same call with higher limits resumes in ``out``.
        end_after_invalid: Number of consecutive invalid actions, equal or not, that ends an episode
            with its score so far; 0: no limit.
        prices: Prices of the policy's tokens.
        scale: Also play the random policy and the expert on the panel, the ends of the scale from
            0 to 100; or the ``scale`` of another report on this panel.
        failed: Treatment of broken episodes: ``"leave-out"`` of the means, or ``"count"`` as
            unsolved with a score of 0.

    Returns:
        The report.

    Raises:
        ConfigurationError: An argument is invalid, or ``out`` holds other files.
        DataError: Data of the protocol is missing; the message says how to get it.
        TaskNotFound: There is no such split or task.
        EvaluationFailed: Too many consecutive episodes, or all of them, were broken, or were ended
            by an exception of the policy or before its first action. Finished episodes are kept in
            ``out``.
    """
    check_seed(seed)
    check_kinds(protocol=protocol, prompt=prompt, tasks=tasks, env_kwargs=env_kwargs)
    check_kinds(out=out, record=record)
    check_kinds(on_output=on_output)
    check_kinds(on_episode=on_episode, limits=limits, prices=prices, scale=scale)
    check_kinds(total_limits=total_limits)
    choice(failed, "failed", FAILED)
    integer(end_after_invalid, "end_after_invalid", low=0)
    placement = Where(backend, concurrency, step_timeout)
    limits, total_limits = _checked_limits(limits, prices), _checked_limits(total_limits, prices)
    # The stack closes in reverse order: environments before the back end that they share.
    with ExitStack() as stack:
        stack.enter_context(backend_session(backend))
        if isinstance(env, str) and isinstance(policy, str) and protocol is None:
            kwargs = env_kwargs or {}
            env_kwargs = {**policy_env_kwargs(policy, resolve(env), [*kwargs]), **kwargs}
        name = env if isinstance(env, str) else _env_name(env)
        setup = find_setup(protocol, name)
        laid_out = chosen_prompt(prompt, name, setup)
        guarded_env = _open_env(env, env_kwargs, setup, laid_out, is_agent(policy), stack)
        terms = resolve_terms(
            setup, guarded_env.unwrapped, split, num_tasks, tasks, horizon, laid_out
        )
        tasks, horizon = terms.tasks, terms.horizon
        planned = plan(
            guarded_env.unwrapped.tasks, terms.split, terms.num_tasks, seed, tasks, samples
        )
        if shots is not None:
            terms = _with_shots(terms, shots, guarded_env, seed, is_agent(policy))
        source = policy_source(policy, guarded_env, seed, terms.configured)
        about = _about(guarded_env, source, planned, seed, horizon, samples)
        used = terms.used(source.facts)
        settings = _settings(about, tasks, limits, prices, used)
        if end_after_invalid:
            settings["end_after_invalid"] = end_after_invalid
        folder = _folder(out, settings, guarded_env.unwrapped.tasks, stack)
        finished_report = folder.report() if folder and folder.finished else None
        report = finished_report
        if report is None or (retry_failed and report.errors):
            session = EvaluationSession(planned, folder, record, on_episode, total_limits, prices)
            labels = partial(_labels, guarded_env.unwrapped.tasks)
            rules = EpisodeRules(
                horizon, limits or Limits(), prices, end_after_invalid, labels, on_output
            )
            _play(session, source, guarded_env, placement, rules, stack)
            report = _report({**about, "limits": limits, "protocol": used}, session)
        report = replace(
            report,
            left_out_rows=guarded_env.unwrapped.tasks.left_out,
            prices=prices or (finished_report.prices if finished_report else None),
            scale=finished_report.scale if finished_report else None,
            failed=failed,
        )
        order = [job.key for job in planned.jobs]
        # Without a report in the folder, the same call resumes there.
        if not report.finished:
            return report
        if folder is not None:
            folder.finish(report, order)
        if scale and (report.scale is None or (retry_failed and report.scale.failed)):
            # The report is already saved: the next two evaluations may be interrupted.
            panel_settings = {"tasks": tasks, "horizon": horizon, "backend": backend}
            panel = (terms.split, terms.num_tasks, seed)
            unjudged_env = _without_judges(guarded_env, stack)
            ends = measure_scale(
                scale, unjudged_env, panel, {**panel_settings, "step_timeout": step_timeout}
            )
            report = replace(report, scale=ends)
            if folder is not None:
                folder.finish(report, order)
    return report


def _with_shots(terms: Terms, shots: int, env: GuardedEnv, seed: int, agent: bool) -> Terms:
    """Return the terms with a number of worked examples.

    Raises:
        ConfigurationError: The number is invalid, or an agent plays, which writes its own messages.
    """
    if integer(shots, "shots", low=0) and agent:
        raise ConfigurationError(
            f"expected no shots with an agent, which decides what its model reads; got {shots}"
        )
    # Lazily and once, because the demonstrator must play episodes to make them.
    return replace(terms, make_shots=cache(lambda: make_shots(env, shots, seed)))


def _open_env(
    env: Env | str,
    env_kwargs: Mapping[str, Any] | None,
    setup: Setup | None,
    prompt: NamedPrompt | None,
    agent: bool,
    stack: ExitStack,
) -> Any:
    """Return the environment, made if it is given by name.

    It is guarded from the start, because fitting a blind policy already plays episodes.
    """
    if not isinstance(env, str):
        return GuardedEnv(env)
    grammar = GRAMMAR if agent else prompt.grammar if prompt else None
    suited = {"grammar": grammar} if grammar else {}
    kwargs = env_arguments(setup, {**suited, **(env_kwargs or {})})
    # Without Gymnasium's checker, which would fail every episode after a reset that raised.
    guarded_env = GuardedEnv(make(env, **{"disable_env_checker": True, **kwargs}))
    stack.callback(guarded_env.close)
    return guarded_env


def _env_name(env: Env) -> str:
    """Return the id of an environment, or else the name of its class."""
    spec = env.spec or env.unwrapped.spec
    return spec.id if spec else type(env.unwrapped).__name__


def _play(
    session: EvaluationSession,
    source: PolicySource,
    env: GuardedEnv,
    placement: Where,
    rules: EpisodeRules,
    stack: ExitStack,
) -> None:
    """Play the remaining episodes, in environments like ``env``."""
    todo = session.todo
    loop = stack.enter_context(closing(EventLoop()))
    envs = placement.envs(env, placement.players(source, len(todo), _judged(env)), stack)
    panel = session.panel_sha256 if session.records or is_tracing() else None
    session.play([_player(source, player_env, loop, rules, panel) for player_env in envs], todo)


def _judged(env: Env) -> bool:
    """Return whether reward hooks of an environment query an external judge."""
    hooks = getattr(env.unwrapped, "hooks", None)
    return isinstance(hooks, HookRunner) and hooks.judged


def _player(
    source: PolicySource, env: Env, loop: EventLoop, rules: EpisodeRules, panel_sha256: str | None
) -> Player:
    """Make a player for an environment, with a recorder if ``panel_sha256`` is not None."""
    policy = GuardedPolicy(source.make(env), loop) if source.make else None
    if panel_sha256 is not None:
        env = Recorder(env, None, panel_sha256=panel_sha256, policy=source.name)
    return Player(policy, source.agent, env, rules)


def _labels(tasks: TaskSet, task_id: str) -> dict[str, str]:
    return tasks.labels(tasks.find(task_id))


def _checked_limits(limits: Limits | None, prices: Prices | None) -> Limits | None:
    """Validate limits; return None if they limit nothing."""
    if limits is not None and limits.cost is not None and prices is None:
        raise ConfigurationError(
            "expected the prices of tokens with a limit on cost, got none: give "
            "prices=Prices(prompt=..., completion=...) (--price READ WRITTEN)"
        )
    return None if limits == Limits() else limits


def _settings(
    about: Mapping[str, Any],
    tasks: Sequence[str] | None,
    limits: Limits | None,
    prices: Prices | None,
    used: ProtocolUse | None,
) -> dict[str, Any]:
    """Return the settings that must be equal for an evaluation to resume."""
    task_ids = None if tasks is None else list(tasks)
    values = {**about, "tasks": task_ids, "limits": asdict(limits) if limits else None}
    if limits and limits.cost is not None and prices:
        values["prices"] = asdict(prices)  # with a cost limit they decide when an episode ends
    return values if used is None else {**values, "protocol": used.identity, DETAILS: asdict(used)}


def _folder(
    out: str | Path | None, settings: Mapping[str, Any], tasks: TaskSet, stack: ExitStack
) -> EvaluationFolder | None:
    """Open and lock the folder of the evaluation, if any, until the stack is closed.

    Raises:
        ConfigurationError: It contains something else, another process uses it, or the tasks have
            changed since the evaluation began.
    """
    if out is None:
        return None
    folder = stack.enter_context(EvaluationFolder.open_locked(out, settings))
    old_settings = folder.previous
    if not old_settings or old_settings["panel_sha256"] == folder.settings["panel_sha256"]:
        return folder
    tasks_planned = plan(
        tasks,
        old_settings["split"],
        old_settings["n"],
        old_settings["seed"],
        old_settings["tasks"],
        1,
    )
    if tasks_planned.panel_sha256 != old_settings["panel_sha256"]:
        raise ConfigurationError(
            f"expected the tasks with which the evaluation in {folder.path} was begun, but they "
            "have changed since; choose another --out (out=)"
        )
    return folder


def _about(
    env: Env, source: PolicySource, planned: Plan, seed: int, horizon: int | None, samples: int
) -> dict[str, Any]:
    """Describe the evaluation, as values of a report's fields."""
    facts = origin(env)
    kwargs = dict(facts["env_kwargs"])
    if facts["reward_hooks"]:
        kwargs["reward_hooks"] = [dict(hook) for hook in facts["reward_hooks"]]
    return {
        "env_id": facts["env_id"],
        "env_kwargs": kwargs,
        "policy": source.name,
        "policy_facts": plain(dict(source.facts)),
        "split": planned.split,
        "seed": seed,
        "n": planned.n,
        "samples": samples,
        "horizon": horizon,
        "panel_sha256": planned.panel_sha256,
    }


def _report(about: Mapping[str, Any], session: EvaluationSession) -> Report:
    fields = {name: value for name, value in about.items() if name != "n"}
    return Report(
        **fields,
        rows=session.rows,
        planned=about["n"] * about["samples"],
        unfinished=session.unfinished,
        versions=package_versions(),
        commit=commit(),
        machine=machine(),
        started=session.started,
        seconds=session.seconds_in_all,
    )


def _without_judges(env: Env, stack: ExitStack) -> Env:
    """Return an equal environment without reward hooks, if these would query a judge."""
    if env.spec is None or not _judged(env):
        return env
    kwargs = {name: value for name, value in env.spec.kwargs.items() if name != "reward_hooks"}
    plain_env = gymnasium.make(env.spec.id, disable_env_checker=True, **kwargs)
    stack.callback(plain_env.close)
    return GuardedEnv(plain_env)


def measure_scale(
    scale: Scale | bool,
    env: Env,
    panel: tuple[str, int | None, int],
    panel_settings: Mapping[str, Any],
) -> Scale:
    """Play the random policy and the expert on the tasks of a panel.

    Args:
        scale: True; or a scale to return as it is.
        env: An environment, guarded.
        panel: Split, number of tasks, and seed.
        panel_settings: Further arguments of `evaluate`.

    Returns:
        The scale; `Scale.failed` says if a policy could not be played.
    """
    if isinstance(scale, Scale):
        return scale
    try:
        floor = evaluate("random", env, *panel, **panel_settings)
    except EvaluationFailed as error:
        return Scale(None, None, failed=f"the random policy, which defines 0, failed: {error}")
    low = Scale(floor.score_mean, None, random_success=floor.success)
    try:
        ceiling = evaluate("oracle", env, *panel, **panel_settings)
    except NotSupported:
        return low
    except EvaluationFailed as error:
        return replace(low, failed=f"the expert, which defines 100, failed: {error}")
    return replace(low, expert=ceiling.score_mean, expert_success=ceiling.success)

"""Replay a recorded episode, and rescore it without a model.

A replay proves that, with the recorded arguments, seed or generator and options, the recorded
actions lead to exactly the recorded task, split, goal, observations, executed actions, states
(score, potential, state key, turns left), rewards and their terms, flags, reasons of invalid
actions, stop reason, details and hooks; that the episode is over where the record ends; and that
the random generator has the recorded state after the reset, which rules out other seeds. It only
proves that the arguments and options lead to this episode; others, such as another turn budget,
might as well.

Verdicts of judges are taken from the record; no judge is queried.

The text of an action is verified only as far as the environment parsed it: text outside of the
action, which the grammar drops, may differ. `NOT_PROVEN` lists what a replay cannot verify. For an
episode that was ended from outside (`agentgym.core.outcome.OUTSIDE`), the reason is not verified
either, only that the episode was still running. Fields that a record lacks, such as ``reason`` or
``rng_key``, are not compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any, NamedTuple, cast

import gymnasium
import numpy as np

from agentgym.core.guard import GuardedEnv
from agentgym.core.hooks import Cost, HookRunner, TaskReward, TurnReward, TurnState, Verdict
from agentgym.core.info import known_turns
from agentgym.core.outcome import StopReason, reason_words
from agentgym.core.reward_functions import read_hooks
from agentgym.core.tasks import canonical_json
from agentgym.episodes.recorder import (
    costs_of,
    executed,
    hook_names,
    invalid_reason,
    package_versions,
    plain,
    potential,
    rng_key,
    verdicts_of,
)
from agentgym.episodes.records import Episode, RecordedState, Turn, clean
from agentgym.errors import AgentGymError, ConfigurationError, DataError
from agentgym.policies.basic import CallablePolicy
from agentgym.policies.play import Moment, play
from agentgym.registration.imports import find, split
from agentgym.rewards import ShapedReward
from agentgym.rewards.table import hooks_from_json
from agentgym.trust import check_trusted, env_claims

NOT_PROVEN = (
    "policy",
    "panel_sha256",
    "packages",
    "extra",
    "turns.raw_text",
    "turns.prompt_tokens",
    "turns.completion_tokens",
    "turns.cached_tokens",
    "turns.reasoning_tokens",
    "turns.reasoning",
    "turns.finish_reason",
    "turns.verdicts",
)
"""Fields of a record that a replay cannot verify."""
_ENDS = {end.value for end in StopReason if end is not StopReason.NONE and not end.outside}
"""Stop reasons of the environment; all others come from outside."""


@dataclass(frozen=True)
class ReplayReport:
    """Whether an episode replays as recorded."""

    equal: bool
    """Whether everything that a replay can verify is identical."""
    turns: int
    """Turns played before the end or the first difference."""
    difference: str = ""
    """The first difference; empty when there is none."""


def make_env(
    episode: Episode, changes: Mapping[str, Any] = MappingProxyType({})
) -> gymnasium.Env[str, str]:
    """Make the environment of a record.

    Args:
        episode: The record.
        changes: Arguments that replace recorded ones. ``reward_hooks`` also replaces a recorded
            `ShapedReward` wrapper; an empty list makes an environment without hooks.

    Raises:
        ConfigurationError: The record lacks arguments, its id is unknown, or no environment can be
            made with its arguments.
        DataError: The reward hooks in the record are damaged.
        NotTrusted: The record names more than plain data; see `agentgym.trust`.
    """
    if missing := not_stored(episode, changes):
        raise ConfigurationError(
            f"expected an environment for {episode.task_id}, because its record does not contain "
            f"{', '.join(missing)}: make it and pass it as env="
        )
    if split(episode.env_id) is None and episode.env_id not in gymnasium.registry:
        raise ConfigurationError(
            f"expected a registered id, got {episode.env_id!r} from the record: import the package "
            "that registers it, or pass env= "
            "(--env MODULE:ID)"
        )
    kwargs = {**episode.env_kwargs, **changes}
    recorded = {name: value for name, value in kwargs.items() if name not in changes}
    check_trusted(env_claims(episode.env_id, recorded), "the record")
    imported = find(episode.env_id)
    if episode.reward_hooks and "reward_hooks" not in changes:
        kwargs["reward_hooks"] = hooks_from_json(episode.reward_hooks)
    if "reward_hooks" in changes and not changes["reward_hooks"]:
        del kwargs["reward_hooks"]
    return _make_registered(imported[1] if imported else episode.env_id, kwargs)


def _make_registered(env_id: str, kwargs: Mapping[str, Any]) -> gymnasium.Env[str, str]:
    """Make a registered text environment.

    Raises:
        ConfigurationError: It cannot be made with these arguments, or has no tasks.
    """
    try:
        env = gymnasium.make(env_id, disable_env_checker=True, **kwargs)
    except AgentGymError:
        raise
    except Exception as error:  # the arguments in the record may have been edited
        raise ConfigurationError(
            f"expected arguments with which {env_id} can be made, got {kwargs!r:.200} from "
            f"the record: {error}"
        ) from error
    if not hasattr(env.unwrapped, "tasks"):  # e.g. an id of Gymnasium itself in an edited record
        env.close()
        raise ConfigurationError(
            f"expected the id of an environment of tasks in text, got {env_id!r:.80} from "
            "the record"
        )
    return env


def not_stored(episode: Episode, changes: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the arguments and wrappers that neither the record nor ``changes`` contain."""
    supplied = {*changes, *((ShapedReward.__name__,) if "reward_hooks" in changes else ())}
    return tuple(name for name in episode.not_stored if name not in supplied)


def replay(episode: Episode, env: gymnasium.Env[str, str] | None = None) -> ReplayReport:
    """Replay the recorded actions and compare everything exactly.

    Args:
        episode: The record.
        env: An environment with the recorded arguments; None makes it from the record. With an
            environment, the record's ``env_id`` and ``env_kwargs`` are ignored.

    Returns:
        The report; a difference also names packages with a changed version.

    Raises:
        ConfigurationError: The environment cannot be made from the record, or rejects its seed or
            options.
        DataError: The random generator or the reward hooks in the record are damaged.
        EnvFailure: The environment fails.
        TaskNotFound: The task does not exist.
    """
    used = GuardedEnv(env if env is not None else make_env(episode))
    try:
        turns, difference = _compare(episode, used)
    finally:
        if env is None:
            used.close()
    if difference:
        versions = package_versions()
        changed = [
            f"{name} {version} then, {versions.get(name)} now"
            for name, version in episode.packages.items()
            if versions.get(name) != version
        ]
        difference += f" ({'; '.join(changed)})" if changed else ""
    return ReplayReport(not difference, turns, difference)


def set_generator(episode: Episode, env: gymnasium.Env[str, str]) -> None:
    """Set the random generator of an environment to the record's, if the record has no seed."""
    if episode.rng is not None:
        unwrapped: Any = env.unwrapped
        # Cast to NumPy's TypedDict: the setter below validates what the record contains.
        bits, state = np.random.PCG64(), cast(Any, episode.rng)
        try:
            bits.state = state
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise DataError(
                f"expected the state of a PCG64 generator in the record, got {episode.rng!r:.120}"
            ) from error
        unwrapped.np_random = np.random.Generator(bits)


def recall(episode: Episode, env: gymnasium.Env[str, str], ask: bool = False) -> None:
    """Pass the verdicts of a record to the judges of an environment.

    Args:
        episode: The record.
        env: An environment, wrapped or not.
        ask: Whether judges may send questions without a recorded verdict. The caller decides this,
            because a record from another source names a server.
    """
    verdicts = [turn.verdicts for turn in episode.turns]
    if isinstance(hooks := getattr(env.unwrapped, "hooks", None), HookRunner):
        hooks.recall(verdicts, ask)
    layer: gymnasium.Env[str, str] = env
    while isinstance(layer, gymnasium.Wrapper):
        if isinstance(layer, ShapedReward):
            layer.recall(verdicts, ask)
        layer = layer.env


def _compare(episode: Episode, env: gymnasium.Env[str, str]) -> tuple[int, str]:
    if not episode.began:
        return 0, ""
    recorded = (turn.action for turn in episode.turns)
    recall(episode, env)
    set_generator(episode, env)
    moments = play(
        CallablePolicy(lambda observation, info: next(recorded)),
        env,
        seed=episode.seed,
        options=dict(episode.options),
    )
    # Compare turn by turn, because the comparison reads the environment's current state.
    start = moment = _answered(next(moments))
    difference = _start_differs(episode, env, start.observation, start.info)
    if difference:
        return 0, f"reset: {difference}"
    for number, turn in enumerate(episode.turns, 1):
        moment = _answered(next(moments))
        difference = _turn_differs(turn, env, moment)
        if difference:
            return number - 1, f"turn {number}: {difference}"
        if moment.over and number < len(episode.turns):
            return number, f"turn {number}: the episode ended, {len(episode.turns)} turns recorded"
    difference = _end_differs(episode, moment.info)
    return len(episode.turns), difference and f"end: {difference}"


def _answered(moment: Moment) -> Moment:
    if moment.failure is not None:
        raise moment.failure
    return moment


def _differs(name: str, expected: object, actual: object) -> str:
    if isinstance(expected, str) and isinstance(actual, str) and expected != actual:
        position = next(
            (i for i, (a, b) in enumerate(zip(expected, actual, strict=False)) if a != b),
            min(len(expected), len(actual)),
        )
        start = max(0, position - 20)
        excerpts = expected[start : position + 40], actual[start : position + 40]
        return (
            f"{name} differs at character {position}: expected {excerpts[0]!r}, got {excerpts[1]!r}"
        )
    # Compare JSON texts: in Python 1 == 1.0 == True.
    if canonical_json(expected) == canonical_json(actual):
        return ""
    return f"{name} differs: expected {expected!r}, got {actual!r}"


def _start_differs(
    episode: Episode, env: gymnasium.Env[str, str], observation: str, info: Mapping[str, Any]
) -> str:
    return (
        _differs("task_id", episode.task_id, info["task_id"])
        or _differs("split", episode.split, info["split"])
        or _differs("goal", episode.goal, clean(info["goal"]))
        or _differs("hooks", list(episode.hooks), list(hook_names(env)))
        or _rng_differs(episode, env)
        or _state_differs(episode.start, env, observation, info)
    )


def _rng_differs(episode: Episode, env: gymnasium.Env[str, str]) -> str:
    """Compare the generators: a wrong seed may not show in anything drawn so far."""
    if episode.rng_key is None or episode.rng_key == (key := rng_key(env)):
        return ""
    source = f"seed {episode.seed}" if episode.rng is None else "rng"
    return f"{source} leads to another rng_key: expected {episode.rng_key!r}, got {key!r}"


def _state_differs(
    state: RecordedState, env: gymnasium.Env[str, str], observation: str, info: Mapping[str, Any]
) -> str:
    return (
        _differs("observation", state.observation, clean(observation))
        or _differs("score", float(state.score), float(info["score"]))
        or _differs("potential", float(state.potential), potential(env))
        or _differs("state_key", state.state_key, info["state_key"])
        or _differs("oracle_turns", state.oracle_turns, known_turns(info))
        or _differs("agent", state.agent, info.get("agent", ""))
        or _differs("agent_task", state.agent_task, clean(info.get("agent_task", "")))
    )


def _turn_differs(turn: Turn, env: gymnasium.Env[str, str], moment: Moment) -> str:
    info = moment.info
    return (
        _differs("executed", turn.executed, clean(executed(env, turn.action)))
        or _state_differs(turn.after, env, moment.observation, info)
        or _differs("reward", float(turn.reward), moment.reward)
        or _differs("reward_terms", turn.reward_terms, info["reward_terms"])
        or _differs("costs", {k: asdict(v) for k, v in turn.costs.items()}, info.get("costs", {}))
        or _differs("terminated", turn.terminated, moment.terminated)
        or _differs("truncated", turn.truncated, moment.truncated)
        or _differs("action_valid", turn.action_valid, info["action_valid"])
        or _differs("success", turn.success, info["success"])
        or _reason_differs(turn, env, info)
    )


def _reason_differs(turn: Turn, env: gymnasium.Env[str, str], info: Mapping[str, Any]) -> str:
    if turn.reason is None:
        return ""
    return _differs("reason", turn.reason, invalid_reason(env, turn.action, info))


def _end_differs(episode: Episode, info: Mapping[str, Any]) -> str:
    """Compare stop reason and details with the info of the last turn."""
    inside = episode.stop_reason in _ENDS
    expected, actual = episode.stop_reason if inside else "", info["stop_reason"]
    if expected != actual:
        return (
            f"stop_reason differs: expected {_describe_reason(expected)}, "
            f"got {_describe_reason(actual)}"
        )
    return _differs("details", episode.details, plain(info["details"])) if inside else ""


def _describe_reason(reason: str) -> str:
    """Return a stop reason with its description in words."""
    return f"{reason!r} ({reason_words(reason) or 'still running'})"


class Paid(NamedTuple):
    """Reward of a turn under other hooks."""

    terms: dict[str, float]
    """Reward terms."""
    verdicts: dict[str, Verdict]
    """Verdicts of judges, by hook name."""
    costs: dict[str, Cost]
    """Costs of the turn, by hook name."""


def rescore(
    episode: Episode,
    hooks: Sequence[TurnReward],
    env: gymnasium.Env[str, str] | None = None,
) -> list[dict[str, float]]:
    """Compute the reward terms of a recorded episode under other hooks, without a model.

    Without an environment the record is trusted; `replay` verifies it.

    Args:
        episode: The record.
        hooks: The new hooks, in order.
        env: An environment without hooks in which to replay the actions; None computes the terms
            from the recorded states only.

    Returns:
        For each turn the terms of the family and of the new hooks, named and weighted; they sum to
        the turn's new reward.

    Raises:
        ConfigurationError: Two hooks, or a hook and a term of the family, share a name, or a hook
            needs details of each turn and there is no ``env`` to report them.
    """
    return [paid.terms for paid in rescored(episode, hooks, env)]


def rescored(
    episode: Episode,
    hooks: Sequence[TurnReward],
    env: gymnasium.Env[str, str] | None = None,
) -> list[Paid]:
    """Return the terms of :func:`rescore`, with the verdicts and costs of each turn.

    Recorded verdicts of equal questions are reused.
    """
    hooks = read_hooks(hooks)
    if env is not None:
        shaped = ShapedReward(env, hooks)
        recall(episode, shaped, ask=True)
        set_generator(episode, shaped)
        shaped.reset(seed=episode.seed, options=dict(episode.options))
        infos = [shaped.step(turn.action)[4] for turn in episode.turns]
        return [Paid(info["reward_terms"], verdicts_of(info), costs_of(info)) for info in infos]
    needy = [
        hook.name for hook in hooks if getattr(hook, "needs", ()) or isinstance(hook, TaskReward)
    ]
    if needy:
        raise ConfigurationError(
            f"expected env= for {', '.join(needy)}: a record does not hold what these hooks need "
            "of each turn or of the task"
        )
    runner = HookRunner(hooks)
    names = {hook.name for hook in hooks}
    runner.recall([turn.verdicts for turn in episode.turns], ask=True)
    step = int(episode.options.get("training_step") or 0)
    prices = episode.options.get("prices")
    runner.reset(_turn_state(episode.start, 0), step, episode.goal, prices)
    result: list[Paid] = []
    for number, turn in enumerate(episode.turns, 1):
        env_terms = {
            key: part for key, part in turn.reward_terms.items() if key not in episode.hooks
        }
        if clash := names & set(env_terms):
            raise ConfigurationError(
                f"expected hook names that the environment does not use, got {sorted(clash)}"
            )
        terms = runner.terms(
            turn.executed,
            _turn_state(turn.after, number),
            env_terms,
            valid=turn.action_valid,
            done=turn.terminated or turn.truncated,
            success=turn.success,
            response=turn.action,
        )
        result.append(Paid(terms, runner.verdicts, dict(runner.costs)))
    return result


def _turn_state(state: RecordedState, turn: int) -> TurnState:
    return TurnState(
        state.observation, turn, state.score, state.potential, state.state_key, state.oracle_turns
    )

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

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from dataclasses import fields as dataclass_fields
from types import MappingProxyType
from typing import Any, NamedTuple, cast

import gymnasium
import numpy as np

from agentgym.core.guard import GuardedEnv
from agentgym.core.hooks import Cost, HookRunner, TaskReward, TurnReward, TurnState, Verdict
from agentgym.core.outcome import StopReason, reason_words
from agentgym.core.reward_functions import read_hooks
from agentgym.core.tasks import canonical_json
from agentgym.episodes.recorder import Recorder, package_versions, plain
from agentgym.episodes.records import Episode, RecordedState, Turn
from agentgym.errors import AgentGymError, ConfigurationError, DataError, EnvFailure
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
    """The first difference, in words; empty when there is none."""
    first: Difference | None = None
    """Its place and field."""


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


def make_env_of(env_id: str, env_kwargs: Mapping[str, Any]) -> gymnasium.Env[str, str]:
    """Make the environment that a report or another file names, under the rules of `make_env`.

    Args:
        env_id: Its id.
        env_kwargs: Its arguments; ``reward_hooks`` as in a report.

    Raises:
        AgentGymError: An error of `make_env`.
    """
    kwargs = dict(env_kwargs)
    hooks = kwargs.pop("reward_hooks", [])
    if not isinstance(hooks, list):
        raise DataError(f"expected a list of reward hooks, got {hooks!r:.80}")
    start = RecordedState("", 0.0, 0.0, "")
    return make_env(
        Episode(
            env_id, kwargs, "", "", "", None, None, {}, start, (), "", reward_hooks=tuple(hooks)
        )
    )


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
    if not episode.began:
        return ReplayReport(True, 0)
    used = GuardedEnv(env if env is not None else make_env(episode))
    try:
        new, failure = play_again(episode, Recorder(used, None))
    finally:
        if env is None:
            used.close()
    difference = first_difference(episode, new)
    # A failure is only the record's fault if the episode differed before it.
    if failure is not None and (difference is None or difference.at_end or not new.began):
        raise failure
    if difference is None:
        return ReplayReport(True, len(episode.turns))
    versions = package_versions()
    changed = [
        f"{name} {version} then, {versions.get(name)} now"
        for name, version in episode.packages.items()
        if versions.get(name) != version
    ]
    words = f"{difference} ({'; '.join(changed)})" if changed else str(difference)
    turns = len(new.turns) if difference.at_end else max(difference.turn - 1, 0)
    return ReplayReport(False, turns, words, difference)


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


def play_again(
    episode: Episode, recorder: Recorder, ask: bool = False
) -> tuple[Episode, EnvFailure | None]:
    """Play the recorded actions in an environment; every replay and rescoring does this.

    Args:
        episode: The record.
        recorder: An environment, in which the hooks and arguments may differ from the recorded.
        ask: Whether judges may send questions without a recorded verdict, see `recall`.

    Returns:
        The new record, which ends with stop reason ``error`` where the record ends before the
        environment does; and the failure of the environment, if it failed.
    """
    recall(episode, recorder, ask)
    set_generator(episode, recorder)
    failure: EnvFailure | None = None
    try:
        recorder.reset(seed=episode.seed, options=dict(episode.options))
        for turn in episode.turns:
            *_, terminated, truncated, _ = recorder.step(turn.action)
            if terminated or truncated:  # if earlier than recorded, a comparison will say so
                break
    except EnvFailure as error:
        failure = error
    recorder.end(StopReason.ERROR.value)  # closes an episode that still runs
    assert recorder.last is not None
    return recorder.last, failure


class Difference(NamedTuple):
    """Where two records of one episode differ."""

    turn: int
    """Number of the turn, from 1; 0: the reset, -1: the end of the episode."""
    field: str
    """Name of the field."""
    words: str
    """Both values, in words."""

    @property
    def at_end(self) -> bool:
        """Whether all turns that were played are as recorded."""
        return self.turn == _END

    @property
    def place(self) -> str:
        """Place in words: ``reset``, ``turn N`` or ``end``."""
        return {0: "reset", _END: "end"}.get(self.turn, f"turn {self.turn}")

    def __str__(self) -> str:
        """Return place and values."""
        return f"{self.place}: {self.words}"


def first_difference(
    old: Episode, new: Episode, fields: Container[str] | None = None
) -> Difference | None:
    """Compare a record with that of its replay.

    Args:
        old: The record.
        new: What `play_again` returned for it.
        fields: Names of the fields to compare; None: all that a replay can verify.

    Returns:
        The first difference in the order of play, or None.
    """
    for turn, name, expected, actual in _compared(old, new):
        if (fields is None or name in fields) and (
            words := describe_difference(name, expected, actual)
        ):
            if name == "rng_key":
                source = f"seed {old.seed}" if old.rng is None else "rng"
                words = f"{source} leads to another rng_key: {words}"
            elif name == "turns":
                words = f"the episode ended after turn {actual}, {expected} turns recorded"
            return Difference(turn, name, words)
    return None


_END = -1
_Compared = tuple[int, str, object, object]
"""Turn, as in `Difference`; name of the field, recorded and replayed value."""


def _compared(old: Episode, new: Episode) -> Iterator[_Compared]:
    """Yield the values that a replay can verify, in the order of play."""
    for name in ("task_id", "split", "goal"):
        yield 0, name, getattr(old, name), getattr(new, name)
    yield 0, "hooks", list(old.hooks), list(new.hooks)
    if old.rng_key is not None:  # a wrong seed may not show in anything drawn so far
        yield 0, "rng_key", old.rng_key, new.rng_key
    yield from _compared_states(0, old.start, new.start)
    for number, (turn, new_turn) in enumerate(zip(old.turns, new.turns, strict=False), 1):
        yield from _compared_turns(number, turn, new_turn)
    yield _END, "turns", len(old.turns), len(new.turns)
    inside = old.stop_reason in _ENDS
    reasons = (old.stop_reason if inside else "", _inside_end(new))
    yield _END, "stop_reason", *reasons
    if inside:
        yield _END, "details", old.details, plain(new.details)


def _compared_states(turn: int, old: RecordedState, new: RecordedState) -> Iterator[_Compared]:
    for entry in dataclass_fields(RecordedState):
        expected, actual = getattr(old, entry.name), getattr(new, entry.name)
        is_number = entry.name in ("score", "potential")
        yield turn, entry.name, float(expected) if is_number else expected, actual


def _compared_turns(number: int, old: Turn, new: Turn) -> Iterator[_Compared]:
    yield number, "executed", old.executed, new.executed
    yield from _compared_states(number, old.after, new.after)
    yield number, "reward", float(old.reward), new.reward
    yield number, "reward_terms", old.reward_terms, new.reward_terms
    yield number, "costs", _as_dicts(old.costs), _as_dicts(new.costs)
    for name in ("terminated", "truncated", "action_valid", "success"):
        yield number, name, getattr(old, name), getattr(new, name)
    if old.reason is not None:
        yield number, "reason", old.reason, new.reason


def _as_dicts(costs: Mapping[str, Cost]) -> dict[str, dict[str, Any]]:
    return {name: asdict(cost) for name, cost in costs.items()}


def _inside_end(new: Episode) -> str:
    """Return the stop reason of the environment; empty if it was still running."""
    return new.stop_reason if new.stop_reason in _ENDS else ""


def describe_difference(name: str, expected: object, actual: object) -> str:
    """Compare two values as JSON.

    Args:
        name: Name of the field.
        expected: A text or JSON-safe value.
        actual: Another one.

    Returns:
        The difference in words; empty if there is none.
    """
    if isinstance(expected, str) and isinstance(actual, str):
        if expected == actual:
            return ""
        if name == "stop_reason":
            words = _describe_reason(expected), _describe_reason(actual)
            return f"{name} differs: expected {words[0]}, got {words[1]}"
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
        new, failure = play_again(episode, Recorder(ShapedReward(env, hooks), None), ask=True)
        if failure is not None:
            raise failure
        return [Paid(turn.reward_terms, turn.verdicts, turn.costs) for turn in new.turns]
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

"""Record the episodes of an environment: in a file, or as facts in info dicts."""

from __future__ import annotations

import copy
import hashlib
import json
import platform
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import gymnasium
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils import RecordConstructorArgs

from agentgym.core.hooks import Cost, Verdict
from agentgym.core.info import known_turns
from agentgym.core.outcome import episode_stop_reason
from agentgym.endpoints.returned_tokens import ReturnedTokens
from agentgym.episodes.records import (
    TOKENS,
    Episode,
    RecordedState,
    SampledTokens,
    Turn,
    append_episode,
    clean,
)
from agentgym.episodes.spans import trace
from agentgym.errors import DISTRIBUTION, EnvFailure
from agentgym.policies.base import ModelOutput
from agentgym.rewards.table import hooks_to_json
from agentgym.support.redaction import hide_secrets, without_users

FACTS = "record"
"""Key of ``info`` for the facts of `RecordFacts`."""

COUNTED = (
    "prompt_tokens", "completion_tokens", "cached_tokens", "reasoning_tokens", "finish_reason",
)  # fmt: skip
"""Fields of a model output that are recorded if no turn followed it."""
UNUSED = "unused_outputs"
"""Key in `Episode.extra` of these outputs."""
CALLS = "calls"
"""Key in `Episode.extra` of the calls of an agent's model, if the caller serves the model: turns
taken before, tokens, text and finish reason of each."""
MODELS = "models"
"""Key in `Episode.extra` of the names of the responding models, if known."""


class Recorder(gymnasium.Wrapper[str, str, str, str], RecordConstructorArgs):
    """Append every finished episode of a text environment to a JSONL file.

    Apply it outside of wrappers that change rewards. An episode that is abandoned by a new reset is
    not written; an episode that ends, or fails to begin, because of an `EnvFailure` is written with
    stop reason ``error``.

    Args:
        env: A text environment, wrapped or not.
        path: File to append to; None: only :attr:`last` is kept.
        panel_sha256: Hash of the panel, if any.
        policy: Name of the policy.
    """

    def __init__(
        self,
        env: gymnasium.Env[str, str],
        path: str | Path | None,
        *,
        panel_sha256: str = "",
        policy: str = "",
    ) -> None:
        RecordConstructorArgs.__init__(self, path=path, panel_sha256=panel_sha256, policy=policy)
        gymnasium.Wrapper.__init__(self, env)
        self.path = None if path is None else Path(path)
        self.last: Episode | None = None
        """The last finished episode."""
        self._static = origin(env, panel_sha256=panel_sha256, policy=policy)
        self._open_episode: Episode | None = None
        self._turns: list[Turn] = []
        self._note: dict[str, Any] = {}
        self._unused: list[dict[str, Any]] = []
        self._models: dict[str, None] = {}
        self._calls: list[dict[str, Any]] = []
        self._sampled: ReturnedTokens | None = None
        self._tokens: list[ReturnedTokens | None] = []
        self._times: list[int] = []

    def annotate(
        self,
        raw_text: str | None = None,
        prompt_tokens: int | None = None,
        completion_tokens: int | None = None,
        *,
        cached_tokens: int | None = None,
        reasoning_tokens: int | None = None,
        reasoning: str | None = None,
        finish_reason: str | None = None,
    ) -> None:
        """Record the model output for the next action; see the fields of `Turn`.

        An output without an executed action has no turn: its tokens and finish reason are kept
        under ``unused_outputs`` of `Episode.extra`.
        """
        # A second output before an action: no turn will have the first.
        self._drop_note()
        self._note = {
            "raw_text": None if raw_text is None else clean(raw_text),
            "prompt_tokens": prompt_tokens,
            "completion_tokens": completion_tokens,
            "cached_tokens": cached_tokens,
            "reasoning_tokens": reasoning_tokens,
            "reasoning": None if reasoning is None else clean(reasoning),
            "finish_reason": finish_reason,
        }

    def annotate_output(self, output: ModelOutput) -> None:
        """Record the output of a policy's model for the next action."""
        if output.model:
            self._models[output.model] = None
        self.annotate(
            output.text,
            output.prompt_tokens,
            output.completion_tokens,
            cached_tokens=output.cached_tokens,
            reasoning_tokens=output.reasoning_tokens,
            reasoning=output.reasoning or None,
            finish_reason=output.finish_reason or None,
        )
        self._sampled = output.sampled

    def note_call(self, output: ModelOutput) -> None:
        """Record a call of an agent's model, regardless of the number of turns that follow."""
        self._calls.append(
            {
                "turn": len(self._turns),
                "prompt_tokens": output.prompt_tokens,
                "completion_tokens": output.completion_tokens,
                "finish_reason": output.finish_reason,
                "text": clean(output.text),
            }
        )

    def end(self, stop_reason: str, error: str = "") -> None:
        """End the running episode from outside, if there is one, and write it.

        Args:
            stop_reason: One of `agentgym.core.outcome.OUTSIDE`: ``error`` if the infrastructure of
                the policy failed, ``stopped`` if the player stopped, or why the model could not
                continue.
            error: Message for the details.
        """
        self._finish(stop_reason, failure_details(error) if error else {})

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Start an episode.

        Raises:
            EnvFailure: The environment failed; the episode is written with reason ``error``.
        """
        # Before the reset, which draws from the generator.
        rng = None if seed is not None else generator_state(self.env)
        reset_options = {key: plain(value) for key, value in (options or {}).items()}
        self._open_episode, self._turns, self._note = None, [], {}
        self._unused, self._models, self._calls = [], {}, []
        self._sampled, self._tokens = None, []
        self._times = [time.time_ns()]
        unbegun = Episode(
            task_id=str(reset_options.get("task_id", "")),
            split=str(reset_options.get("split", "")),
            goal="",
            seed=None if seed is None else int(seed),
            rng=None if rng is None else plain(rng),
            options=reset_options,
            start=RecordedState("", 0.0, 0.0, ""),
            turns=(),
            stop_reason="",
            **self._static,
        )
        try:
            observation, info = self.env.reset(seed=seed, options=options)
            start = self._state(observation, info)
        except EnvFailure as failure:
            self._open_episode = unbegun
            self._finish("error", failure_details(str(failure)))
            raise
        self._open_episode = replace(
            unbegun,
            task_id=info["task_id"],
            split=info["split"],
            goal=clean(info["goal"]),
            start=start,
            rng_key=rng_key(self.env),
        )
        self._times.append(time.time_ns())
        return observation, info

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Take one turn, and write the episode if it ends.

        Raises:
            EnvFailure: The environment failed; the episode is written with reason ``error``.
        """
        action = clean(action)  # execute the text that a reader of the record gets, for replays
        self._times.append(time.time_ns())
        try:
            observation, reward, terminated, truncated, info = self.env.step(action)
            recorded_state = self._state(observation, info)
        except EnvFailure as failure:
            self._finish("error", failure_details(str(failure), action))
            raise
        turn = Turn(
            action=action,
            executed=clean(executed(self.env, action)),
            after=recorded_state,
            reward=float(reward),
            reward_terms=dict(info["reward_terms"]),
            action_valid=info["action_valid"],
            success=info["success"],
            terminated=terminated,
            truncated=truncated,
            reason=invalid_reason(self.env, action, info),
            verdicts=verdicts_of(info),
            costs=costs_of(info),
            **self._note,
        )
        self._times.append(time.time_ns())
        self._turns.append(turn)
        self._tokens.append(self._sampled)
        self._note, self._sampled = {}, None
        if terminated or truncated:
            self._finish(episode_stop_reason(info, truncated), info["details"])
        return observation, float(reward), terminated, truncated, info

    def _drop_note(self) -> None:
        """Record the token counts of a model output that no turn followed."""
        note = {name: self._note.get(name) for name in COUNTED}
        if counts := {name: value for name, value in note.items() if value}:
            self._unused.append(counts)
        self._note, self._sampled = {}, None

    def _finish(self, stop_reason: str, details: Mapping[str, Any]) -> None:
        if self._open_episode is not None:
            self._drop_note()
            extra = {
                UNUSED: self._unused, MODELS: [*self._models], CALLS: self._calls,
                TOKENS: _tokens_of_turns(self._tokens),
            }  # fmt: skip
            self.last = replace(
                self._open_episode,
                turns=tuple(self._turns),
                stop_reason=stop_reason,
                details=dict(details),
                extra={name: value for name, value in extra.items() if value},
            )
            self._open_episode = None
            trace(self.last, self._times)
            if self.path is not None:
                append_episode(self.path, self.last)

    def _state(self, observation: str, info: Mapping[str, Any]) -> RecordedState:
        return state_of(observation, info, potential(self.env))


class RecordFacts(gymnasium.Wrapper[str, str, str, str], RecordConstructorArgs):
    """Add ``info["record"]``, so that an episode can be recorded from its returned values.

    For episodes in the slots of a vector environment, where no `Recorder` is next to the policy.
    The facts are ``potential`` (phi of the state, float), ``executed`` (the action in the native
    grammar; empty at a reset) and ``reason`` (why it was invalid; empty if it was valid); at a
    reset ``rng_key`` (see `Episode`), and without seed ``rng`` (the state of ``np_random`` before
    it, as JSON text: its numbers are too large for arrays of numpy).

    Args:
        env: A text environment, wrapped or not.
    """

    memoryless = True
    """The vector environment may restore it from a snapshot of the wrapped environment."""

    def __init__(self, env: gymnasium.Env[str, str]) -> None:
        RecordConstructorArgs.__init__(self)
        gymnasium.Wrapper.__init__(self, env)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Start an episode and add its facts to the info."""
        reset_facts = {} if seed is not None else {"rng": json.dumps(generator_state(self.env))}
        observation, info = self.env.reset(seed=seed, options=options)
        info[FACTS] = {
            "potential": potential(self.env),
            "executed": "",
            "reason": "",
            "rng_key": rng_key(self.env),
            **reset_facts,
        }
        return observation, info

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Take one turn and add its facts to the info."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        info[FACTS] = {
            "potential": potential(self.env),
            "executed": executed(self.env, action),
            "reason": invalid_reason(self.env, action, info),
        }
        return observation, float(reward), terminated, truncated, info


def _tokens_of_turns(turns: Sequence[ReturnedTokens | None]) -> list[SampledTokens]:
    """Return the tokens of all turns, without those read before; none if a turn has no tokens."""
    recorded: list[SampledTokens] = []
    text: list[int] = []
    for turn in turns:
        if turn is None:
            return []
        fresh = not text or turn.prompt[: len(text)] != text
        context = turn.prompt[0 if fresh else len(text) :]
        recorded.append(
            SampledTokens(fresh=fresh, context=context, ids=turn.ids, logprobs=turn.logprobs)
        )
        text = [*turn.prompt, *turn.ids]
    return recorded


def potential(env: gymnasium.Env[str, str]) -> float:
    """Return the potential phi of the current state, from the outermost wrapper."""
    return float(env.get_wrapper_attr("potential")())


def executed(env: gymnasium.Env[str, str], action: str) -> str:
    """Return the last action in the native grammar; ``action`` if there is none."""
    text = getattr(env.unwrapped, "last_action", None)
    return action if text is None else str(text)


def invalid_reason(env: gymnasium.Env[str, str], action: str, info: Mapping[str, Any]) -> str:
    """Return why an action was invalid, from the family or else from its grammar.

    Args:
        env: A text environment.
        action: Argument of ``step``.
        info: The info dict of ``step``.

    Returns:
        The reason; empty for a valid action, and if only the observation contains it.
    """
    if info["action_valid"]:
        return ""
    language = getattr(env.unwrapped, "spoken", None)
    reason = info["details"].get("reason") or (language.read(action).problem if language else "")
    return clean(str(reason))


def verdicts_of(info: Mapping[str, Any]) -> dict[str, Verdict]:
    """Return the verdicts of judges on a turn, by hook name."""
    return {name: Verdict(**verdict) for name, verdict in info.get("verdicts", {}).items()}


def costs_of(info: Mapping[str, Any]) -> dict[str, Cost]:
    """Return the costs of a turn, by hook name."""
    return {name: Cost(**used) for name, used in info.get("costs", {}).items()}


def rng_key(env: gymnasium.Env[str, str]) -> str:
    """Hash the state of ``np_random`` to 16 hexadecimal digits."""
    state = json.dumps(generator_state(env), sort_keys=True, default=lambda array: array.tolist())
    return hashlib.blake2b(state.encode(), digest_size=8).hexdigest()


def generator_state(env: gymnasium.Env[str, str]) -> dict[str, Any]:
    """Return a copy of the state of ``np_random``'s bit generator."""
    state: Mapping[str, Any] = env.unwrapped.np_random.bit_generator.state
    return copy.deepcopy(dict(state))


def state_of(observation: str, info: Mapping[str, Any], potential: float) -> RecordedState:
    """Return the recorded state of an environment between two turns; ``potential`` is its phi."""
    score = float(info["score"])
    return RecordedState(
        clean(observation),
        score,
        potential,
        info["state_key"],
        known_turns(info),
        info.get("agent", ""),
        clean(info.get("agent_task", "")),
        info.get("forgets", False),
    )


def failure_details(error: str, action: str | None = None) -> dict[str, Any]:
    """Return the details of an episode with a failure of the environment.

    The turn of the failure is not part of the record: it has no observation to compare.
    """
    return {"error": error} if action is None else {"error": error, "unanswered_action": action}


def origin(
    env: gymnasium.Env[str, str], *, panel_sha256: str = "", policy: str = ""
) -> dict[str, Any]:
    """Return the fields of `Episode` that all episodes of an environment and a policy share.

    Returns:
        Keyword arguments of `Episode`: the JSON-safe arguments of the environment, without secrets,
        and the versions of the packages.
    """
    kwargs = {**env.spec.kwargs, **step_limit(env.spec)} if env.spec else {}
    plainly = {key: plain(value) for key, value in kwargs.items() if _is_json(value)}
    anonymous = without_users(plainly)
    stored = hide_secrets(anonymous)
    described = None if "reward_hooks" in stored else hooks_to_json(kwargs.get("reward_hooks"))
    # An argument with a hidden secret counts as not stored: it cannot make the environment again.
    unchanged = {key for key in stored if stored[key] == anonymous[key]}
    unchanged |= {"reward_hooks"} if described is not None else set()
    wrappers = [wrapper.name for wrapper in env.spec.additional_wrappers] if env.spec else []
    return {
        "env_id": env.spec.id if env.spec else type(env.unwrapped).__name__,
        "env_kwargs": stored,
        "hooks": hook_names(env),
        "not_stored": tuple([key for key in kwargs if key not in unchanged] + wrappers),
        "reward_hooks": described or (),
        "panel_sha256": panel_sha256,
        "policy": policy,
        "packages": package_versions(),
    }


def step_limit(spec: EnvSpec) -> dict[str, int]:
    """Return the step limit passed to `gymnasium.make`, if it differs from that of the id."""
    registered = gymnasium.registry.get(spec.id)
    usual = registered.max_episode_steps if registered else None
    limit = spec.max_episode_steps
    return {} if limit is None or limit == usual else {"max_episode_steps": limit}


def hook_names(env: gymnasium.Env[str, str]) -> tuple[str, ...]:
    """Return the names of the reward terms that hooks add to the family's own."""
    names = list(getattr(getattr(env.unwrapped, "hooks", None), "names", ()))
    layer: gymnasium.Env[str, str] = env
    while isinstance(layer, gymnasium.Wrapper):
        names += getattr(layer, "hook_names", ())
        layer = layer.env
    return tuple(names)


def package_versions(*more: str) -> dict[str, str]:
    """Return the versions of the packages that affect episodes, and of ``more`` packages."""
    versions = {"python": platform.python_version()}
    versions |= {
        name: package_version(name) for name in (DISTRIBUTION, "gymnasium", "numpy", *more)
    }
    return versions


@cache
def package_version(name: str) -> str:
    """Return the version of a package; cached, because it needs a search of files."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "unknown"


def _is_json(value: object) -> bool:
    try:
        json.dumps(value, default=_number, allow_nan=False)
    except (TypeError, ValueError):
        return False
    return True


def plain(value: object) -> Any:
    """Copy a value as plain JSON types; numpy numbers become Python numbers."""
    return json.loads(json.dumps(value, default=_number))


def _number(value: Any) -> Any:
    """Convert a NumPy number to a Python number."""
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"{type(value).__name__} is not JSON-safe")

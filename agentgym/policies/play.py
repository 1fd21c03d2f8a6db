"""The loop that plays one episode of a policy in an environment."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import gymnasium

from agentgym.core.outcome import episode_stop_reason
from agentgym.errors import EnvFailure, PolicyFailure, PolicyStopped
from agentgym.policies.base import ModelOutput, Policy, PolicyWithOutput, begin, public_info


class Moment(NamedTuple):
    """The state of an episode after its reset or a turn."""

    observation: str
    """The environment's text; after a failure, the last one before it."""
    info: Mapping[str, Any]
    """The info that came with it; empty if the reset failed."""
    action: str | None = None
    """The action that led here; None at the reset."""
    reward: float = 0.0
    """Reward of the turn."""
    terminated: bool = False
    """Whether the task terminated."""
    truncated: bool = False
    """Whether the horizon or the player ended the episode."""
    failure: EnvFailure | PolicyFailure | None = None
    """The failure, if the environment or infrastructure of the policy failed."""
    words: str = ""
    """Reason of an end caused by the policy, such as its endpoint's message."""

    @classmethod
    def after(
        cls,
        action: str,
        observation: str,
        reward: float,
        terminated: bool,
        truncated: bool,
        info: Mapping[str, Any],
    ) -> Moment:
        """Return the episode after a turn; truncation by a wrapper also sets a stop reason."""
        if truncated:
            info = {**info, "stop_reason": episode_stop_reason(info, truncated)}
        return cls(observation, info, action, reward, terminated, truncated)

    @property
    def over(self) -> bool:
        """Whether the episode has ended, by the task, the horizon or a failure."""
        return self.terminated or self.truncated or self.failure is not None

    def cut(self, stop_reason: str, words: str = "") -> Moment:
        """Return the episode ended from outside for a reason, without another turn."""
        info = {**self.info, "stop_reason": stop_reason}
        return self._replace(info=info, action=None, reward=0.0, truncated=True, words=words)


def play(
    policy: Policy,
    env: gymnasium.Env[str, str],
    *,
    seed: int | None = None,
    options: dict[str, Any] | None = None,
    on_output: Callable[[ModelOutput], None] | None = None,
    end_when: Callable[[Moment], str] | None = None,
) -> Iterator[Moment]:
    """Play one episode and yield its moments.

    The policy sees the keys of the info dict that `agentgym.policies.PUBLIC_INFO` lists. It acts
    when the next moment is requested, so the episode stops when the caller stops iterating.

    Args:
        policy: The policy.
        env: A text environment, wrapped or not.
        seed: Seed of the reset.
        options: Options of the reset.
        on_output: Called with the output of the policy's model, if any, before the action is
            executed.
        end_when: Called with the last moment before each action; a non-empty text ends the episode
            and becomes its stop reason.

    Yields:
        The episode after its reset and after each turn. A failure of the environment, a
        `PolicyFailure`, a `PolicyStopped` or ``end_when`` yields the last moment. Any other error
        of the policy is raised.
    """
    try:
        observation, info = env.reset(seed=seed, options=options)
    except EnvFailure as failure:
        yield Moment("", {}, failure=failure)
        return
    yield (moment := Moment(observation, info))
    while not moment.over:
        if end_when is not None and (reason := end_when(moment)):
            yield moment.cut(reason)
            return
        try:
            # Not before the first turn: a caller that stops after the reset costs no request.
            if moment.action is None:
                begin(policy, observation, public_info(info))
            action = policy.act(moment.observation, public_info(moment.info))
        except PolicyStopped as stopped:
            yield moment.cut(stopped.stop_reason, stopped.words)
            return
        except PolicyFailure as failure:
            yield moment._replace(action=None, reward=0.0, failure=failure)
            return
        if on_output and isinstance(policy, PolicyWithOutput) and policy.last_output is not None:
            on_output(policy.last_output)
        try:
            observation, reward, terminated, truncated, info = env.step(action)
        except EnvFailure as failure:
            yield moment._replace(action=action, reward=0.0, failure=failure)
            return
        moment = Moment.after(action, observation, float(reward), terminated, truncated, info)
        yield moment

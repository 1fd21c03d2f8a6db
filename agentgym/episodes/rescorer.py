"""Rescore recorded episodes with another reward, without a model.

Episodes are replayed if the new reward needs the engine: for other arguments of the environment,
for hooks that read details of a turn, and for hooks that read the potential, which some families
only compute on demand. Otherwise the reward is computed from the record, with the same result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from agentgym.core.hooks import HookRunner, TurnReward
from agentgym.core.outcome import StopReason, total
from agentgym.core.reward_functions import read_hooks
from agentgym.episodes.environment_cache import EnvCache
from agentgym.episodes.recorder import Recorder
from agentgym.episodes.records import Episode, Turn
from agentgym.episodes.replay import first_difference, not_stored, play_again, rescored
from agentgym.errors import ConfigurationError
from agentgym.rewards.table import hooks_to_json

if TYPE_CHECKING:
    from typing_extensions import Self

_BROKEN_OFF = {end.value for end in StopReason if end.outside}
"""Stop reasons from outside of the environment, which a replay cannot reproduce."""
_COURSE = (
    "observation", "state_key", "executed", "action_valid", "terminated", "truncated", "turns",
)  # fmt: skip
"""Fields of a record that do not depend on the reward."""


class CourseChanged(ConfigurationError):
    """A replayed episode differs from the record, so its rewards do not apply."""


class Rescorer:
    """Rescore recorded episodes with other hooks and arguments.

    Args:
        hooks: All hooks of the new reward, in order; without any, only the family's reward remains.
        settings: Arguments of the environment that replace recorded ones, such as ``{"reward":
            "sparse"}``. They may change rewards, but not the course of an episode.
        play: Whether to replay the episodes; None: only if the new reward needs it. False trusts
            the recorded potentials.

    Raises:
        ConfigurationError: ``play`` is False, but the new reward needs a replay.
    """

    def __init__(
        self,
        hooks: Sequence[TurnReward] = (),
        settings: Mapping[str, Any] = MappingProxyType({}),
        play: bool | None = None,
    ) -> None:
        self._hooks = [*read_hooks(hooks)]
        # Only to ask what the hooks read; the needed details count as reported.
        runner = HookRunner(self._hooks, _needs(self._hooks))
        needed = bool(settings) or bool(_needs(self._hooks)) or runner.reads_task
        if play is False and needed:
            raise ConfigurationError(
                "expected a reward that a record is enough for, got settings or hooks that need "
                "the environment's answers: leave out play=False"
            )
        self._settings = dict(settings)
        self._play = needed or runner.reads_potential
        if play is not None:
            self._play = play
        self._changes = {**self._settings, "reward_hooks": self._hooks}
        self._envs = EnvCache(self._changes)
        self._recorder: Recorder | None = None

    def __call__(self, episode: Episode) -> Episode:
        """Return a new record with the new rewards, which `replay` accepts.

        Policy, model texts, tokens and package versions are taken from the old record.

        Raises:
            CourseChanged: With these settings, or this version, the episode takes another course.
            ConfigurationError: The environment cannot be made, or a hook has a name in use.
            DataError: The random generator in the record is damaged.
            EnvFailure: The environment fails.
            TaskNotFound: The task no longer exists.
        """
        if not self._play or not episode.began:
            return self._computed(episode)
        try:
            return self._replay(episode)
        except BaseException:
            self._envs.discard(episode)
            raise

    def _computed(self, episode: Episode) -> Episode:
        """Rescore from the record alone."""
        turns = tuple(
            replace(
                turn,
                reward=total(paid.terms.values()),
                reward_terms=paid.terms,
                verdicts=paid.verdicts,
                costs=paid.costs,
            )
            for turn, paid in zip(episode.turns, rescored(episode, self._hooks), strict=True)
        )
        described = hooks_to_json(self._hooks)
        lacking = ("reward_hooks",) if described is None else ()
        kwargs = {**episode.env_kwargs, **self._settings}
        kwargs.pop("reward_hooks", None)
        return replace(
            episode,
            env_kwargs=kwargs,
            hooks=tuple(hook.name for hook in self._hooks),
            reward_hooks=described or (),
            not_stored=lacking + not_stored(episode, self._changes),
            turns=turns,
        )

    def _replay(self, episode: Episode) -> Episode:
        """Rescore by playing the recorded actions."""
        env = self._envs.get(episode)
        if self._recorder is None or self._recorder.env is not env:
            self._recorder = Recorder(env, None)
        new, failure = play_again(episode, self._recorder, ask=True)
        if failure is not None:
            raise failure
        difference = first_difference(episode, new, _COURSE)
        has_ended = _ended_inside(episode)
        if difference or has_ended != _ended_inside(new):
            cause = f"with {self._settings}" if self._settings else "in this version"
            raise CourseChanged(
                f"expected {episode.task_id} to take its recorded course, but {cause} it differs: "
                f"{difference or 'it ends elsewhere'}"
            )
        return replace(
            episode,
            env_kwargs=new.env_kwargs,
            hooks=new.hooks,
            reward_hooks=new.reward_hooks,
            not_stored=new.not_stored,
            start=new.start,
            turns=tuple(map(_paid, episode.turns, new.turns)),
            stop_reason=new.stop_reason if has_ended else episode.stop_reason,
            details=new.details if has_ended else episode.details,
        )

    def close(self) -> None:
        """Close the environments."""
        self._envs.close()

    def __enter__(self) -> Self:
        """Return the rescorer, whose environments are closed at the end of the block."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close the environments."""
        self.close()


def rescore_episode(
    episode: Episode,
    hooks: Sequence[TurnReward] = (),
    settings: Mapping[str, Any] = MappingProxyType({}),
) -> Episode:
    """Return a new record of an episode with another reward; see `Rescorer` for many.

    Args:
        episode: The record.
        hooks: All hooks of the new reward; without any, only the family's reward remains.
        settings: Arguments of the environment that replace recorded ones.

    Raises:
        AgentGymError: An error of `Rescorer`.
    """
    with Rescorer(hooks, settings) as rescorer:
        return rescorer(episode)


def _needs(hooks: Sequence[TurnReward]) -> list[str]:
    """Return the details of a turn that hooks require."""
    return [key for hook in hooks for key in getattr(hook, "needs", ())]


def _ended_inside(episode: Episode) -> bool:
    return episode.stop_reason not in _BROKEN_OFF


def _paid(old: Turn, new: Turn) -> Turn:
    """Return a recorded turn with the rewards of its replay."""
    return replace(
        old,
        after=new.after,
        reward=new.reward,
        reward_terms=new.reward_terms,
        verdicts=new.verdicts,
        costs=new.costs,
        success=new.success,
    )


@dataclass
class RewardMeans:
    """Means of rewards over episodes, accumulated one by one."""

    n: int = 0
    """Episodes."""
    unjudged: int = 0
    """Number of episodes without a verdict of a judge, which the means of rewards exclude."""
    returned: float = 0.0
    """Sum of the returns."""
    score: float = 0.0
    """Sum of the scores."""
    solved: int = 0
    """Number of solved episodes."""
    terms: dict[str, float] = field(default_factory=dict)
    """Sum of each reward term."""

    def add(self, episode: Episode) -> None:
        """Count an episode."""
        self.n += 1
        self.score += episode.score
        self.solved += episode.success
        if episode.unjudged:
            self.unjudged += 1
            return
        self.returned += episode.reward
        for turn in episode.turns:
            for name, value in turn.reward_terms.items():
                self.terms[name] = self.terms.get(name, 0.0) + value

    def to_dict(self) -> dict[str, Any]:
        """Return the means per episode, JSON-safe: ``return``, ``score``, ``success``, ``terms``.

        Without episodes they are None, and there are no terms. Episodes without a verdict are
        counted as ``unjudged``, if there are any, and the means of rewards exclude them.
        """
        if not self.n:
            return {"n": 0, "return": None, "score": None, "success": None, "terms": {}}
        judged = self.n - self.unjudged
        return {
            "n": self.n,
            "return": self.returned / judged if judged else None,
            "score": self.score / self.n,
            "success": self.solved / self.n,
            "terms": {name: value / judged for name, value in self.terms.items()},
            **({"unjudged": self.unjudged} if self.unjudged else {}),
        }

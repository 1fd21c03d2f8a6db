"""Episodes of a run as records that can be replayed, rescored and opened in a viewer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import gymnasium

from agentgym.core.outcome import StopReason
from agentgym.episodes import Episode, RecordedState, Turn, append_episode
from agentgym.episodes.atif import TOKENS
from agentgym.episodes.recorder import failure_details, origin, plain
from agentgym.episodes.records import SampledTokens, clean
from agentgym.episodes.spans import trace
from agentgym.errors import ConfigurationError
from agentgym.support.caching import write_atomically
from trainers.config.resolve import ResolvedRun
from trainers.processes import main_only
from trainers.rollouts.chat import TurnTokenizer
from trainers.rollouts.trajectory import SampledTurn, Trajectory

__all__ = ["EpisodeLog", "to_episode"]


class EpisodeLog:
    """Record finished episodes, in the main process; nothing is replayed.

    Args:
        run: The run.
        chat: Turn tokenizer of the policy, for the text that the model wrote.
        training: Whether rewards include those of training's reward hooks.
        panels: Hash of the panel played in each environment, if any.
    """

    def __init__(
        self,
        run: ResolvedRun,
        chat: TurnTokenizer,
        training: bool = False,
        panels: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self._origins: dict[str, Mapping[str, Any]] = {}
        for env in run.envs:
            hooks = env.make_hooks() if training else []
            kwargs = {**env.kwargs, "reward_hooks": hooks} if hooks else env.kwargs
            text_env = gymnasium.make(env.env_id, disable_env_checker=True, **kwargs)
            panel = panels.get(env.name, "")
            self._origins[env.name] = origin(text_env, panel_sha256=panel, policy=run.config.model)
            text_env.close()
        self._chat, self._with_tokens = chat, run.config.rl.log_tokens

    @main_only
    def append(self, path: Path, trajectories: Iterable[Trajectory], **extra: object) -> None:
        """Append episodes to a JSONL file; ``extra`` is merged into every record's ``extra``.

        Raises:
            DataError: The file cannot be written.
        """
        for episode in self._episodes(trajectories, extra):
            append_episode(path, episode)

    @main_only
    def replace(self, path: Path, trajectories: Iterable[Trajectory], **extra: object) -> None:
        """Replace a file of episodes atomically: a reader sees the old file or the new one."""
        lines = [episode.to_line() for episode in self._episodes(trajectories, extra)]
        path.parent.mkdir(exist_ok=True)
        write_atomically(path, "".join(lines).encode())

    def _episodes(
        self, trajectories: Iterable[Trajectory], extra: Mapping[str, object]
    ) -> Iterator[Episode]:
        """Turn trajectories into records."""
        for trajectory in trajectories:
            env_origin = self._origins[trajectory.family]
            episode = to_episode(trajectory, env_origin, self._chat.raw_text, extra)
            if self._with_tokens and trajectory.record is None:
                sampled = [_tokens(turn) for turn in trajectory.turns[: len(episode.turns)]]
                episode = replace(episode, extra={**episode.extra, TOKENS: sampled})
            if trajectory.times:
                trace(episode, trajectory.times)
            yield episode


def to_episode(
    trajectory: Trajectory,
    origin: Mapping[str, Any],
    raw_text: Callable[[Sequence[int]], str],
    extra: Mapping[str, object] | None = None,
) -> Episode:
    """Write an episode as a record, however it ended.

    Args:
        trajectory: An episode from environments in ``agentgym.episodes.RecordFacts``.
        origin: How its environment was made, from ``agentgym.episodes.recorder.origin``.
        raw_text: The text that the model wrote, from the ids of a turn.
        extra: Further facts.

    Returns:
        The record. The turn in which an environment failed is left out, as it has no answer to
        compare with; its action is in the details.

    Raises:
        ConfigurationError: The environments did not report the contents of a record.
    """
    if trajectory.record is not None:
        extra_fields = {**(extra or {}), **trajectory.record.extra}
        return replace(trajectory.record, **origin, extra=extra_fields)
    failed = trajectory.stop_reason == StopReason.ERROR.value
    answered = trajectory.turns[:-1] if failed else trajectory.turns
    details = dict(trajectory.details)
    if failed:
        unanswered = trajectory.turns[-1].text if trajectory.turns else None
        details |= failure_details(trajectory.error, unanswered)
    return Episode(
        **origin,
        task_id=trajectory.task_id,
        split=trajectory.split,
        goal=clean(trajectory.goal),
        seed=trajectory.seed,
        rng=trajectory.rng,
        rng_key=trajectory.rng_key,
        options=plain(trajectory.options),
        start=_recorded_state(trajectory.start),
        turns=tuple(_turn(turn, raw_text) for turn in answered),
        stop_reason=trajectory.stop_reason,
        details=details,
        extra={**(extra or {}), **_fork(trajectory), **_stale(trajectory)},
    )


def _fork(trajectory: Trajectory) -> dict[str, object]:
    """Return where an episode was forked from; its record repeats the shared turns."""
    if trajectory.parent is None:
        return {"number": trajectory.number} if trajectory.chances else {}
    fork = {"from": trajectory.parent, "turns": trajectory.shared}
    return {"number": trajectory.number, "forked": fork}


def _stale(trajectory: Trajectory) -> dict[str, object]:
    """Return the turns (from 0) that the stale policy played, if any."""
    turns = [number for number, turn in enumerate(trajectory.turns) if turn.stale]
    return {"stale_turns": turns} if turns else {}


def _tokens(turn: SampledTurn) -> SampledTokens:
    """Return the tokens of a turn."""
    return {
        "fresh": turn.fresh,
        "context": turn.context,
        "ids": turn.ids,
        "logprobs": turn.logprobs,
    }


def _turn(turn: SampledTurn, raw_text: Callable[[Sequence[int]], str]) -> Turn:
    """Return the record of one answered turn."""
    return Turn(
        action=clean(turn.text),
        executed=clean(turn.executed),
        after=_recorded_state(turn.after),
        reward=turn.reward,
        reward_terms=dict(turn.reward_terms),
        action_valid=turn.valid,
        success=turn.success,
        terminated=turn.terminated,
        truncated=turn.truncated,
        reason=turn.reason,
        verdicts=dict(turn.verdicts),
        costs=dict(turn.costs),
        raw_text=clean(raw_text(turn.ids)),
        prompt_tokens=turn.prompt_tokens,
        completion_tokens=len(turn.ids),
    )


def _recorded_state(state: RecordedState | None) -> RecordedState:
    """Return a state that the environment reported."""
    if state is None:
        raise ConfigurationError(
            "expected episodes of environments that tell what a record holds, but info['record'] "
            "was missing: wrap them in agentgym.episodes.RecordFacts"
        )
    return state

"""Recorded episodes as demonstrations, by models, scripts or people."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

from agentgym.conversation import SeenTurn
from agentgym.core.env import TextEnv
from agentgym.core.language import Language
from agentgym.core.outcome import StopReason
from agentgym.episodes import Episode, Turn, read_any
from agentgym.errors import ConfigurationError, DataError
from trainers.config.resolve import ResolvedRun
from trainers.config.resolved_env import TRAIN, ResolvedEnv
from trainers.rollouts.expert_demonstrations import Demonstration, ShownTurn
from trainers.rollouts.template import END_MARK

__all__ = ["recorded_demonstrations"]

_END_MARKS = re.compile(rf"(?:\s*(?:{END_MARK}))+\s*")
"""Tokens that end a turn, as text."""
_GRAMMAR = "native"
"""Grammar of an environment that names none."""


def recorded_demonstrations(run: ResolvedRun, resolved: ResolvedEnv) -> list[Demonstration]:
    """Return the episodes of ``--sft.episodes`` that were played in an environment.

    Episodes with a failed environment are left out.

    Raises:
        ConfigurationError: There are none, or there are episodes of held-out tasks.
        DataError: A file cannot be read; or the prompt lists admissible actions, which records do
            not hold, and an episode does not play as it was recorded.
    """
    files = run.config.sft.episodes
    limit = run.config.sft.demonstrations or None
    episodes = list(islice(_usable(files, resolved), limit))
    if not episodes:
        raise ConfigurationError(
            f"expected episodes of {resolved.env_id} in --sft.episodes "
            f"{' '.join(map(str, files))}, but there is none with a turn"
        )
    env = resolved.make_env(expose_oracle=False)
    try:
        demonstrations = [_demonstration(episode, env.spoken, resolved) for episode in episodes]
        if not resolved.layout.lists_actions:
            return demonstrations
        return [_played_again(*pair, env) for pair in zip(episodes, demonstrations, strict=True)]
    finally:
        env.close()


def _usable(files: Sequence[Path], resolved: ResolvedEnv) -> Iterator[Episode]:
    """Yield the episodes of an environment that have an action to imitate."""
    for file in files:
        for episode in read_any(file):
            if episode.env_id != resolved.env_id:
                continue
            if episode.split != TRAIN:
                raise ConfigurationError(
                    f"expected --sft.episodes of training tasks, got {episode.task_id} of the "
                    f"split {episode.split!r} in {file}: imitating held-out tasks would "
                    "invalidate every comparison"
                )
            if episode.turns and episode.stop_reason != StopReason.ERROR.value:
                yield episode


def _demonstration(episode: Episode, language: Language, resolved: ResolvedEnv) -> Demonstration:
    """Return an episode as it was recorded."""
    alike = episode.env_kwargs.get("grammar", _GRAMMAR) == resolved.kwargs.get("grammar", _GRAMMAR)
    turns = [
        ShownTurn(
            _action_text(turn, language, alike),
            SeenTurn(
                turn.after.observation,
                (),
                "" if turn.action_valid else turn.reason or "",
                turn.after.agent,
                turn.after.agent_task,
                turn.after.forgets,
            ),
            turn.reward,
            turn.action_valid,
        )
        for turn in episode.turns
    ]
    info = {
        "task_id": episode.task_id,
        "goal": episode.goal,
        "horizon": episode.options.get("horizon", resolved.full_horizon),
        "action_valid": True,
        "agent": episode.start.agent,
        "agent_task": episode.start.agent_task,
    }
    last = {
        "stop_reason": episode.stop_reason,
        "success": episode.success,
        "score": episode.score,
    }
    return Demonstration(episode.start.observation, info, turns, last)


def _action_text(turn: Turn, language: Language, alike: bool) -> str:
    """Return the action text to imitate in a turn, in the grammar of the run."""
    # What was refused has no meaning that another grammar could write: its words are all there is.
    if alike or not turn.action_valid:
        return turn.action if turn.raw_text is None else _without_end(turn.raw_text, turn.action)
    return language.write(turn.executed)


def _without_end(raw_text: str, action: str) -> str:
    """Return a model's text without its end-of-turn token, perhaps of another tokenizer."""
    end = raw_text.rfind(action) + len(action)
    return raw_text[:end] if _END_MARKS.fullmatch(raw_text, end) else raw_text


def _played_again(episode: Episode, recorded: Demonstration, env: TextEnv) -> Demonstration:
    """Return an episode with the admissible actions of each state, by playing it again."""
    horizon = {k: v for k, v in episode.options.items() if k == "horizon"}
    options = {**horizon, "task_id": episode.task_id}
    observation, info = env.reset(seed=episode.seed, options=options)
    seen_turns = [SeenTurn.of(observation, info)]
    for turn in recorded.turns:
        observation, *_, later = env.step(turn.action)
        seen_turns.append(SeenTurn.of(observation, later))
    texts = [recorded.observation, *(turn.seen_turn.observation for turn in recorded.turns)]
    if [seen_turn.observation for seen_turn in seen_turns] != texts:
        raise DataError(
            f"expected {episode.task_id} to play as it was recorded, because the prompt lists "
            "admissible actions, which records do not hold; choose another --prompt"
        )
    turns = [
        turn._replace(seen_turn=seen_turn)
        for turn, seen_turn in zip(recorded.turns, seen_turns[1:], strict=True)
    ]
    return replace(recorded, info={**recorded.info, **info}, turns=turns)

"""Expert actions in the states that a policy visited (DAgger, arXiv 1011.0686)."""

from __future__ import annotations

import gymnasium

from agentgym.conversation import Prompt, SeenTurn
from agentgym.core.oracle import DemonstratorPolicy
from agentgym.errors import EnvFailure, NotSupported, PolicyFailure
from trainers.rollouts.chat import TurnTokenizer
from trainers.rollouts.episode_context import EpisodeContext
from trainers.rollouts.trajectory import Row, Trajectory

__all__ = ["labelled_rows"]


def labelled_rows(
    episode: Trajectory, env: gymnasium.Env[str, str], chat: TurnTokenizer, prompt: Prompt
) -> list[Row]:
    """Replay an episode and label every state with the expert's action.

    Args:
        episode: An episode of the policy.
        env: An environment like the one in which it was played.
        chat: Turns texts into tokens.
        prompt: The policy's prompt.

    Returns:
        A row for each state in which the expert has an action: the policy's prompt there, and that
        action. Empty if the environment fails.
    """
    rows: list[Row] = []
    expert = DemonstratorPolicy(env)
    try:
        observation, info = env.reset(seed=episode.seed, options=dict(episode.options))
        context = EpisodeContext(chat, prompt, SeenTurn.of(observation, info), str(info["goal"]))
        for turn in episode.turns:
            action = _next_action(expert, observation, info)
            if action is not None:
                rows.append(_row(context.prompt, chat.encode_action(action)))
            observation, *_, info = env.step(turn.text)
            context.extend(turn.ids, turn.stopped, SeenTurn.of(observation, info))
    except EnvFailure:
        return []
    return rows


def _next_action(
    expert: DemonstratorPolicy, observation: str, info: dict[str, object]
) -> str | None:
    """Return the expert's action; None in a state that cannot be solved."""
    try:
        return expert.act(observation, info)
    except NotSupported:
        return None
    except PolicyFailure as failure:
        raise EnvFailure(str(failure)) from failure


def _row(prompt: list[int], ids: list[int]) -> Row:
    """Return a row that trains on one action."""
    size = len(prompt) + len(ids)
    return Row([*prompt, *ids], [0] * len(prompt) + [1] * len(ids), [0.0] * size, len(prompt))

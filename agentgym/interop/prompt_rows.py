"""Tasks of an environment as data sets of prompts for verl, SkyRL and TRL."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from agentgym.core.env import TextEnv
from agentgym.core.extensions import require_one_message_list
from agentgym.core.guard import GuardedEnv
from agentgym.episodes import ChatWriter, Episode, Recorder
from agentgym.episodes.prompt_writer import PromptWriter
from agentgym.errors import ConfigurationError
from agentgym.interop.dialogue import draw_tasks, require_growing
from agentgym.protocols.prompts import find_prompt
from agentgym.registration.making import make
from agentgym.trust import trusting_env

__all__ = ["prompt_rows", "recorded_env", "unplayed_episodes"]


def prompt_rows(
    env: str,
    *,
    split: str = "train",
    num_tasks: int | None = None,
    seed: int = 0,
    prompt: str | Path = "default",
    **kwargs: Any,
) -> list[dict[str, Any]]:
    """Return a row for each task, with the columns of `agentgym.episodes.prompt_writer`.

    Args:
        env: A short name such as ``webshop``, an id, or ``MODULE:ID``.
        split: Split of the tasks.
        num_tasks: Number of tasks; None: all of the split.
        seed: Seed of the draw, and of the episodes.
        prompt: ``default``, ``bare``, the name of a protocol, or the path of a protocol file.
        **kwargs: Arguments of the environment.

    Raises:
        ConfigurationError: The environment does not exist, an argument is wrong, or the prompt
            shows each turn in a separate message without the conversation before it.
    """
    episodes = unplayed_episodes(
        env, split=split, num_tasks=num_tasks, seed=seed, prompt=prompt, **kwargs
    )
    chats = ChatWriter(prompt_at=find_prompt(prompt, env).at)
    with trusting_env(env, kwargs), closing(chats) as writer:
        rows = PromptWriter(writer, env, str(prompt))
        return [row for episode in episodes for row in rows.rows(episode)]


def unplayed_episodes(
    env: str,
    *,
    split: str = "train",
    num_tasks: int | None = None,
    seed: int = 0,
    prompt: str | Path = "default",
    **kwargs: Any,
) -> Iterator[Episode]:
    """Yield an episode without turns for each task; the arguments are those of `prompt_rows`.

    Raises:
        ConfigurationError: As `prompt_rows`.
    """
    named = find_prompt(prompt, env)
    grammar = {"grammar": named.grammar} if named.grammar else {}
    with closing(recorded_env(env, {**grammar, **kwargs})) as recorder:
        text_env: Any = recorder.unwrapped
        require_growing(named.at(text_env))
        for task_id in draw_tasks(text_env.tasks, split, num_tasks, seed):
            recorder.reset(seed=seed, options={"task_id": task_id})
            recorder.end("stopped")
            assert recorder.last is not None
            yield recorder.last


def recorded_env(env: str, kwargs: Mapping[str, Any]) -> Recorder:
    """Make an environment of one agent, with a recorder that keeps the last episode.

    Raises:
        ConfigurationError: It is no text environment, has workers, or an argument is wrong.
    """
    recorder = Recorder(GuardedEnv(make(env, **kwargs)), None)
    if not isinstance(recorder.unwrapped, TextEnv):
        raise ConfigurationError(f"expected a text environment, got {env}")
    require_one_message_list(recorder.unwrapped)
    return recorder

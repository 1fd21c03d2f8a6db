"""An episode as a list of messages, for agent loops of other projects.

They provide the loop and the model; this module builds the model's messages, as in all of agentgym.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from agentgym.conversation import EpisodeConversation, Prompt, SeenTurn
from agentgym.core.env import TextEnv
from agentgym.core.extensions import require_one_message_list
from agentgym.core.guard import GuardedEnv
from agentgym.core.options import integer
from agentgym.core.tasks import TaskSet
from agentgym.errors import ConfigurationError
from agentgym.protocols.prompts import find_prompt
from agentgym.registration.making import make

OVER = "The episode is over."
"""Text after the last observation."""


class Answered(NamedTuple):
    """The result of a turn."""

    text: str
    """Content of the next user message."""
    reward: float
    """Reward of the turn."""
    done: bool
    """Whether the episode is over."""
    info: Mapping[str, Any]
    """The environment's info dict, which the model must not see."""


class Dialogue:
    """An environment with episodes as conversations.

    Args:
        env: A short name such as ``webshop``, an id, or ``MODULE:ID``.
        prompt: ``default``, ``bare``, the name of a protocol, or the path of a protocol file.
        kwargs: Arguments of the environment.

    Attributes:
        prompt: Builds the messages.

    Raises:
        ConfigurationError: The environment does not exist, or an argument is wrong.
    """

    def __init__(
        self, env: str, *, prompt: str | Path = "default", kwargs: Mapping[str, Any]
    ) -> None:
        named = find_prompt(prompt, env)
        grammar = {"grammar": named.grammar} if named.grammar else {}
        self._env = GuardedEnv(make(env, **{**grammar, **kwargs}))
        self._text_env: TextEnv = self._env.unwrapped  # type: ignore[assignment]  # checked below
        if not isinstance(self._text_env, TextEnv):
            raise ConfigurationError(f"expected a text environment, got {env}")
        self.prompt: Prompt = named.at(self._text_env)
        self._talk = EpisodeConversation(self.prompt)
        self._turn = SeenTurn("")

    def require_one_agent(self) -> None:
        """Raise an error if the environment has workers, for loops with a single list of messages.

        Raises:
            ConfigurationError: The environment has workers.
        """
        require_one_message_list(self._text_env)

    @property
    def observation(self) -> str:
        """The environment's last observation, without the text of the prompt."""
        return self._turn.observation

    @property
    def tasks(self) -> TaskSet:
        """The tasks of the environment."""
        return self._text_env.tasks

    @property
    def horizon(self) -> int:
        """Turn budget of the episode."""
        return self._text_env.horizon

    def draw(self, split: str, num_tasks: int | None, seed: int) -> tuple[str, ...]:
        """Select tasks.

        Args:
            split: Split of the tasks.
            num_tasks: Number of tasks; None: all of the split.
            seed: Seed of the draw.
        """
        return draw_tasks(self._text_env.tasks, split, num_tasks, seed)

    def reset(
        self, task_id: str, *, seed: int | None = None, horizon: int | None = None
    ) -> list[dict[str, Any]]:
        """Begin a task; return the model's first messages.

        Args:
            task_id: The task.
            seed: Seed of the episode.
            horizon: Its turn budget; None is the environment's default.

        Raises:
            TaskNotFound: The task does not exist.
            EnvFailure: The environment failed.
        """
        options = {"task_id": task_id, "horizon": horizon}
        observation, info = self._env.reset(seed=seed, options=options)
        self._talk = EpisodeConversation(self.prompt, str(info["goal"]))
        self._turn = SeenTurn.of(observation, info)
        return self.messages()

    def messages(self) -> list[dict[str, Any]]:
        """Return the messages that the model reads next."""
        return self._talk.messages(self._turn)

    def step(self, response: str) -> Answered:
        """Take a turn with the model's complete response.

        Raises:
            EnvFailure: The environment failed, which ends the episode without a valid score.
        """
        observation, reward, terminated, truncated, info = self._env.step(response)
        self._talk.add(self._turn, response)
        self._turn = SeenTurn.of(observation, info)
        over = terminated or truncated
        text = f"{observation}\n\n{OVER}" if over else self._talk.text(self._turn)
        return Answered(text, reward, over, info)

    def close(self) -> None:
        """Close the environment."""
        self._env.close()


def draw_tasks(tasks: TaskSet, split: str, num_tasks: int | None, seed: int) -> tuple[str, ...]:
    """Select tasks of a split; None: all of them."""
    count = (
        tasks.len(tasks.check(split)) if num_tasks is None else integer(num_tasks, "num_tasks", 1)
    )
    return tasks.panel(split, count, seed).ids


def require_growing(prompt: Prompt) -> None:
    """Raise an error unless a prompt adds one message each turn, as loops with a single list do.

    Raises:
        ConfigurationError: It does not.
    """
    layout = prompt.layout
    if layout.kind != "turns" or layout.window is not None:
        raise ConfigurationError(
            f"expected a prompt that adds a message each turn, got {prompt.name}: choose default "
            "or bare"
        )

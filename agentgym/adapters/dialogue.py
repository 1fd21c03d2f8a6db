"""An episode as the messages that a model reads, for the loops of other projects.

They bring the loop and the model; what the model reads is laid out here, as everywhere in agentgym.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from agentgym.conversation import EpisodeConversation, Prompt, SeenTurn
from agentgym.core.delegation import refuse_workers
from agentgym.core.env import TextEnv
from agentgym.core.guard import GuardedEnv
from agentgym.core.options import integer
from agentgym.core.tasks import TaskSet
from agentgym.errors import ConfigurationError
from agentgym.evaluation.protocols.prompts import find_prompt
from agentgym.making import make

OVER = "The episode is over."
"""What is said behind the last observation."""


class Answered(NamedTuple):
    """What became of a turn."""

    text: str
    """What the user says next: the content of one message."""
    reward: float
    """Reward of the turn."""
    done: bool
    """Whether the episode is over."""
    info: Mapping[str, Any]
    """The environment's info dict, which is not for the model."""


class Dialogue:
    """An environment whose episodes are talks.

    Args:
        env: A short name such as ``webshop``, an id, or ``MODULE:ID``.
        prompt: ``default``, ``bare``, the name of a protocol, or the path of the file of one.
        kwargs: Arguments of the environment.

    Attributes:
        prompt: Lays out the messages.

    Raises:
        ConfigurationError: Nothing has this name, or an argument is wrong.
    """

    def __init__(
        self, env: str, *, prompt: str | Path = "default", kwargs: Mapping[str, Any]
    ) -> None:
        named = find_prompt(prompt, env)
        grammar = {"grammar": named.grammar} if named.grammar else {}
        self._env = GuardedEnv(make(env, **{**grammar, **kwargs}))
        self._text_env: TextEnv = self._env.unwrapped  # type: ignore[assignment]  # checked below
        if not isinstance(self._text_env, TextEnv):
            raise ConfigurationError(f"expected an environment of text, got {env}")
        self.prompt: Prompt = named.at(self._text_env)
        self._talk = EpisodeConversation(self.prompt)
        self._seen = SeenTurn("")

    def require_one_agent(self) -> None:
        """Refuse workers, for a loop that keeps one list of messages.

        Raises:
            ConfigurationError: The environment has them.
        """
        refuse_workers(self._text_env)

    @property
    def observation(self) -> str:
        """The environment's last observation, without what the prompt puts around it."""
        return self._seen.observation

    @property
    def tasks(self) -> TaskSet:
        """The tasks of the environment."""
        return self._text_env.tasks

    @property
    def horizon(self) -> int:
        """Most turns of the episode."""
        return self._text_env.horizon

    def draw(self, split: str, num_tasks: int | None, seed: int) -> tuple[str, ...]:
        """Choose tasks.

        Args:
            split: Split of the tasks.
            num_tasks: How many; None: all of the split.
            seed: Seed of the draw.
        """
        tasks = self._text_env.tasks
        count = (
            tasks.len(tasks.check(split))
            if num_tasks is None
            else integer(num_tasks, "num_tasks", 1)
        )
        return tasks.panel(split, count, seed).ids

    def reset(
        self, task_id: str, *, seed: int | None = None, horizon: int | None = None
    ) -> list[dict[str, Any]]:
        """Begin a task; return the messages that the model reads first.

        Args:
            task_id: The task.
            seed: Seed of the episode.
            horizon: Its turn budget; None is the environment's own.

        Raises:
            TaskNotFound: There is no such task.
            EnvFailure: The environment failed.
        """
        options = {"task_id": task_id, "horizon": horizon}
        observation, info = self._env.reset(seed=seed, options=options)
        self._talk = EpisodeConversation(self.prompt, str(info["goal"]))
        self._seen = SeenTurn.of(observation, info)
        return self.messages()

    def messages(self) -> list[dict[str, Any]]:
        """Return all that the model reads now."""
        return self._talk.messages(self._seen)

    def step(self, said: str) -> Answered:
        """Take a turn with the model's whole answer.

        Raises:
            EnvFailure: The environment failed, which ends the episode without a valid score.
        """
        observation, reward, terminated, truncated, info = self._env.step(said)
        self._talk.add(self._seen, said)
        self._seen = SeenTurn.of(observation, info)
        done = terminated or truncated
        text = f"{observation}\n\n{OVER}" if done else self._talk.text(self._seen)
        return Answered(text, reward, done, info)

    def close(self) -> None:
        """Close the environment."""
        self._env.close()

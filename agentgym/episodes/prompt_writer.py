"""Tasks as rows of prompts, with the columns that verl, SkyRL and TRL read.

- verl: ``data_source``, ``prompt`` (messages), ``reward_model.ground_truth``, ``extra_info``
- SkyRL: ``prompt``, ``env_class``, ``reward_spec.ground_truth``, ``extra_info``
- TRL: ``prompt``; a reward function reads ``solution``, and any other column, by its name

The column ``agentgym`` names the task, for `agentgym.interop.skyrl` and
`agentgym.interop.played_rows`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from agentgym.core.reward_functions import data_source, ground_truth
from agentgym.episodes.chats import ChatWriter
from agentgym.episodes.records import Episode, portable
from agentgym.episodes.replay import not_stored
from agentgym.episodes.task_reference import COLUMN, TaskReference
from agentgym.errors import ConfigurationError

ENV_CLASS = "agentgym"
"""Name by which SkyRL looks up the environment."""


class PromptWriter:
    """Convert episodes to the rows of their tasks, one for each task.

    Args:
        writer: Lays out what the model reads first.
        env: Name of the environment in the rows; empty: its id.
        prompt: Name of the prompt in the rows; empty: its own name.
    """

    def __init__(self, writer: ChatWriter, env: str = "", prompt: str = "") -> None:
        self._writer, self._env, self._prompt = writer, env, prompt
        self._written_prompts: set[tuple[str, str]] = set()

    def rows(self, episode: Episode) -> list[dict[str, Any]]:
        """Return the row of an episode's task; none if an earlier episode had the task.

        Raises:
            ConfigurationError: The environment cannot be made from the row.
        """
        if missing := not_stored(episode, {}):
            raise ConfigurationError(
                f"expected an environment that a row can name, but {', '.join(missing)} of "
                f"{episode.env_id} is no plain JSON value, or secret: leave it out"
            )
        key = (episode.env_id, episode.task_id)
        if key in self._written_prompts:
            return []
        self._written_prompts.add(key)
        messages = self._writer.opening(episode)
        speech = self._writer.speech(episode)
        task = speech.tasks.find(episode.task_id)
        reference = TaskReference.of(episode, self._prompt or speech.prompt.name, len(messages))
        reference = replace(reference, env=self._env or reference.env)
        answer = ground_truth(task)
        extra_info = {
            "split": task.split, "index": task.index, "task_id": task.id, "question": episode.goal
        }  # fmt: skip
        row = {
            "data_source": data_source(task),
            "prompt": messages,
            "reward_model": {"style": "rule", "ground_truth": answer},
            "env_class": ENV_CLASS,
            "reward_spec": {"method": "rule", "ground_truth": answer},
            "extra_info": extra_info,
            "solution": answer,
            COLUMN: reference.to_cell(),
        }
        return [portable(row)]

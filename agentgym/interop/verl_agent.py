"""Environments for verl-agent: an environment manager for its trainer (GiGPO and others).

    envs = VerlAgentManager("alfworld", tasks=16, members=8, prompt="verl-agent")
    observations, infos = envs.reset()

A group is ``members`` environments with the same task. ``anchor`` is the bare observation, by which
GiGPO groups equal states. A failing environment raises ``EnvFailure``: verl-agent cannot leave out
an episode.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from agentgym.core.options import integer
from agentgym.errors import ConfigurationError
from agentgym.interop.dialogue import Dialogue

__all__ = ["VerlAgentManager"]

Observations = dict[str, Any]


class VerlAgentManager:
    """A batch of episodes, with the methods of verl-agent's environment managers.

    Args:
        env: A short name such as ``alfworld``, an id, or ``MODULE:ID``.
        tasks: Number of tasks of a batch.
        members: Number of episodes per task.
        split: Split of the tasks.
        num_tasks: Number of tasks to cycle through; None: all of the split.
        seed: Seed of their order.
        prompt: ``default``, ``bare``, the name of a protocol, or the path of a protocol file.
        **kwargs: Arguments of the environment.

    Raises:
        ConfigurationError: The environment does not exist, or an argument is wrong.
    """

    def __init__(
        self,
        env: str,
        *,
        tasks: int,
        members: int = 1,
        split: str = "train",
        num_tasks: int | None = None,
        seed: int = 0,
        prompt: str | Path = "default",
        **kwargs: Any,
    ) -> None:
        self._tasks = integer(tasks, "tasks", 1)
        self._members = integer(members, "members", 1)
        count = self._tasks * self._members
        self._dialogues = [Dialogue(env, prompt=prompt, kwargs=kwargs) for _ in range(count)]
        self._ids = self._dialogues[0].draw(split, num_tasks, seed)
        self._next = 0
        self._are_over = np.ones(count, bool)
        self._infos: list[dict[str, Any]] = [{} for _ in range(count)]

    def reset(self, kwargs: Any = None) -> tuple[Observations, list[dict[str, Any]]]:
        """Begin the next tasks, cyclically.

        Args:
            kwargs: Mappings of verl-agent's data set, one per episode; with ``task_id`` they
                select the tasks. None or without it: the next tasks.

        Returns:
            ``text``, ``image`` (None) and ``anchor``, and the infos.

        Raises:
            EnvFailure: An environment failed.
        """
        ids = self._named(kwargs) or self._drawn()
        for dialogue, task_id in zip(self._dialogues, ids, strict=True):
            dialogue.reset(task_id)
        self._are_over[:] = False
        self._infos = [{"task_id": task_id, "won": False} for task_id in ids]
        return self._observations(), [dict(info) for info in self._infos]

    def step(
        self, text_actions: Sequence[str]
    ) -> tuple[Observations, npt.NDArray[np.float32], npt.NDArray[np.bool_], list[dict[str, Any]]]:
        """Take a turn in each episode; finished episodes do not change and give reward 0.

        Args:
            text_actions: The models' complete responses.

        Returns:
            Observations in the format of `reset`, rewards, whether each episode is over, and infos
            with ``is_action_valid``, ``won`` and ``score``.

        Raises:
            ConfigurationError: The numbers of actions and episodes differ.
            EnvFailure: An environment failed.
        """
        if len(text_actions) != len(self._dialogues):
            raise ConfigurationError(
                f"expected {len(self._dialogues)} actions, got {len(text_actions)}"
            )
        rewards = np.zeros(len(self._dialogues), np.float32)
        for number, (dialogue, action) in enumerate(
            zip(self._dialogues, text_actions, strict=True)
        ):
            if self._are_over[number]:
                continue
            turn = dialogue.step(action)
            rewards[number], self._are_over[number] = turn.reward, turn.done
            self._infos[number] = {
                "task_id": turn.info["task_id"],
                "won": bool(turn.info["success"]),
                "score": turn.info["score"],
                "is_action_valid": np.array(turn.info["action_valid"]),
            }
        infos = [dict(info) for info in self._infos]
        return self._observations(), rewards, self._are_over.copy(), infos

    def build_text_obs(self) -> list[str]:
        """Return the next text for each model."""
        return [_one_text(dialogue.messages()) for dialogue in self._dialogues]

    def success_evaluator(
        self,
        *,
        total_infos: Sequence[Sequence[Mapping[str, Any]]],
        total_batch_list: Sequence[Sequence[Mapping[str, Any]]],
        **ignored: Any,
    ) -> dict[str, npt.NDArray[np.float64]]:
        """Return whether each episode was solved, by the info of its last active turn.

        Args:
            total_infos: The infos of each episode, turn by turn.
            total_batch_list: The trainer's data of each turn, including ``active_masks``.
            **ignored: Further arguments of the trainer; ignored.
        """
        won = []
        for infos, turns in zip(total_infos, total_batch_list, strict=True):
            counted = [
                info for info, turn in zip(infos, turns, strict=True) if turn["active_masks"]
            ]
            won.append(float(counted[-1]["won"]) if counted else 0.0)
        return {"success_rate": np.array(won)}

    def close(self) -> None:
        """Close the environments."""
        for dialogue in self._dialogues:
            dialogue.close()

    def _observations(self) -> Observations:
        anchors = [dialogue.observation for dialogue in self._dialogues]
        return {"text": self.build_text_obs(), "image": None, "anchor": anchors}

    def _named(self, rows: Any) -> list[str]:
        """Return the tasks that the rows of a data set name; none if they name none."""
        if rows is None:
            return []
        return [
            str(row["task_id"]) for row in rows if isinstance(row, Mapping) and "task_id" in row
        ]

    def _drawn(self) -> list[str]:
        """Return the next tasks, each as often as a group has members."""
        first, self._next = self._next, self._next + self._tasks
        ids = [self._ids[number % len(self._ids)] for number in range(first, self._next)]
        return [task_id for task_id in ids for _ in range(self._members)]


def _one_text(messages: Sequence[Mapping[str, Any]]) -> str:
    """Return messages as one: verl-agent asks with a single message at every turn."""
    if len(messages) == 1:
        return str(messages[0]["content"])
    return "\n\n".join(f"[{message['role']}]\n{message['content']}" for message in messages)

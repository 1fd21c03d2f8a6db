"""Environments for verl-agent: an environment manager that its trainer (GiGPO and others) steps.

    envs = VerlAgentManager("alfworld", tasks=16, members=8, prompt="verl-agent")
    observations, infos = envs.reset()

Groups are of ``members`` environments with the same task. ``anchor`` is the bare observation, by
which GiGPO groups equal states. A failing environment raises ``EnvFailure``: verl-agent has no way
to leave an episode out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from agentgym.adapters.dialogue import Dialogue
from agentgym.core.options import integer
from agentgym.errors import ConfigurationError

__all__ = ["VerlAgentManager"]

Observations = dict[str, Any]


class VerlAgentManager:
    """Many episodes, stepped together, by the methods of verl-agent's environment managers.

    Args:
        env: A short name such as ``alfworld``, an id, or ``MODULE:ID``.
        tasks: Tasks of a batch.
        members: Episodes of each task.
        split: Split of the tasks.
        num_tasks: Tasks that are drawn in turn; None: all of the split.
        seed: Seed of their order.
        prompt: ``default``, ``bare``, the name of a protocol, or the path of the file of one.
        **kwargs: Arguments of the environment.

    Raises:
        ConfigurationError: Nothing has this name, or an argument is wrong.
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
        self._done = np.ones(count, bool)
        self._infos: list[dict[str, Any]] = [{} for _ in range(count)]

    def reset(self, kwargs: Any = None) -> tuple[Observations, list[dict[str, Any]]]:
        """Begin the next tasks; after the last one the first comes again.

        Args:
            kwargs: What verl-agent's data set says of each episode: mappings with ``task_id``, in
                place of the next tasks; None or without it: the next tasks.

        Returns:
            ``text``, ``image`` (None) and ``anchor``, and the infos.

        Raises:
            EnvFailure: An environment failed.
        """
        ids = self._named(kwargs) or self._drawn()
        for dialogue, task_id in zip(self._dialogues, ids, strict=True):
            dialogue.reset(task_id)
        self._done[:] = False
        self._infos = [{"task_id": task_id, "won": False} for task_id in ids]
        return self._observations(), [dict(info) for info in self._infos]

    def step(
        self, text_actions: Sequence[str]
    ) -> tuple[Observations, npt.NDArray[np.float32], npt.NDArray[np.bool_], list[dict[str, Any]]]:
        """Take a turn in each episode; one that is over stays as it is, for a reward of 0.

        Args:
            text_actions: The models' whole answers.

        Returns:
            Observations as `reset` returns them, rewards, whether each is over, and infos with
            ``is_action_valid``, ``won`` and ``score``.

        Raises:
            ConfigurationError: There are more or fewer actions than episodes.
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
            if self._done[number]:
                continue
            turn = dialogue.step(action)
            rewards[number], self._done[number] = turn.reward, turn.done
            self._infos[number] = {
                "task_id": turn.info["task_id"],
                "won": bool(turn.info["success"]),
                "score": turn.info["score"],
                "is_action_valid": np.array(turn.info["action_valid"]),
            }
        infos = [dict(info) for info in self._infos]
        return self._observations(), rewards, self._done.copy(), infos

    def build_text_obs(self) -> list[str]:
        """Return what each model reads now, in one text."""
        return [_one_text(dialogue.messages()) for dialogue in self._dialogues]

    def success_evaluator(
        self,
        *,
        total_infos: Sequence[Sequence[Mapping[str, Any]]],
        total_batch_list: Sequence[Sequence[Mapping[str, Any]]],
        **others: Any,
    ) -> dict[str, npt.NDArray[np.float64]]:
        """Return whether each episode was solved, by the info of its last turn that counted.

        Args:
            total_infos: The infos of each episode, turn by turn.
            total_batch_list: What the trainer kept of each turn, ``active_masks`` among it.
            **others: What else the trainer passes; not read.
        """
        won = []
        for infos, kept in zip(total_infos, total_batch_list, strict=True):
            counted = [info for info, turn in zip(infos, kept, strict=True) if turn["active_masks"]]
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
    return "\n\n".join(f"[{each['role']}]\n{each['content']}" for each in messages)

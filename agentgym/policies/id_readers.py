"""Policies that look for the solution in a task's id; they read neither task nor observations.

If one of them solves tasks, the ids or the order of the admissible actions give solutions away.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from agentgym.errors import ConfigurationError

ID_READERS = ("hash_with_task_id", "tokens_of_task_id", "type_task_id")
"""Names of the policies: take the new action whose hash with the id is smallest; take the new
action that shares most words with the id; type words of the id as arguments of the admissible
actions."""


class IdReader:
    """Choose by the task id among the admissible actions that were not taken before.

    Args:
        name: One of `ID_READERS`.
        seed: Seed of the draws among equals.

    Raises:
        ConfigurationError: There is no such policy.
    """

    def __init__(self, name: str, seed: int = 0) -> None:
        if name not in ID_READERS:
            raise ConfigurationError(f"expected one of {', '.join(ID_READERS)}; got {name!r}")
        self._name, self._seed = name, seed
        self._typed: set[str] = set()
        self._rng = np.random.Generator(np.random.PCG64(seed))

    def reset(self, observation: str, info: Mapping[str, Any]) -> None:
        """Clear the actions of the previous episode."""
        self._typed.clear()
        task = info["task_id"].encode("utf-8", "surrogatepass")
        self._rng = np.random.Generator(np.random.PCG64([self._seed, *task]))

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        """Choose an action; a word of the id if none is admissible."""
        offered, task_id = list(info["admissible_actions"]), str(info["task_id"])
        names = tokens(task_id)
        new = [action for action in offered if action not in self._typed] or offered or names
        if self._name == ID_READERS[0]:
            action = min(new, key=lambda text: hashlib.blake2b((task_id + text).encode()).digest())
        elif self._name == ID_READERS[1]:
            action = max(
                new, key=lambda text: (len({*names} & {*tokens(text)}), self._rng.random())
            )
        else:
            untried = (text for text in _filled(offered, names) if text not in self._typed)
            action = next(untried, "") or str(new[int(self._rng.integers(len(new)))])
        self._typed.add(action)
        return action


def tokens(text: str) -> list[str]:
    """Return the words and numbers of a text, in lower case."""
    return re.findall(r"[a-z0-9]+", text.lower())


def _filled(offered: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return the admissible actions with their arguments replaced by words."""
    heads = [match[0] for action in offered if (match := re.match(r"[a-z]+(\[| )", action))]
    return [f"{head}{name}{']' if head[-1] == '[' else ''}" for name in names for head in heads]

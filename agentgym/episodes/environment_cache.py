"""A cache of the environments of records, shared by episodes with equal arguments."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import gymnasium

from agentgym.core.guard import GuardedEnv
from agentgym.core.tasks import canonical_json
from agentgym.episodes.records import Episode
from agentgym.episodes.replay import make_env

if TYPE_CHECKING:
    from typing_extensions import Self

OPEN = 4
"""Maximum number of open environments; the least recently used one is closed."""


def made_alike(episode: Episode) -> str:
    """Return a key that is equal for records of environments with equal arguments."""
    return canonical_json(
        [episode.env_id, episode.env_kwargs, episode.reward_hooks, episode.not_stored]
    )


class EnvCache:
    """Make the environments of records, and share them between records with equal arguments.

    Args:
        changes: Arguments that replace recorded ones, see `agentgym.episodes.make_env`.
        size: Maximum number of open environments.
    """

    def __init__(self, changes: Mapping[str, Any] = MappingProxyType({}), size: int = OPEN) -> None:
        self._changes, self._size = dict(changes), size
        self._envs: OrderedDict[str, gymnasium.Env[str, str]] = OrderedDict()

    def get(self, episode: Episode) -> gymnasium.Env[str, str]:
        """Return the guarded environment of a record; it stays open for later records.

        Raises:
            ConfigurationError: The environment cannot be made from the record.
            DataError: The reward hooks of the record are damaged.
        """
        key = made_alike(episode)
        if key not in self._envs:
            while len(self._envs) >= self._size:
                self._envs.popitem(last=False)[1].close()
            self._envs[key] = GuardedEnv(make_env(episode, self._changes))
        self._envs.move_to_end(key)
        return self._envs[key]

    def discard(self, episode: Episode) -> None:
        """Close the environment of a record, for instance after a failure."""
        env = self._envs.pop(made_alike(episode), None)
        if env is not None:
            env.close()

    def close(self) -> None:
        """Close all environments."""
        while self._envs:
            self._envs.popitem()[1].close()

    def __enter__(self) -> Self:
        """Return the cache, which is closed at the end of the block."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close all environments."""
        self.close()

"""What shows a tiny policy its words is played once in a process.

A thousand episodes of random play are a fifth of a toy run, and the same in nearly every run.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from trainers.config.resolve import ResolvedRun
from trainers.phases import demonstrators, warm_start
from trainers.rollouts.expert_demonstrations import Demonstration

MOST = 16
"""So many plays are remembered."""
PLAYED: dict[str, list[Demonstration]] = {}
WATCH = demonstrators.Demonstrator._watched


@contextmanager
def remembered() -> Iterator[None]:
    """Remember random play for a while, and what was remembered before."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(demonstrators.Demonstrator, "_watched", _watched)
        yield


def remember(run: ResolvedRun) -> None:
    """Play, before a run of such settings, what will show its words."""
    with remembered():
        for env in run.envs:
            player = demonstrators.Demonstrator(run, env, warm_start.VOCABULARY_EPISODES)
            for _ in player.vocabulary_episodes():
                pass
            player.close()


def _watched(
    self: demonstrators.Demonstrator,
    tasks: Sequence[Mapping[str, Any]],
    make_player: Callable[..., Any],
    first: int,
    *more: Any,
) -> Generator[Demonstration, None, None]:
    """Give the episodes of a player; those of random play may be known."""
    env = self._resolved  # What is paid, and what else a run does with it, changes no word.
    key = repr((env.env_id, env.kwargs, self._seed + first, tasks))
    if make_player is demonstrators._random_player and key in PLAYED:
        for episode in PLAYED[key]:
            self.on_episode()
            yield episode
        return
    episodes = []
    for episode in WATCH(self, tasks, make_player, first, *more):
        episodes.append(episode)
        yield episode
    if make_player is demonstrators._random_player and len(episodes) == len(tasks):
        PLAYED[key] = episodes
        if len(PLAYED) > MOST:
            del PLAYED[next(iter(PLAYED))]
